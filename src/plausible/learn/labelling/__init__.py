"""Sequence labelling: a label for each token of a sequence, by models in which neighbours depend on one another."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
