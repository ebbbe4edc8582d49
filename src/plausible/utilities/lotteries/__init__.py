"""Lotteries: preferences over uncertain outcomes, the utilities that stand for them, and attitudes to risk."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
