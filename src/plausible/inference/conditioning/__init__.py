"""Recursive conditioning: sums in as little memory as there is."""
