"""Noisy-max: graded causes of a graded effect, of which the strongest wins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, pairwise
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.base import Floats, TextTable, by_label, format_number
from plausible.cpds.base import Columns
from plausible.cpds.noisy_or import IndependentCauses, log_complement
from plausible.cpds.reading import (
    Row,
    VariableLike,
    check_discrete,
    check_row,
    excerpt,
    keyed_rows,
    name_of,
    normalized_rows,
    read_child,
    read_parents,
    read_row,
    record_field,
    state_header,
    state_label,
    values_by_parent,
)
from plausible.errors import InvalidCPD
from plausible.variables import State, Variable

#: Rows of shape (states of the parent, states of the child), or keyed by the parent's states.
Effect: TypeAlias = npt.ArrayLike | Mapping[Any, Row]


class NoisyMax(IndependentCauses):
    """A noisy max: each parent has its own effect Y_i, and Y is the largest: P(Y ≤ y | x) = Π_{i ≥ 0} P(Y_i ≤ y | x_i).

    The states of Y are ordered from the first (no effect) to the last (Henrion 1989; Díez 1993). With two states this
    is a noisy-or. Cost: linear in the number of parents, see `to_factors`.

    Parameters
    ----------
    effects
        P(Y_i | x_i) for each parent, by name or as a list in the order of the parents: an array of shape `(states of
        the parent, states of the child)`, or rows keyed by the parent's states. The neutral state of a parent usually
        has the effect [1, 0, ...], but need not.
    leak
        P(Y_0): the effect of everything that is not a parent; by default none.
    states
        The child's states; by default 0, 1, ...

    Examples
    --------
    >>> pain = NoisyMax("pain", parents=[Variable("injury", ["no", "yes"]), Variable("flu", ["no", "mild", "bad"])],
    ...                 states=["none", "some", "strong"], leak=[0.9, 0.1, 0.0],
    ...                 effects={"injury": [[1, 0, 0], [0.1, 0.3, 0.6]],
    ...                          "flu": {"no": [1, 0, 0], "mild": [0.5, 0.5, 0], "bad": [0.2, 0.6, 0.2]}})
    >>> print(pain.row({"injury": "yes", "flu": "mild"}))
    pain   | value
    -------+------
    none   | 0.045
    some   | 0.355
    strong |   0.6
    """

    __slots__ = ("_effects", "_given", "_leak")

    kind: ClassVar[str] = "noisy-max"
    _given: tuple[Any, ...] | None
    _effects: tuple[Floats, ...]
    _leak: Floats

    def __init__(
        self,
        variable: VariableLike,
        parents: VariableLike | Iterable[VariableLike],
        effects: Mapping[str, Effect] | Iterable[Effect],
        leak: Row | None = None,
        states: Iterable[State] | int | None = None,
    ) -> None:
        name = name_of(variable)
        self.parent_names, self._known_parents = read_parents(name, parents)
        listed = values_by_parent(name, "effects", self.parent_names, effects)
        self._given = tuple(
            _copied(name, parent, effect) for parent, effect in zip(self.parent_names, listed, strict=True)
        )
        self.variable = read_child(variable, states, _num_states(self._given, leak))
        no_effect = np.eye(1, self.variable.num_states)[0]
        self._leak = no_effect if leak is None else read_row(self.variable, "leak", leak)
        self._settle()

    def _settle(self) -> None:
        """All rows, the leak's first, are checked as one table: so there is one warning at most."""
        check_discrete(self.variable, self._known_parents, "A noisy-max")
        if self._given is None:
            return
        if not self.is_bound:
            for label, row in self._labelled_rows():
                check_row(self.variable, label, row)
            return
        blocks = [self._effect(parent, given) for parent, given in zip(self.parents, self._given, strict=True)]
        ends = list(accumulate((len(block) for block in blocks), initial=1))
        names = ["the leak", *(f"{p.name}={state}" for p in self.parents for state in p.states)]
        rows = normalized_rows(self.variable, np.vstack([self._leak, *blocks]), lambda row: names[row[0]])
        self._leak = rows[0]
        self._effects = tuple(rows[start:end] for start, end in pairwise(ends))
        self._given = None

    def _effect(self, parent: Variable, given: Any) -> Floats:
        if isinstance(given, Mapping):
            return keyed_rows(self.variable, (parent,), given)
        wanted = (parent.num_states, self.variable.num_states)
        if given.shape != wanted:
            raise InvalidCPD(
                f"The effect of {parent.name!r} on {self.variable.name!r} needs shape {wanted}, not {given.shape}: "
                f"a row for each state of {parent.name!r}."
            )
        return np.asarray(given)

    @property
    def effects(self) -> Mapping[str, Floats]:
        """Parent -> P(Y_i | x_i), read-only arrays of shape `(states of the parent, states of the child)`."""
        self._require_bound()
        return dict(zip(self.parent_names, self._effects, strict=True))

    @property
    def leak(self) -> Floats:
        """P(Y_0), read-only."""
        return self._leak

    @property
    def num_parameters(self) -> int:
        """(states - 1) for the leak and for each state of each parent."""
        return (1 + sum(parent.num_states for parent in self.parents)) * (self.variable.num_states - 1)

    def log_probability(self, columns: Columns) -> Floats:
        """log P(y | x) of each row; exact also where it is tiny. O(rows × parents).

        With C = Π_i C_i(y): P(y) = C(y) (1 - C(y-1) / C(y)), and the logarithm of each ratio is log(1 - p_i / C_i).
        """
        child = self._column(columns, self.variable)
        below, step = (table[child] for table in _log_tables(self._leak))
        for parent, effect in zip(self.parents, self._effects, strict=True):
            logs, steps = _log_tables(effect)
            at = self._column(columns, parent)
            below, step = below + logs[at, child], step + steps[at, child]
        return np.asarray(below + log_complement(step))

    def _effects_and_leak(self) -> tuple[tuple[Floats, ...], Floats]:
        return self._effects, self._leak

    def _ignores(self, free: frozenset[int], fixed: Mapping[int, int], tolerance: float) -> bool:
        """P(Y ≤ y) changes most where the other open parents allow most of it."""
        rest, most, least = _cumulative(self._leak), np.ones(1), np.ones(1)
        for axis, effect in enumerate(self._effects):
            table = _cumulative(effect)
            if axis in free:
                most, least = most * table.max(axis=0), least * table.min(axis=0)
            else:
                rest = rest * (table[fixed[axis]] if axis in fixed else table.max(axis=0))
        return bool((rest * (most - least)).max() <= tolerance)

    def to_record(self) -> dict[str, Any]:
        """The effects, as rows for the states of each parent, and the leak."""
        return {"effects": [effect.tolist() for effect in self.effects.values()], "leak": self._leak.tolist()}

    @classmethod
    def from_record(cls, variable: Variable, parents: tuple[Variable, ...], record: Mapping[str, Any]) -> Self:
        effects, leak = (record_field(variable, record, field) for field in ("effects", "leak"))
        return cls(variable, parents, effects, leak)

    def _content(self) -> object:
        if self._given is None:
            return self.to_record()
        plain = [given.tolist() if isinstance(given, np.ndarray) else given for given in self._given]
        return plain, self._leak.tolist()

    def _labelled_rows(self) -> Iterator[tuple[str, Any]]:
        """Each row of the effects, as given or by state of the parent, and then the leak."""
        effects = self._effects if self._given is None else self._given
        for name, parent, effect in zip(self.parent_names, self._known_parents, effects, strict=True):
            if isinstance(effect, Mapping):
                yield from ((f"{name}={state}", row) for state, row in effect.items())
            else:
                known = parent if self._given is None else None
                yield from ((state_label(name, known, position), row) for position, row in enumerate(effect))
        yield "(leak)", self._leak

    def _shown(self) -> TextTable:
        labelled = list(self._labelled_rows())
        rows = (
            [label, *(format_number(float(x)) for x in read_row(self.variable, label, row))] for label, row in labelled
        )
        return excerpt(["cause", *state_header(self.variable)], rows, len(labelled))


def _copied(child: str, parent: str, effect: Any) -> Floats | dict[Any, Any]:
    """A copy of what the caller gave, as far as it can be checked without the parent's states."""
    what = f"The effect of {parent!r} on {child!r}"
    effect = by_label(effect)
    if isinstance(effect, Mapping):
        effect = {state: by_label(row) for state, row in effect.items()}
        if not effect or not all(hasattr(row, "__len__") for row in effect.values()):
            raise InvalidCPD(f"{what} needs a row of probabilities for each state of {parent!r}.")
        return {state: dict(row) if isinstance(row, Mapping) else tuple(row) for state, row in effect.items()}
    try:
        array = np.array(effect, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidCPD(f"{what} is not a regular array of numbers; are all rows equally long?") from None
    if array.ndim != 2:
        raise InvalidCPD(f"{what} needs rows of probabilities, one for each state of {parent!r}.")
    return array


def _num_states(effects: Iterable[Any], leak: Any) -> int | None:
    """The number of states of the child, from the first row at hand."""
    for effect in effects:
        return len(next(iter(effect.values()))) if isinstance(effect, Mapping) else int(effect.shape[1])
    return len(leak) if hasattr(leak, "__len__") else None


def _cumulative(rows: Floats) -> Floats:
    """P(Y_i ≤ y), the last one exactly."""
    sums = np.minimum(np.cumsum(rows, axis=-1), 1.0)
    sums[..., -1] = 1.0
    return sums


def _log_tables(rows: Floats) -> tuple[Floats, Floats]:
    """log C(y) and log(C(y-1) / C(y)), for C(y) = P(Y_i ≤ y); the second is 0 where C(y) = 0."""
    below = _cumulative(rows)
    above = np.zeros_like(rows)
    above[..., :-1] = np.cumsum(rows[..., :0:-1], axis=-1)[..., ::-1]
    with np.errstate(divide="ignore"):
        logs = np.where(above < 0.5, np.log1p(-np.minimum(above, 0.5)), np.log(below))
        share = np.divide(rows, below, out=np.zeros_like(rows), where=below > 0)
        share[..., 0] = below[..., 0] > 0
        return logs, np.log1p(-np.minimum(share, 1.0))
