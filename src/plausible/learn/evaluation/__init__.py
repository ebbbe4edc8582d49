"""How good a learned network is: held-out loss, learning curves, recovery of a known network."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
