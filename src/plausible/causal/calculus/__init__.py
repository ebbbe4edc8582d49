"""The do-calculus: three rules that trade interventions for observations, and derivations made of them."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
