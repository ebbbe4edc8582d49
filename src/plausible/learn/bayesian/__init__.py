"""Posteriors of parameters given rows with missing cells: by Markov chains, by weights, by variational Bayes."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
