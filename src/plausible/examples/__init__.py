"""Famous networks, ready to load: `plausible.examples.load("asia")`; and pictures as random fields."""

from importlib import import_module
from typing import TYPE_CHECKING

from plausible.examples.library import Example, get, load, names

if TYPE_CHECKING:
    from plausible.examples.colour_model import ColourModel
    from plausible.examples.images import Labelling, denoise, denoise_binary, segment

__all__ = ["ColourModel", "Example", "Labelling", "denoise", "denoise_binary", "get", "load", "names", "segment"]


def __getattr__(name: str) -> object:
    """Load the examples of pictures when they are first asked for: famous networks don't need their engines."""
    if name not in __all__:
        raise AttributeError(f"module 'plausible.examples' has no attribute {name!r}")
    file = "colour_model" if name == "ColourModel" else "images"
    return getattr(import_module(f"plausible.examples.{file}"), name)
