"""Functions that people write of the states of variables."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

from plausible.errors import InvalidModel
from plausible.variables import Variable


def check_arguments(function: Callable[..., Any], scope: tuple[Variable, ...], what: str) -> None:
    """Refuse a function that does not take the states of the variables, one argument for each.

    >>> check_arguments(lambda sky, wind: 0, (Variable("sky", 2),), "The rule of 'umbrella'")
    Traceback (most recent call last):
        ...
    plausible.errors.InvalidModel: The rule of 'umbrella' is a function of the states of ['sky'], in order: ...
    """
    try:
        signature(function).bind(*scope)
    except TypeError as problem:
        names = [variable.name for variable in scope]
        raise InvalidModel(f"{what} is a function of the states of {names}, in order: {problem}.") from None
    except ValueError:  # built-in functions don't tell their arguments
        return
