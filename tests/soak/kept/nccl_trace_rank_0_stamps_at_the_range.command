flight --entries @
