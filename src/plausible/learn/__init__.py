"""Learning from data: `learn.parameters`, `learn.structure`, and the scores, priors and tests that they use."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
