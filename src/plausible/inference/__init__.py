"""Inference over sets of factors."""
