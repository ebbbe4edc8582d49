"""Counterfactuals: what would have happened, given what did."""
