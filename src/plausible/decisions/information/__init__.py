"""What it is worth to know something, or to have a say in it, before deciding."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
