"""Charts of results in figures of matplotlib: bars, curves, bands and maps."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
