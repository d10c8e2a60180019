info @
