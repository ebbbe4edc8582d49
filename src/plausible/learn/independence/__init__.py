"""Tests of conditional independence: of counts, of correlations, of both, by permutation, by a graph."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
