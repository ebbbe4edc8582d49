"""Solving influence diagrams: expected utilities, best strategies, and proofs that they are best."""
