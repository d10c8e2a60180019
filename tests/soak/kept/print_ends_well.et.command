chakra print @
