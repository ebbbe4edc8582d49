"""What counts as more than rounding when scores are compared."""

from __future__ import annotations

__all__ = ["ROUNDING"]

#: A gain counts if it is larger than this, relative to the score: what is smaller is rounding.
ROUNDING = 1e-12
