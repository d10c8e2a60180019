memory @
