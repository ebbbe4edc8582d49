"""Utilities over several attributes: what does not depend on what, and the smaller tables that follow from it."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
