"""The studio: a page in the browser, on this machine only, in which people see a model and play with it."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
