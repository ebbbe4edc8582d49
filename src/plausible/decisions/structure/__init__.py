"""What a diagram says before it is solved: who relies on whom, what can be spared, forgotten, counted."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
