"""Partial identification: sharp bounds on causal quantities that the observed distribution does not determine."""
