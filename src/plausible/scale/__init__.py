"""Data larger than a machine: statistics that a Dask cluster or a DuckDB database answers."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
