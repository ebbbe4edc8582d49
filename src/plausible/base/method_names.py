"""What error messages about the arguments of a call say: the name that users know, and which keyword is meant."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import wraps
from types import CellType, FunctionType
from typing import Any, TypeVar

from plausible.base.common_options import tell_common_options
from plausible.base.hints import keyword_advice

Class = TypeVar("Class", bound=type)
Door = TypeVar("Door", bound=Callable[..., Any])

_UNKNOWN = re.compile(r".* got an unexpected keyword argument '(\w+)'")


def keyword_hints(door: Door) -> Door:
    """A decorator of functions and classes of everyday use: an unknown keyword is told with the one that is meant.

    It costs a tenth of a microsecond a call, so it is not for what inner loops call.

    >>> @keyword_hints
    ... def sample(num_rows, seed=None): ...
    >>> sample(3, random_state=1)
    Traceback (most recent call last):
        ...
    TypeError: sample() got an unexpected keyword argument 'random_state'. Use seed=.
    """
    if isinstance(door, type):
        door.__init__ = keyword_hints(door.__init__)  # type: ignore[misc]
        return door

    @wraps(door)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return door(*arguments, **options)
        except TypeError as error:
            # Without a further frame it is this call that failed, not something inside.
            is_refused = error.__traceback__ is not None and error.__traceback__.tb_next is None
            if is_refused and (unknown := _UNKNOWN.match(str(error))):
                error.args = (f"{unknown[0]}.{keyword_advice(unknown[1], inspect.signature(door).parameters)}",)
            raise

    return call  # type: ignore[return-value]


def own_methods(cls: Class) -> Class:
    """A class decorator: inherited methods are named after the class, not after the base, and all tell common options.

    Python's error for a wrong argument tells the function's qualified name. A class that is put together from parts, or
    that makes functions of a file its methods, gets a copy of each function under its own name; calls cost what they
    did.

    >>> class Questions:
    ...     def query(self, *, evidence=None): ...
    >>> @own_methods
    ... class Network(Questions): ...
    >>> Network().query(evidense={})
    Traceback (most recent call last):
        ...
    TypeError: Network.query() got an unexpected keyword argument 'evidense'...
    """
    members = {name: member for base in reversed(cls.__mro__) for name, member in vars(base).items()}
    for name, member in members.items():
        if isinstance(member, FunctionType) and not name.startswith("_"):
            if member.__qualname__ != f"{cls.__qualname__}.{name}":
                member = _renamed(member, cls, name)
                setattr(cls, name, member)
            tell_common_options(member)
    return cls


def _renamed(method: FunctionType, cls: type, name: str) -> FunctionType:
    """A copy under the name of the class; of a wrapper, one around a copy of what it wraps."""
    inner: FunctionType | None = getattr(method, "__wrapped__", None)
    copied = inner and _renamed(inner, cls, name)
    cells = (CellType(copied) if inner and cell.cell_contents is inner else cell for cell in method.__closure__ or ())
    copy = FunctionType(method.__code__, method.__globals__, name, method.__defaults__, tuple(cells))
    copy.__kwdefaults__, copy.__annotations__ = method.__kwdefaults__, method.__annotations__
    # The room, such as plausible.models, is where users and pickles find the class.
    copy.__doc__, copy.__module__ = method.__doc__, ".".join(cls.__module__.split(".")[:2])
    copy.__dict__.update(method.__dict__, **({"__wrapped__": copied} if copied else {}))
    copy.__qualname__ = f"{cls.__qualname__}.{name}"
    return copy
