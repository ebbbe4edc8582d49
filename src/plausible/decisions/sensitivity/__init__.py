"""How far a decision hangs on the numbers of its diagram, and why it is the best one."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
