"""Adjustment: which variables make a comparison causal, and what to do where none do."""
