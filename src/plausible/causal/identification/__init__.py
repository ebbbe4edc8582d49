"""Identification of causal effects: the complete algorithm, its estimands and its witnesses of failure."""
