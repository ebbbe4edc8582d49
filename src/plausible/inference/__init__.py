"""Inference over sets of factors."""

# Functions named as their files are had at once: a file that is loaded takes its name in this module.
from plausible.base.lazy_names import lazy_names
from plausible.inference.approximate_map import approximate_map as approximate_map
from plausible.inference.posterior import posterior as posterior

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
