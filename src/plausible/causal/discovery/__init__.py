"""Causal discovery where causes may be hidden: FCI, partial ancestral graphs, and what they can answer."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
