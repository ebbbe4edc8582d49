"""Answers from samples: directed, importance-weighted, and Markov chains."""
