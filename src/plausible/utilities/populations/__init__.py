"""Utilities learned from many people: from answers about outcomes, and from choices."""
