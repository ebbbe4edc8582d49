"""Mini-buckets: bounds on sums, maxima and both from elimination with tables of limited size."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
