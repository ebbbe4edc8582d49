"""Best assignments with proof: max-product elimination, the k best, marginal MAP."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
