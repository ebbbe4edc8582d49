"""Scores of families: how well graphs fit data."""
