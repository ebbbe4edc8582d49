"""Pictures of networks, graphs, diagrams and trees, as SVG and in figures of matplotlib; charts of results."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
