"""Learning the structure of discrete Markov networks: which pairs, tables or features there are."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
