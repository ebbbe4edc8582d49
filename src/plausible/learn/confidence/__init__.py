"""How sure a learned graph is: bootstrap, posteriors over graphs and orders, averages over models."""
