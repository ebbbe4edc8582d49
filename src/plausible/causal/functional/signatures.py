"""Python functions whose arguments are named after the causes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from plausible.errors import InvalidModel

__all__ = ["causes_of"]


def causes_of(name: str, function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's arguments, which are the causes of the variable `name`.

    >>> causes_of("Y", lambda X, U_Y: X != U_Y)
    ('X', 'U_Y')
    """
    if not callable(function):
        raise InvalidModel(f"{name!r} needs a function of its causes, such as lambda X, U: X != U; not {function!r}.")
    try:
        arguments = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise InvalidModel(f"The arguments of the function of {name!r} can't be read; wrap it in a lambda.") from None
    for argument in arguments:
        if argument.kind in (argument.VAR_POSITIONAL, argument.VAR_KEYWORD, argument.POSITIONAL_ONLY):
            raise InvalidModel(
                f"The function of {name!r} takes {argument}: its arguments must be named after the causes of {name!r}."
            )
    return tuple(argument.name for argument in arguments)
