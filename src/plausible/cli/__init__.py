"""The command line: a thin shell over the public API."""

from plausible.cli.app import main

__all__ = ["main"]
