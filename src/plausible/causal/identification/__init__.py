"""Identification of causal effects: the complete algorithm, its estimands and its witnesses of failure."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
