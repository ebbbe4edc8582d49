"""Estimating effects: from networks, and from data."""
