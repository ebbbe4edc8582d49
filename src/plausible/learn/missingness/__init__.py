"""Missing cells: where they come from, what they allow to conclude, and how they are filled."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
