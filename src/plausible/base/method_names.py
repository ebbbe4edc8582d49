"""Methods that carry the name of the class that users know, for error messages about their arguments."""

from __future__ import annotations

from types import CellType, FunctionType
from typing import TypeVar

Class = TypeVar("Class", bound=type)


def own_methods(cls: Class) -> Class:
    """A class decorator: inherited methods are named after the class, not after the base that they come from.

    Python's error for a wrong argument tells the function's qualified name. A class that is put together from parts
    gets a copy of each function under its own name; calls cost what they did.

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
        if isinstance(member, FunctionType) and not name.startswith("_") and name not in vars(cls):
            setattr(cls, name, _renamed(member, cls))
    return cls


def _renamed(method: FunctionType, cls: type) -> FunctionType:
    """A copy under the name of the class; of a wrapper, one around a copy of what it wraps."""
    inner: FunctionType | None = getattr(method, "__wrapped__", None)
    copied = inner and _renamed(inner, cls)
    cells = (CellType(copied) if inner and cell.cell_contents is inner else cell for cell in method.__closure__ or ())
    copy = FunctionType(method.__code__, method.__globals__, method.__name__, method.__defaults__, tuple(cells))
    copy.__kwdefaults__, copy.__annotations__ = method.__kwdefaults__, method.__annotations__
    # The room, such as plausible.models, is where users and pickles find the class.
    copy.__doc__, copy.__module__ = method.__doc__, ".".join(cls.__module__.split(".")[:2])
    copy.__dict__.update(method.__dict__, **({"__wrapped__": copied} if copied else {}))
    copy.__qualname__ = f"{cls.__qualname__}.{method.__name__}"
    return copy
