replay @
