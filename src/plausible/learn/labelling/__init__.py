"""Sequence labelling: a label for each token of a sequence, by models in which neighbours depend on one another."""
