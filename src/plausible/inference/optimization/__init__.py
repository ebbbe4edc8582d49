"""Best assignments without a clique tree: cuts, moves, relaxations, searches."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
