"""Checks of the options of engines and methods, and of labels and seeds: each refuses by name what it can not use."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from numbers import Real
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias

import numpy as np

from plausible.base.records import shortened, shown
from plausible.base.remedies import Argument, Remedy
from plausible.errors import InvalidArgument


def check_count(name: str, number: object, least: int = 0) -> None:
    """Refuse what is no whole number of at least `least`.

    >>> check_count("max_steps", 2.5)
    Traceback (most recent call last):
        ...
    plausible.errors.InvalidArgument: max_steps=2.5 must be a whole number of at least 0.
    """
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
        raise InvalidArgument(Argument(name, number), f" must be a whole number of at least {least}.")


def read_count(name: str, number: object, least: int = 0) -> int:
    """A whole number of at least `least`, as an `int`."""
    check_count(name, number, least)
    return int(number)  # type: ignore[call-overload, no-any-return]


def set_counts(options: object, **least: int) -> None:
    """Read the whole numbers among the options of a frozen record in place, each of at least so much."""
    for name, bound in least.items():
        object.__setattr__(options, name, read_count(name, getattr(options, name), bound))


def check_number(
    name: str,
    number: object,
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    most: float = math.inf,
    below: float = math.inf,
) -> None:
    """Refuse what is no finite real number within limits, those of `above` and `below` left out.

    >>> check_number("damping", 0.5, least=0, below=1)
    >>> check_number("factor", 1.0, above=0, below=1)
    Traceback (most recent call last):
        ...
    plausible.errors.InvalidArgument: factor=1.0 must be a number above 0 and below 1.
    """
    is_real = isinstance(number, Real) and not isinstance(number, bool)
    if is_real and math.isfinite(number) and least <= number <= most and above < number < below:  # type: ignore[arg-type, operator]
        return
    limits = (("of at least", least), ("above", above), ("at most", most), ("below", below))
    ends = " and ".join(f"{word} {end:g}" for word, end in limits if math.isfinite(end))
    raise InvalidArgument(Argument(name, number), f" must be a number{' ' + ends if ends else ''}.")


def check_seconds(name: str, seconds: object) -> None:
    """Refuse what is no time in seconds; `None` is no limit."""
    if seconds is not None and seconds != math.inf:
        try:
            check_number(name, seconds, least=0)
        except InvalidArgument:
            raise InvalidArgument(
                Argument(name, seconds), " must be a number of seconds, not negative, or None for no limit."
            ) from None


def check_flag(name: str, flag: object) -> None:
    """Refuse what is neither true nor false."""
    if not isinstance(flag, bool | np.bool_):
        raise InvalidArgument(Argument(name, flag), " must be True or False.")


#: Refuses what an option can't be, by its name.
Check: TypeAlias = Callable[[str, object], None]


def whole(least: int = 0) -> Check:
    """The check of whole numbers of at least `least`."""
    return partial(check_count, least=least)


def real(
    *, least: float = -math.inf, above: float = -math.inf, most: float = math.inf, below: float = math.inf
) -> Check:
    """The check of numbers within the limits of `check_number`."""
    return partial(check_number, least=least, above=above, most=most, below=below)


def one_of(*known: str) -> Check:
    """The check of words of which there are few."""

    def checked(name: str, given: object) -> None:
        if given not in known:
            raise InvalidArgument(f"{name}={given!r} must be one of {', '.join(map(repr, known))}.")

    return checked


def unless(special: float | None, check: Check) -> Check:
    """A check that lets a special value pass: `None`, or infinity."""

    def checked(name: str, given: object) -> None:
        if given is not special and given != special:
            check(name, given)

    return checked


class Checked:
    """A base of frozen records of options, which are checked where a record is made, by what the class says of each.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Annealing(Checked, num_rounds=whole(1), factor=real(above=0, below=1)):
    ...     num_rounds: int = 10
    ...     factor: float = 0.9
    >>> Annealing(factor=2.0)
    Traceback (most recent call last):
        ...
    plausible.errors.InvalidArgument: factor=2.0 must be a number above 0 and below 1.
    """

    __slots__ = ()

    _checks: ClassVar[Mapping[str, Check]] = MappingProxyType({})

    def __init_subclass__(cls, **checks: Check) -> None:
        super().__init_subclass__()
        cls._checks = MappingProxyType({**cls._checks, **checks})

    def __post_init__(self) -> None:
        for name, check in self._checks.items():
            check(name, getattr(self, name))


def read_names(option: str, names: object) -> tuple[str, ...]:
    """The names of variables."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        remedies = [Remedy("write ", Argument(option, [names]))] if isinstance(names, str) else []
        problem = f" takes a sequence of names of variables, not {shortened(names)}."
        raise InvalidArgument(Argument(option), problem, remedies=remedies)
    listed = tuple(names)
    for name in listed:
        if not isinstance(name, str):
            raise InvalidArgument(Argument(option), f" takes names of variables, not {shortened(name)}.")
    return listed


def read_groups(blocks: object) -> tuple[tuple[str, ...], ...] | None:
    """Groups of names for `blocks=`, which may share some; None stays None."""
    if blocks is None:
        return None
    if isinstance(blocks, str) or not isinstance(blocks, Iterable):
        raise InvalidArgument(
            Argument("blocks"), f" takes groups of names, such as [['A', 'B']], not {shortened(blocks)}."
        )
    listed = tuple(blocks)
    for block in listed:
        if isinstance(block, str):
            raise InvalidArgument(
                Argument("blocks"), f" takes groups of names, such as [['A', 'B']], but {block!r} is in no group."
            )
    return tuple(read_names("blocks", block) for block in listed)


def read_blocks(blocks: object) -> tuple[tuple[str, ...], ...] | None:
    """Groups of names for `blocks=`, none of them in two; None stays None."""
    read = read_groups(blocks)
    names = [name for block in read or () for name in block]
    if repeated := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise InvalidArgument(f"{repeated[0]!r} stands twice in ", Argument("blocks"), ": a variable has one block.")
    return read


def read_named_option(text: str) -> tuple[str, float | None]:
    """A name in lower case with hyphens, and the number after its colon, if any: ("bdeu", 10.0) of "BDeu:10"."""
    name, colon, number = text.partition(":")
    try:
        value = float(number) if colon else None
    except ValueError:
        raise InvalidArgument(f"{text!r}: a number stands after the colon, as in '{name}:10'.") from None
    return name.strip().lower().replace("_", "-").replace(" ", "-"), value


def by_label(values: Any) -> Any:
    """A labelled pandas series as {label: value}, a labelled frame as {row label: {column label: value}}.

    The axis of a frame that has pandas' default labels 0, 1, ... stays a list; without any labels, and for all that is
    not from pandas, `values` come back as they are.

    >>> import pandas as pd
    >>> by_label(pd.Series({"yes": 0.9, "no": 0.1}))
    {'yes': 0.9, 'no': 0.1}
    >>> by_label(pd.DataFrame({"yes": [0.9, 0.2], "no": [0.1, 0.8]}))
    [{'yes': 0.9, 'no': 0.1}, {'yes': 0.2, 'no': 0.8}]
    >>> by_label([0.9, 0.1])
    [0.9, 0.1]
    """
    kinds = {kind.__name__ for kind in type(values).__mro__ if kind.__module__.partition(".")[0] == "pandas"}
    if "Series" in kinds and not _is_default(values.index):
        return _labelled(values.index, values.tolist())
    if "DataFrame" in kinds and not (_is_default(values.index) and _is_default(values.columns)):
        return _labelled(values.index, [_labelled(values.columns, row) for row in values.to_numpy().tolist()])
    return values


def _is_default(index: Any) -> bool:
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def _labelled(index: Any, values: list[Any]) -> list[Any] | dict[Any, Any]:
    if _is_default(index):
        return values
    if not index.is_unique:
        raise InvalidArgument(f"{shown(index[index.duplicated()][0])} stands twice among the labels of a pandas table.")
    return dict(zip(index.tolist(), values, strict=True))


#: A whole number that is not negative, a generator, or `None` for numbers that differ from run to run.
Seed: TypeAlias = int | np.random.Generator | None


def generator_of(seed: Seed) -> np.random.Generator:
    """The generator that a seed stands for; a generator stands for itself and goes on where it is.

    >>> generator_of(1).integers(10, size=3).tolist() == generator_of(1).integers(10, size=3).tolist()
    True
    """
    if not isinstance(seed, bool):
        with suppress(TypeError, ValueError):
            return np.random.default_rng(seed)
    raise InvalidArgument(
        f"seed= takes a whole number that is not negative, or a numpy.random.Generator; not {seed!r}."
    )
