"""Lower bounds on log Z by distributions that are easier to handle."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
