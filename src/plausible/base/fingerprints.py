"""Short texts that are the same for the same values, in any process and on any machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import fields, is_dataclass
from hashlib import blake2b
from types import CodeType, FunctionType
from typing import Any

import numpy as np

#: What is written as it prints, and compared as that.
_PLAIN = (type(None), bool, int, float, complex, str, bytes)

#: What functions may hold to put something into.
_GROWING = (list, dict, set)


def fingerprint(value: object) -> str:
    """A text that tells values apart: by content, whatever the order of sets and mappings, and not by identity.

    Functions are told apart by their names, their code and what they hold, but for lists and mappings, which they may
    fill; what can't be pickled by its type. Costs one look at all that the value holds.

    >>> fingerprint({"a": {1, 2}, "b": [0.5]}) == fingerprint({"b": [0.5], "a": {2, 1}})
    True
    >>> fingerprint(np.arange(3)) == fingerprint(np.arange(3.0))
    False
    """
    digest = blake2b(digest_size=16)
    _feed(digest.update, value, ())
    return digest.hexdigest()


def _feed(update: Callable[[bytes], object], value: Any, above: tuple[int, ...]) -> None:
    """Tell all of a value; what lies in itself is told by how far above it is."""
    if id(value) in above and not isinstance(value, _PLAIN):
        update(f"<{above[::-1].index(id(value))}>".encode())
        return
    inner = (*above, id(value))
    update(f"{type(value).__module__}.{type(value).__qualname__}(".encode())
    if isinstance(value, _PLAIN):
        update(repr(value).encode())
    elif isinstance(value, np.ndarray) and value.dtype != object:
        update(f"{value.dtype.str}{value.shape}".encode())
        update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, (type, FunctionType)):
        _feed_function(update, value, inner)
    elif isinstance(value, (Set, Mapping)):
        update("".join(sorted(map(fingerprint, value.items() if isinstance(value, Mapping) else value))).encode())
    else:
        for part in _parts(value):
            _feed(update, part, inner)
    update(b")")


def _feed_function(update: Callable[[bytes], object], value: Any, above: tuple[int, ...]) -> None:
    update(f"{value.__module__}.{value.__qualname__}".encode())
    code = getattr(value, "__code__", None)
    if code is not None:
        update(code.co_code)
        for constant in code.co_consts:
            update(constant.co_code if isinstance(constant, CodeType) else repr(constant).encode())
        held = (cell.cell_contents for cell in value.__closure__ or ())
        _feed(update, [value.__defaults__, *(one for one in held if not isinstance(one, _GROWING))], above)


def _parts(value: Any) -> Iterable[Any]:
    """What a value is made of: the fields of a record, the nodes and edges of a graph, or what a pickle would hold."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return list(value)
    if hasattr(value, "fingerprint"):
        return [value.fingerprint()]
    if is_dataclass(value):
        return [getattr(value, field.name) for field in fields(value) if field.init]
    if hasattr(value, "cpds"):
        return [dict(value.variables), list(value.cpds.values())]
    if hasattr(value, "nodes") and hasattr(value, "edges"):
        return [list(value.nodes), sorted(map(str, value.edges))]
    if hasattr(value, "bit_generator"):
        return [value.bit_generator.state]
    try:
        return [part for part in value.__reduce_ex__(4) if part is not None]
    except TypeError:  # a lock, an open file
        return ()
