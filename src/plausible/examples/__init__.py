"""Famous networks, ready to load: `plausible.examples.load("asia")`."""

from plausible.examples.library import Example, get, load, names

__all__ = ["Example", "get", "load", "names"]
