"""Famous networks, ready to load: `plausible.examples.load("asia")`; pictures as random fields; simulated cells."""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
