"""Runs that go step by step: the driver and its record, clocks, and searches among states that operators lead to."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
