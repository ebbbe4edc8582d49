"""What every room stands on: options, seeds, array types, tolerances, frozen values, texts and tables for people."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
