"""Interventional data: classes of graphs, searches over them, choice of experiments, response types from data."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
