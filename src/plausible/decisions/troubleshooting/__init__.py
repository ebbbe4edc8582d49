"""Troubleshooting: what to look at, to test and to repair next, and what that will cost."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
