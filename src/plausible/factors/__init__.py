"""Factors: tables over named variables."""

from plausible.factors.factor import Factor, product

__all__ = ["Factor", "product"]
