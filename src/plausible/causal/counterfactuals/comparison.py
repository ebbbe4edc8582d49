"""Comparisons: a treatment against a control."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from plausible.errors import InvalidArgument

__all__ = ["check_comparison"]


def check_comparison(treatment: Mapping[str, Any], control: Mapping[str, Any]) -> None:
    """Refuse a treatment and a control that don't set the same variables.

    >>> check_comparison({"X": 1}, {"Z": 0})
    Traceback (most recent call last):
        ...
    plausible.errors.InvalidArgument: Treatment and control set the same variables, such as {'X': 1} and {'X': 0}; ...
    """
    both = (treatment, control)
    if not all(isinstance(side, Mapping) for side in both) or not treatment or set(treatment) != set(control):
        raise InvalidArgument(
            f"Treatment and control set the same variables, such as {{'X': 1}} and {{'X': 0}}; "
            f"not {treatment!r} and {control!r}."
        )
