"""All partitions of a few rows."""

from __future__ import annotations


def partitions(num_rows: int) -> list[tuple[int, ...]]:
    """Every partition once, as labels in order of appearance."""
    found: list[tuple[int, ...]] = [()]
    for _ in range(num_rows):
        found = [(*labels, k) for labels in found for k in range(max(labels, default=-1) + 2)]
    return found
