"""Elicitation: asking people for utilities, and how far to trust what they say."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
