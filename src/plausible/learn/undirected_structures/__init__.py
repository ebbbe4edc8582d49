"""Learning the structure of discrete Markov networks: which pairs, tables or features there are."""
