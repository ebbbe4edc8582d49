"""Questions about causal networks: what an intervention changes, and why things are associated."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
