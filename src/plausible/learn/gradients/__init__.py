"""The likelihood of observed data as a function of the parameters: gradients, curvature, and learners that climb it."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
