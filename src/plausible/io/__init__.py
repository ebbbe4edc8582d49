"""File formats: `load` and `save` choose by ending, and each format has pure functions between text and model."""

from plausible.io.files import load, save
from plausible.io.formats import Format, Model
from plausible.io.registry import FORMATS

__all__ = ["FORMATS", "Format", "Model", "load", "save"]
