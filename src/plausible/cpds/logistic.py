"""Logistic CPDs: log-odds that are linear in the parents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from plausible.base import Floats, TextTable, format_number
from plausible.cpds.base import CPD, Columns
from plausible.cpds.reading import (
    VariableLike,
    excerpt,
    name_of,
    numbers,
    read_child,
    read_parents,
    record_list,
    state_label,
    values_by_parent,
)
from plausible.errors import InvalidCPD, NotSupported, UnknownVariable
from plausible.factors import Factor
from plausible.variables import State, Variable


class LogisticCPD(CPD):
    """Logistic regression on the parents: P(Y = y | x) = exp(η_y) / Σ_j exp(η_j), η_j = w_j0 + Σ_i w_ji x_i.

    η is 0 for the first state of Y. With two states, P(Y = second | x) = σ(w_0 + Σ w_i x_i); with more, this is
    multinomial logistic regression (softmax). Parents may be discrete or continuous. Cost: linear in the number of
    parents, except as a table.

    Parameters
    ----------
    variable
        The child, with k states: a name (then give its `states`) or a `Variable`.
    weights
        For each parent, by name or as a list in the order of the parents: a slope, or a weight for each of its m
        states:

        - a slope (a number; k - 1 numbers for k > 2) is multiplied by the value of a continuous parent, or by the code
          of a discrete parent's state, see `codes`;
        - weights of shape `(m,)` (`(m, k - 1)` for k > 2) are added as they stand.
    intercept
        w_0: a number; k - 1 numbers for k > 2; by default zero.
    states
        The child's states; by default False and True, or 0, 1, ... if the intercept has several numbers.
    codes
        Discrete parent with a slope -> the number for each of its states. By default, states that are all numbers or
        booleans are used as they are; otherwise their positions 0, 1, ... are.

    Examples
    --------
    >>> choice = LogisticCPD("Y", [Variable("A", 2), Variable("B", 2)], weights=[2.0, 0.5], intercept=-1.0)
    >>> print(choice)
    log-odds against Y=False | Y=True
    -------------------------+-------
    (intercept)              |     -1
    A                        |      2
    B                        |    0.5
    >>> print(choice.to_table())
    A | B |  Y=False |   Y=True
    --+---+----------+---------
    0 | 0 | 0.731059 | 0.268941
    0 | 1 | 0.622459 | 0.377541
    1 | 0 | 0.268941 | 0.731059
    1 | 1 | 0.182426 | 0.817574
    """

    __slots__ = ("_codes", "_given_codes", "_intercept", "_weights")

    kind: ClassVar[str] = "logistic"
    #: Shape (k - 1,).
    _intercept: Floats
    #: For each parent a slope of shape (k - 1,), or weights of its states, of shape (m, k - 1).
    _weights: tuple[Floats, ...]
    #: For each parent the numbers of its states, where they are multiplied by a slope.
    _codes: tuple[Floats | None, ...]
    _given_codes: dict[str, Floats]

    def __init__(
        self,
        variable: VariableLike,
        parents: VariableLike | Iterable[VariableLike],
        weights: Mapping[str, npt.ArrayLike] | Iterable[npt.ArrayLike],
        intercept: npt.ArrayLike | None = None,
        states: Iterable[State] | int | None = None,
        codes: Mapping[str, npt.ArrayLike] | None = None,
    ) -> None:
        name = name_of(variable)
        self.parent_names, self._known_parents = read_parents(name, parents)
        constant = None if intercept is None else numbers(intercept, f"The intercept of {name!r}")
        if states is None and not isinstance(variable, Variable):
            states = (False, True) if constant is None or constant.ndim == 0 else constant.size + 1
        self.variable = read_child(variable, states)
        free = self.variable.num_states - 1
        self._intercept = numbers(np.zeros(free) if constant is None else np.atleast_1d(constant), "intercept")
        if self._intercept.shape != (free,):
            raise InvalidCPD(
                f"The intercept of {name!r} has shape {self._intercept.shape}; it needs {free} numbers, "
                "one for each state but the first."
            )
        listed = values_by_parent(name, "weights", self.parent_names, weights)
        self._weights = tuple(self._weight(parent, w) for parent, w in zip(self.parent_names, listed, strict=True))
        self._given_codes = {p: numbers(c, f"The codes of {p!r} for {name!r}") for p, c in (codes or {}).items()}
        for parent in self._given_codes:
            if parent not in self.parent_names:
                raise UnknownVariable.named(parent, self.parent_names, f"the parents of {name!r}")
        self._settle()

    def _weight(self, parent: str, weight: Any) -> Floats:
        """A slope as a vector, weights of states as a matrix."""
        array = numbers(weight, f"The weight of {parent!r} in the CPD of {self.variable.name!r}")
        free = self.variable.num_states - 1
        shaped = array[..., None] if free == 1 and array.ndim < 2 else array
        if shaped.ndim not in (1, 2) or shaped.shape[-1] != free:
            wanted = "a number, or one for each state of the parent" if free == 1 else f"({free},) or (m, {free})"
            place = f"The weight of {parent!r} in the CPD of {self.variable.name!r}"
            raise InvalidCPD(f"{place} has shape {array.shape}; needed: {wanted}.")
        return shaped

    def _settle(self) -> None:
        for parent, weight in zip(self._known_parents, self._weights, strict=True):
            if parent is not None:
                self._check_parent(parent, weight)
        if self.is_bound:
            pairs = zip(self.parents, self._weights, strict=True)
            self._codes = tuple(self._code(parent) if weight.ndim == 1 else None for parent, weight in pairs)
            self._given_codes = {}

    def _check_parent(self, parent: Variable, weight: Floats) -> None:
        count = 0 if parent.is_continuous else parent.num_states
        place = f"The CPD of {self.variable.name!r} has"
        if weight.ndim == 2 and len(weight) != count:
            raise InvalidCPD(f"{place} weights for {len(weight)} states of {parent.name!r}, which has {count}.")
        if parent.name in self._given_codes:
            shape = self._given_codes[parent.name].shape
            if weight.ndim == 2 or not count or shape != (count,):
                raise InvalidCPD(
                    f"{place} codes of shape {shape} for {parent.name!r}, which has {count} states "
                    f"and {'weights for each' if weight.ndim == 2 else 'a slope'}."
                )

    def _code(self, parent: Variable) -> Floats | None:
        if parent.is_continuous:
            return None
        if parent.name in self._given_codes:
            return self._given_codes[parent.name]
        are_numbers = all(isinstance(state, (bool, int, float, np.number)) for state in parent.states)
        what = f"The states of {parent.name!r}, which {self.variable.name!r} uses as numbers"
        return numbers(parent.states if are_numbers else range(len(parent.states)), what)

    def _effects(self, axis: int) -> Floats:
        """What each state of a discrete parent adds to the log-odds: shape `(m, k - 1)`."""
        weight, codes = self._weights[axis], self._codes[axis]
        return weight if codes is None else codes[:, None] * weight

    @property
    def intercept(self) -> Floats:
        """w_0 of all states of the child but the first, read-only."""
        return self._intercept

    @property
    def weights(self) -> Mapping[str, Floats]:
        """Parent -> its slope, of shape `(k - 1,)`, or the weights of its states, of shape `(m, k - 1)`; read-only."""
        return dict(zip(self.parent_names, self._weights, strict=True))

    @property
    def codes(self) -> Mapping[str, Floats]:
        """Discrete parent with a slope -> the numbers that stand for its states, read-only."""
        self._require_bound()
        return {name: codes for name, codes in zip(self.parent_names, self._codes, strict=True) if codes is not None}

    @property
    def num_parameters(self) -> int:
        """The intercept; a slope for each parent that can vary; m - 1 for each parent with weights for m states."""
        counts = [1]
        for parent, weight in zip(self.parents, self._weights, strict=True):
            varied = 1 if parent.is_continuous else parent.num_states - 1
            counts.append(min(varied, 1) if weight.ndim == 1 else varied)
        return sum(counts) * (self.variable.num_states - 1)

    def log_odds(self, columns: Columns) -> Floats:
        """η of all states but the first, given the parents: shape `(*rows, k - 1)`."""
        total = self._intercept
        for axis, parent in enumerate(self.parents):
            column = self._column(columns, parent)
            weight = self._weights[axis]
            total = total + (column[..., None] * weight if parent.is_continuous else self._effects(axis)[column])
        return total

    def log_probability(self, columns: Columns) -> Floats:
        """log P(y | x) of each row: -log Σ_j exp(η_j - η_y), exact near 0 and 1. O(rows × parents × k)."""
        odds = self.log_odds(columns)
        odds = np.concatenate([np.zeros((*odds.shape[:-1], 1)), odds], axis=-1)
        child = self._column(columns, self.variable)
        rows = np.broadcast_shapes(odds.shape[:-1], child.shape)
        odds, at = np.broadcast_to(odds, (*rows, odds.shape[-1])), np.broadcast_to(child, rows)[..., None]
        ahead = odds - np.take_along_axis(odds, at, axis=-1)
        np.put_along_axis(ahead, at, -np.inf, axis=-1)
        peak = np.maximum(ahead.max(axis=-1), 0.0)
        others = np.exp(ahead - peak[..., None]).sum(axis=-1)
        return np.asarray(-np.where(peak == 0, np.log1p(others), peak + np.log(np.exp(-peak) + others)))

    def to_factors(self) -> tuple[Factor, ...]:
        """The whole table: a sigmoid does not split into factors of single parents."""
        continuous = [parent.name for parent in self.parents if parent.is_continuous]
        if continuous:
            raise NotSupported(
                f"The CPD of {self.variable.name!r} is a sigmoid of the continuous parent {continuous[0]!r}: this is "
                "neither a table nor a Gaussian, so exact inference can't use it. log_probability() works; "
                f"or make {continuous[0]!r} discrete."
            )
        return (self.to_factor(),)

    def factors_given(self, observed: Mapping[str, int]) -> None:
        """None: the table over the parents that are not observed."""
        return None

    def _ignores(self, free: frozenset[int], fixed: Mapping[int, int], tolerance: float) -> bool:
        """The log-odds do not change: there are no other contexts, as finite log-odds never saturate exactly."""
        change = 0.0
        for axis in free:
            continuous = self.parents[axis].is_continuous
            spread = np.abs(self._weights[axis]) if continuous else np.ptp(self._effects(axis), axis=0)
            change += float(spread.max(initial=0.0))
        return change <= tolerance

    def to_record(self) -> dict[str, Any]:
        """The intercept; for each parent a slope (a list) or weights of its states (a list of lists); and the codes."""
        self._require_bound()
        return {
            "intercept": self._intercept.tolist(),
            "weights": [weight.tolist() for weight in self._weights],
            "codes": [None if codes is None else codes.tolist() for codes in self._codes],
        }

    @classmethod
    def from_record(cls, variable: Variable, parents: tuple[Variable, ...], record: Mapping[str, Any]) -> Self:
        names = tuple(parent.name for parent in parents)
        intercept, weights, codes = (record_list(variable, record, f) for f in ("intercept", "weights", "codes"))
        arrays = [numbers(weight, f"A weight in the record of {variable.name!r}") for weight in weights]
        listed = values_by_parent(variable.name, "codes", names, codes)
        return cls(
            variable,
            parents,
            [array.item() if array.shape == (1,) else array for array in arrays],
            intercept,
            codes={name: values for name, values in zip(names, listed, strict=True) if values is not None},
        )

    def _content(self) -> object:
        if self.is_bound:
            return self.to_record()
        arrays = (self._intercept, *self._weights, *self._given_codes.values())
        return [array.tolist() for array in arrays], list(self._given_codes)

    def _shown(self) -> TextTable:
        terms = [("(intercept)", self._intercept), *self._terms()]
        rows = ([label, *(format_number(x) for x in weight.tolist())] for label, weight in terms)
        first, *others = self.variable.states
        name = self.variable.name
        header = [f"log-odds against {name}={first}", *(f"{name}={state}" for state in others)]
        return excerpt(header, rows, len(terms))

    def _terms(self) -> Iterator[tuple[str, Floats]]:
        """What is added to the log-odds: a label and k - 1 weights."""
        codes = self.codes if self.is_bound else self._given_codes
        for name, parent, weight in zip(self.parent_names, self._known_parents, self._weights, strict=True):
            if weight.ndim == 2:
                yield from ((state_label(name, parent, position), row) for position, row in enumerate(weight))
            else:
                yield _slope_label(name, parent, codes.get(name)), weight

    def _is_close(self, other: CPD, tolerance: float) -> bool:
        if not any(parent.is_continuous for parent in self.parents) or not isinstance(other, LogisticCPD):
            return super()._is_close(other, tolerance)
        (base, effects), (other_base, other_effects) = self._relative_effects(), other._relative_effects()
        pairs = [(base, other_base), *((effects[name], other_effects[name]) for name in effects)]
        return all(np.allclose(mine, its, rtol=0, atol=tolerance) for mine, its in pairs)

    def _relative_effects(self) -> tuple[Floats, dict[str, Floats]]:
        """Log-odds where discrete parents are in their first states and continuous ones zero, and what changes them."""
        base, effects = self._intercept, {}
        for axis, parent in enumerate(self.parents):
            table = self._weights[axis][None] if parent.is_continuous else self._effects(axis)
            if not parent.is_continuous:
                base, table = base + table[0], table - table[0]
            effects[parent.name] = table
        return base, effects


def _slope_label(name: str, parent: Variable | None, codes: Floats | None) -> str:
    """The name, and the numbers that stand for states that are not these numbers themselves."""
    if parent is None or codes is None or tuple(codes.tolist()) == parent.states:
        return name
    pairs = zip(parent.states, codes.tolist(), strict=True)
    return f"{name} ({', '.join(f'{state}={format_number(code)}' for state, code in pairs)})"
