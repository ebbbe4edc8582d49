"""How answers depend on the numbers of the factors."""
