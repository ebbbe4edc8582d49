"""Markov chains: prediction, limits, structure, page rank."""
