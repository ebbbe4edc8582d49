"""Aggregates: the largest, the median, the number ... of many parents with the same states."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from operator import attrgetter
from typing import Any, ClassVar, Literal, Self, TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Floats, Positions
from plausible.base.records import shown
from plausible.base.remedies import Remedy
from plausible.cpds.base import CPD, Columns
from plausible.cpds.noisy_or import auxiliary_mark
from plausible.cpds.reading import (
    TextLines,
    VariableLike,
    check_discrete,
    given_text,
    name_of,
    read_child,
    read_parents,
    record_field,
    record_list,
    state_index,
    states_at,
    states_text,
)
from plausible.cpds.summaries import Averaged, Counted, MostFrequent, Ranked, Summary, Ties, is_decided, links
from plausible.errors import InvalidCPD, TooLarge, suggestion
from plausible.factors import Factor
from plausible.factors.alignment import table_shape
from plausible.variables import State, Variable

AggregateFunction: TypeAlias = Literal["max", "min", "median", "mode", "mean", "count", "exists"]

_FUNCTIONS = get_args(AggregateFunction)
_COUNTING = ("count", "exists")
_FEWER = (
    Remedy("give evidence on more of its parents"),
    Remedy("give it, or its parents, fewer states (the last state of a count means 'or more')"),
)


class AggregateCPD(CPD):
    """An aggregate: the child is the largest, the median, the number ... of many parents that have the same states.

    Only sums over the parents matter, such as how many are above some state. So the factors form a chain along the
    parents, of which each link says how the sums so far and one more parent make the sums after it. Sums that no
    further parents can tell apart are one state: "exists", "max", "min" and counts up to some number have few, whatever
    the number of parents. Means of n parents have of the order of n, medians and modes of k states of the order of
    n^(k - 1): too many are refused.

    Parameters
    ----------
    function
        - "max", "min": the last or the first of the parents' states, in the order of states.
        - "median": the middle one; of two middle ones that which `ties` says.
        - "mode": the most frequent one.
        - "mean": the state whose position is nearest to the mean of the positions; if all states are numbers, whose
          number is nearest to the mean of the numbers. Ties are found by exact arithmetic.
        - "count": how many parents are in one of the states `of`, where the last state of the child means "or more".
        - "exists": whether any parent is in one of the states `of`.
    parents
        At least one.
    states
        The child's states. Those of a count are 0, 1, ..., c, by default up to the number of parents; those of "exists"
        say no and yes, by default False and True; all others have the states of the parents, and need them here only
        if no parent is given as `Variable`.
    of
        What "count" and "exists" look for: a state of the parents, or several. `None` means all states.
    ties
        Which of several states that are equally right is taken: the first ("lower") or the last ("upper") in the order
        of states.

    Examples
    --------
    >>> grades = [Variable(f"grade{i}", ["low", "middle", "high"]) for i in range(1, 5)]
    >>> best = AggregateCPD("best", "max", grades)
    >>> print(best.row({"grade1": "low", "grade2": "middle", "grade3": "low", "grade4": "low"}))
    best   | value
    -------+------
    low    |     0
    middle |     1
    high   |     0
    >>> fails = AggregateCPD("fails", "count", grades, of="low", states=range(3))
    >>> print(fails)
    fails = number of grade1, grade2, grade3, grade4 in [low], at most 2
    >>> [factor.names for factor in fails.factors_given({"grade2": 0, "grade4": 2})]
    [('grade1', 'fails≤1'), ('fails≤1', 'grade3', 'fails')]
    """

    __slots__ = ("_of", "_positions", "_values", "function", "summary", "ties")

    kind: ClassVar[str] = "aggregate"
    text_fields: ClassVar[tuple[str, ...]] = ("function", "ties")
    function: AggregateFunction
    ties: Ties
    #: What is counted, as given.
    _of: Any
    #: The positions of the parents' states that are counted.
    _positions: tuple[int, ...]
    #: A whole number for each state of the parents, of which means are taken; none for other functions.
    _values: tuple[int, ...]
    summary: Summary

    def __init__(
        self,
        variable: VariableLike,
        function: AggregateFunction,
        parents: VariableLike | Iterable[VariableLike],
        *,
        states: Iterable[State] | int | None = None,
        of: State | Iterable[State] | None = None,
        ties: Ties = "lower",
    ) -> None:
        name = name_of(variable)
        self.function, self.ties = _read_function(name, function, ties)
        if of is not None and function not in _COUNTING:
            raise InvalidCPD(
                f"of= says what a count looks for; the {function} {name!r} is of all states of its parents."
            )
        self._of = of if isinstance(of, str | tuple) or not isinstance(of, Iterable) else tuple(of)
        self.parent_names, self._known_parents = read_parents(name, parents)
        if not self.parent_names:
            raise InvalidCPD(
                f"The {function} {name!r} needs at least one parent. Give it a TableCPD where there is none."
            )
        check_discrete(Variable(name), self._known_parents, "An aggregate")
        is_open = states is None and not isinstance(variable, Variable)
        self.variable = read_child(variable, self._usual_states(name) if is_open else states)
        self._settle()

    def _usual_states(self, name: str) -> Iterable[State]:
        """The states of a child that was given by name alone."""
        if self.function == "exists":
            return (False, True)
        if self.function == "count":
            return range(len(self.parent_names) + 1)
        for parent in self._known_parents:
            if parent is not None:
                return parent.states
        raise InvalidCPD(f"The {self.function} {name!r} needs states=[...], or its parents as Variable objects.")

    def _settle(self) -> None:
        check_discrete(self.variable, self._known_parents, "An aggregate")
        known = [parent for parent in self._known_parents if parent is not None]
        self._check_states(known)
        if self.is_bound:
            self._positions = _counted_positions(self.variable.name, known[0], self._of, self.function)
            self._values = whole_numbers(known[0].states) if self.function == "mean" else ()
            self._of = None
            self._summarize()

    def _check_states(self, known: Sequence[Variable]) -> None:
        """Refuse parents that differ, and states of the child that don't go with the function."""
        what, own = f"The {self.function} {self.variable.name!r}", self.variable.states
        usual = Counter(parent.states for parent in known).most_common(1)[0][0] if known else ()
        for parent in known:
            if parent.states != usual:
                raise InvalidCPD(
                    f"{what} needs parents with the same states: {parent.name!r} has {states_text(parent.states)}, "
                    f"others have {states_text(usual)}."
                )
        if self.function == "count" and own != tuple(range(len(own))):
            raise InvalidCPD(f"{what} has the states 0, 1, ..., the last for 'or more', not {states_text(own)}.")
        if self.function == "exists" and len(own) != 2:
            raise InvalidCPD(f"{what} has two states, for no and yes, not {states_text(own)}.")
        if self.function not in _COUNTING and known and own != usual:
            raise InvalidCPD(f"{what} has the states of its parents, {states_text(usual)}, not {states_text(own)}.")

    def _summarize(self) -> None:
        """Keep what decides the child."""
        states, number = self.parents[0].num_states, len(self.parents)
        ranks = {"min": 1, "max": number, "median": (number + 1) // 2 if self.ties == "lower" else number // 2 + 1}
        if self.function in ranks:
            self.summary = Ranked.of(states, number, ranks[self.function])
        elif self.function == "mean":
            self.summary = Averaged(self._values, number, self.ties)
        elif self.function == "mode":
            self.summary = MostFrequent(states, self.ties)
        else:
            is_counted = tuple(position in self._positions for position in range(states))
            self.summary = Counted(is_counted, self.variable.num_states - 1)

    # --- numbers ---

    @property
    def is_deterministic(self) -> bool:
        """Always."""
        return True

    @property
    def num_parameters(self) -> int:
        """None: an aggregate has nothing to fit."""
        return 0

    def _results(self, columns: Columns) -> Positions:
        """The position of the child's state for each row of parents. O(rows × parents)."""
        self._require_bound()
        steps = self.summary.steps
        sums = np.zeros(steps.shape[1], dtype=steps.dtype)
        for parent in self.parents:
            sums = self.summary.added(sums, steps[self._column(columns, parent)])
        return self.summary.results(sums)

    def log_probability(self, columns: Columns) -> Floats:
        """0 where the child has the state that the function gives, else -inf. O(rows × parents)."""
        return np.where(self._results(columns) == self._column(columns, self.variable), 0.0, -np.inf)

    def distribution(self, columns: Columns) -> Floats:
        """One at the state that the function gives: shape `(*rows, states)`."""
        return np.asarray(np.eye(self.variable.num_states)[self._results(columns)])

    def quantile(self, columns: Columns, levels: Floats) -> npt.NDArray[Any]:
        """The state that the function gives, whatever the level."""
        results, levels = self._results(columns), np.asarray(levels)
        return np.array(np.broadcast_to(results, np.broadcast_shapes(results.shape, levels.shape)))

    def _ignores(self, free: frozenset[int], fixed: Mapping[int, int], tolerance: float) -> bool:
        """Whatever the other parents are, the free ones come to nothing."""
        num_open = len(self.parents) - len(fixed)
        chain = self._links(self.summary, num_open, _sums(self.summary, list(fixed.values())), None)
        return bool(is_decided(chain, num_open - len(free)).all())

    # --- factors ---

    def to_factors(self) -> tuple[Factor, ...]:
        """A chain over the parents in the order of their names: what is known after one from what was known before it.

        Each is a function of its first variables, the last one of the chain the child itself.
        """
        return self.factors_given({})

    def factors_given(self, observed: Mapping[str, int]) -> tuple[Factor, ...]:
        """The chain over the parents that are not observed; less has to be told apart where the child is observed."""
        parents, summary, start, result = self._open(observed)
        if not parents:
            position = int(summary.results(np.array(start)))
            alone = self.variable, self.variable.states[position]
            return (Factor.indicator(*alone) if result is None else Factor.scalar(float(position == result)),)
        chain = self._links(summary, len(parents), start, result)
        if not len(chain[0]):
            return (Factor.scalar(0.0),)
        ends = [None, *self._partial_results(chain), None if result is not None else self.variable]
        factors = map(_link_factor, ends, parents, ends[1:], chain)
        return tuple(factor for factor in factors if factor is not None)

    @property
    def auxiliaries(self) -> tuple[Variable, ...]:
        """What `to_factors` knows after each parent but the last, where there is anything to know; see `summaries`."""
        parents, summary, start, _ = self._open({})
        chain = self._links(summary, len(parents), start, None) if parents else ()
        return tuple(partial for partial in self._partial_results(chain) if partial is not None)

    def _open(self, observed: Mapping[str, int]) -> tuple[list[Variable], Summary, tuple[int, ...], int | None]:
        """The parents that are not known, what decides the child, the sums over all others, and the result wanted."""
        self._require_bound()
        summary, result = self.summary, observed.get(self.variable.name)
        if result is not None:
            summary, result = summary.told(result)
        free, known = [], []
        for parent in self.parents:
            if parent.name in observed or parent.num_states == 1:
                known.append(observed.get(parent.name, 0))
            else:
                free.append(parent)
        return sorted(free, key=attrgetter("name")), summary, _sums(summary, known), result

    def _links(
        self, summary: Summary, num_parents: int, start: tuple[int, ...], result: int | None
    ) -> tuple[Positions, ...]:
        """The links of a chain, refused by name where they are too large."""
        try:
            return links(summary, num_parents, start, result, self.variable.num_states)
        except TooLarge as error:
            what = f"The {self.function} {self.variable.name!r} of {num_parents} parents that are not observed"
            raise TooLarge(f"{what} has no compact factors: {error.args[0]}", remedies=_FEWER) from None

    def _partial_results(self, chain: Sequence[Positions]) -> list[Variable | None]:
        """What is known after each parent but the last; `None` where that is nothing."""
        name = self.variable.name + auxiliary_mark(self.variable, self.parents)
        sizes = enumerate(map(len, chain[1:]), start=1)
        return [Variable(f"{name}{place}", size) if size > 1 else None for place, size in sizes]

    # --- files and equality ---

    def to_record(self) -> dict[str, Any]:
        """The function and ties; the positions of the states that are counted, or the numbers that means are of."""
        self._require_bound()
        record = {"function": self.function, "ties": self.ties}
        if self.function in _COUNTING:
            return {**record, "of": list(self._positions)}
        return {**record, "values": list(self._values)} if self.function == "mean" else record

    @classmethod
    def from_record(cls, variable: Variable, parents: tuple[Variable, ...], record: Mapping[str, Any]) -> Self:
        """The inverse of `to_record`; states may meanwhile have other names, as positions say what is meant."""
        cpd = object.__new__(cls)
        cpd.variable, cpd.parent_names, cpd._known_parents = variable, tuple(p.name for p in parents), parents
        check_discrete(variable, parents, "An aggregate")
        function, ties = (record_field(variable, record, field) for field in ("function", "ties"))
        cpd.function, cpd.ties = _read_function(variable.name, function, ties)
        cpd._of, cpd._positions, cpd._values = None, (), ()
        if len({parent.num_states for parent in parents}) != 1:
            raise InvalidCPD(f"The {function} {variable.name!r} needs parents with the same number of states.")
        if function in _COUNTING:
            listed = states_at(parents[0], record_list(variable, record, "of"))
            cpd._positions = tuple(sorted({parents[0].index(state) for state in listed}))
        elif function == "mean":
            cpd._values = _read_values(variable, parents[0], record_list(variable, record, "values"))
        wanted = {"count": variable.num_states, "exists": 2}.get(function, parents[0].num_states)
        if variable.num_states != wanted:
            raise InvalidCPD(f"The {function} {variable.name!r} needs {wanted} states, not {variable.num_states}.")
        cpd._summarize()
        return cpd

    def _content(self) -> object:
        return self.to_record() if self.is_bound else (self.function, self.ties, self._of)

    def _shown(self) -> TextLines:
        names = given_text(self.parent_names).removeprefix(" | ")
        if self.function not in _COUNTING:
            ties = f", ties {self.ties}" if self.function in ("median", "mode", "mean") else ""
            return TextLines("", [f"{self.variable.name} = {self.function} of {names}{ties}"], "lines")
        if self.is_bound:
            looked_for = states_text(self.parents[0].states[position] for position in self._positions)
        else:
            looked_for = "any state" if self._of is None else shown(self._of)
        most = f", at most {self.variable.num_states - 1}" if self.function == "count" else ""
        what = "number of" if self.function == "count" else "any of"
        return TextLines("", [f"{self.variable.name} = {what} {names} in {looked_for}{most}"], "lines")


def _read_function(name: str, function: object, ties: object) -> tuple[AggregateFunction, Ties]:
    if not isinstance(function, str) or function not in _FUNCTIONS:
        near = suggestion(function if isinstance(function, str) else "", _FUNCTIONS)
        raise InvalidCPD(f"{shown(function)} is not the function of an aggregate, such as that of {name!r}.{near}")
    if not isinstance(ties, str) or ties not in ("lower", "upper"):
        raise InvalidCPD(f"ties={shown(ties)} of {name!r} must be 'lower' or 'upper'.")
    return cast(AggregateFunction, function), cast(Ties, ties)


def _counted_positions(name: str, parent: Variable, of: Any, function: str) -> tuple[int, ...]:
    """The positions of the states that are counted."""
    if function not in _COUNTING:
        return ()
    if of is None:
        return tuple(range(parent.num_states))
    listed = [of] if parent.has_state(of) or not isinstance(of, tuple) else of
    if not len(listed):
        raise InvalidCPD(f"of= names no state to look for in the parents of {name!r}.")
    return tuple(sorted({state_index(parent, state, f"of= of the {function} {name!r}") for state in listed}))


def whole_numbers(states: Sequence[State]) -> tuple[int, ...]:
    """Numbers as whole ones whose differences have the same ratios: those that print as states, or their positions.

    A float counts as the decimal number that it prints as.
    """
    kinds: tuple[type, ...] = (Rational, float, Decimal)
    if not all(isinstance(state, kinds) and math.isfinite(cast(float, state)) for state in states):
        return tuple(range(len(states)))
    exact = [Fraction(str(state)) if isinstance(state, float) else Fraction(cast(Any, state)) for state in states]
    scale = math.lcm(*(number.denominator for number in exact))
    return _reduced([int(number * scale) for number in exact])


def _reduced(values: Sequence[int]) -> tuple[int, ...]:
    """Whole numbers from zero on, without a common divisor."""
    lowest = min(values)
    divisor = math.gcd(*(value - lowest for value in values)) or 1
    return tuple((value - lowest) // divisor for value in values)


def _read_values(variable: Variable, parent: Variable, listed: list[Any]) -> tuple[int, ...]:
    """The numbers of a mean from its record."""
    if len(listed) != parent.num_states or not all(isinstance(value, int) for value in listed):
        raise InvalidCPD(f"The record of {variable.name!r} needs a whole number for each state of its parents.")
    return _reduced(listed)


def _sums(summary: Summary, positions: Sequence[int]) -> tuple[int, ...]:
    """The sums over parents at these positions."""
    steps = summary.steps
    total = steps[np.array(positions, dtype=np.intp)].sum(axis=0)
    return tuple(summary.added(total, np.zeros_like(total)).tolist())


def _link_factor(before: Variable | None, parent: Variable, after: Variable | None, link: Positions) -> Factor | None:
    """1(after = link[before, parent]); `None` where nothing is said."""
    scope = tuple(variable for variable in (before, parent, after) if variable is not None)
    table = np.zeros((*link.shape, 1 if after is None else after.num_states))
    rows, columns = np.nonzero(link >= 0)
    table[rows, columns, link[rows, columns]] = 1.0
    if after is None and table.all():
        return None
    return Factor.trusted(scope, table.reshape(table_shape(scope)))
