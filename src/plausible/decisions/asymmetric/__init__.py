"""Asymmetric problems: decisions in no fixed order, and variables that matter in some contexts only."""
