"""Utilities learned from many people: from answers about outcomes, and from choices."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
