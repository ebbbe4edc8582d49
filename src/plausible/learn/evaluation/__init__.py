"""How good a learned network is: held-out loss, learning curves, recovery of a known network."""
