"""Bayesian clustering over partitions of the rows: Dirichlet processes and finite mixtures."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
