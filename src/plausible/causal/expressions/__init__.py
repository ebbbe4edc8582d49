"""Expressions of observed probabilities: what an identified effect is written in."""
