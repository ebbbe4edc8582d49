"""File formats: `load` and `save` choose by ending, and each format has pure functions between text and model."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
