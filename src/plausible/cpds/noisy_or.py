"""Noisy-or: each active cause brings the effect about, unless it is inhibited; what CPDs of such causes share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from plausible.base import Floats, TextTable, format_number
from plausible.cpds.base import CPD, Columns
from plausible.cpds.reading import (
    VariableLike,
    check_discrete,
    excerpt,
    name_of,
    probability,
    read_child,
    read_parents,
    record_field,
    state_header,
    state_index,
    states_at,
    values_by_parent,
)
from plausible.errors import InvalidCPD, UnknownVariable
from plausible.factors import Factor
from plausible.variables import State, Variable


class IndependentCauses(CPD):
    """A CPD of the largest of effects that the parents, and a leak, have independently of each other."""

    __slots__ = ()

    @abstractmethod
    def _effects_and_leak(self) -> tuple[Sequence[Floats], Floats]:
        """P(Y_i | x_i) of each parent over (its states, the child's), and P(Y_0) of the leak."""

    def to_factors(self) -> tuple[Factor, ...]:
        """A chain of partial maxima, a factor over (M_{i-1}, X_i, M_i) for each parent: linear in the parents.

        See `plausible.cpds.noisy_or.max_factors`.
        """
        return max_factors(self.variable, self.parents, *self._effects_and_leak())

    def factors_given(self, observed: Mapping[str, int]) -> tuple[Factor, ...]:
        """A factor of each parent alone where the child is observed in its lowest state; else as `to_factors`."""
        if observed.get(self.variable.name) != 0:
            return self.to_factors()
        effects, leak = self._effects_and_leak()  # P(Y = lowest | x) = Π_i P(Y_i = lowest | x_i)
        alone = (Factor((parent,), effect[:, 0]) for parent, effect in zip(self.parents, effects, strict=True))
        return (Factor.scalar(float(leak[0])), *alone)

    @property
    def auxiliaries(self) -> tuple[Variable, ...]:
        """The partial maxima M_i of `to_factors`."""
        return partial_maxima(self.variable, self.parents)


def partial_maxima(child: Variable, parents: Sequence[Variable]) -> tuple[Variable, ...]:
    """The auxiliary variables of `max_factors`, one for each parent but the last; no name is in the scope."""
    name = child.name + auxiliary_mark(child, parents)
    return tuple(child.renamed(f"{name}{place}") for place in range(1, len(parents)))


def auxiliary_mark(child: Variable, parents: Sequence[Variable]) -> str:
    """What stands between the name of the child and a number in names that no parent has."""
    mark = "≤"
    while any(variable.name.startswith(child.name + mark) for variable in parents):
        mark += "≤"
    return mark


def max_factors(
    child: Variable,
    parents: Sequence[Variable],
    effects: Sequence[Floats],
    leak: Floats,
) -> tuple[Factor, ...]:
    """Y = max(Y_0, Y_1, ..., Y_n) with Y_i ~ P(Y_i | x_i), as a chain of factors of at most three variables.

    With M_0 = Y_0 and M_i = max(M_{i-1}, Y_i) for each parent in turn, the last of them being Y itself, the factors are
    P(m_i | m_{i-1}, x_i): P(Y_i = m_i | x_i) above m_{i-1}, P(Y_i ≤ m_i | x_i) at it, and zero below. (Zhang & Poole
    1996.) No entry is a difference, so nothing cancels and logarithms can be taken.

    The M_i must be summed out before anything is maximised: a maximum over them is not one over Y. Parents come in the
    order of their names, so that the chains of several children with common causes run side by side: in step they
    need tables over one M_i of each child, out of step over many.
    """
    if not parents:
        return (Factor((child,), leak),)
    maxima = (*partial_maxima(child, parents), child)
    pairs = sorted(zip(parents, effects, strict=True), key=lambda pair: pair[0].name)
    ordered = [parent for parent, _ in pairs]
    first, *others = (_maximum_table(effect) for _, effect in pairs)
    links = zip(maxima, ordered[1:], maxima[1:], others, strict=False)
    return (
        Factor((ordered[0], maxima[0]), np.tensordot(leak, first, axes=1)),
        *(Factor((before, parent, after), table) for before, parent, after, table in links),
    )


def _maximum_table(effect: Floats) -> Floats:
    """P(max(m, Y_i) = m' | x_i) over (m, x_i, m')."""
    size = effect.shape[-1]
    at = np.arange(size)
    table = np.where(at[:, None, None] < at, effect, 0.0)
    table[at, :, at] = np.minimum(np.cumsum(effect, axis=-1), 1.0).T
    table[-1, :, -1] = 1.0
    return table


def log_complement(logs: Floats) -> Floats:
    """log(1 - exp(a)) for a ≤ 0, exact near both ends (Mächler 2012)."""
    with np.errstate(divide="ignore"):
        return np.where(logs > -np.log(2.0), np.log(-np.expm1(logs)), np.log1p(-np.exp(logs)))


class NoisyOr(IndependentCauses):
    """A noisy-or (Pearl 1988): each active parent independently turns the child on with its own probability.

    P(Y = off | x) = (1 - λ_0) Π_{i ≥ 1} (1 - λ_i)^{x_i}, where x_i is 1 if parent i is active, else 0, and λ_0 is the
    probability of a leak, which turns Y on without any parent. Cost: linear in the number of parents, see `to_factors`.

    Parameters
    ----------
    variable
        The child: a name (then give its `states`) or a `Variable`. The first state means "off", the second "on".
    parents
        Names or `Variable` objects. The second of two states is the active one, unless you set `active_states`. A
        parent with only one state is always active.
    activation
        λ_i for each parent: a mapping by name, or a list in the order of the parents.
    leak
        λ_0: the probability of the effect if no parent is active.
    states
        The two states of the child; by default False and True.
    active_states
        Parent -> its active state, if that is not the second of two; or a list of active states in the order of the
        parents. All other states are inactive.

    Examples
    --------
    >>> fever = NoisyOr("fever", parents=[Variable("flu", 2), Variable("cold", 2)],
    ...                 activation={"flu": 0.8, "cold": 0.5}, leak=0.1)
    >>> print(fever)
    cause  | fever=True
    -------+-----------
    flu=1  |        0.8
    cold=1 |        0.5
    (leak) |        0.1
    >>> print(fever.to_table())
    flu | cold | fever=False | fever=True
    ----+------+-------------+-----------
    0   | 0    |         0.9 |        0.1
    0   | 1    |        0.45 |       0.55
    1   | 0    |        0.18 |       0.82
    1   | 1    |        0.09 |       0.91
    """

    __slots__ = ("_active_states", "_activity", "activation", "leak")

    kind: ClassVar[str] = "noisy-or"
    #: λ_i of each parent, read-only.
    activation: Floats
    #: λ_0.
    leak: float
    _active_states: Mapping[str, State]
    #: The position of the active state of each parent.
    _activity: tuple[int, ...]

    def __init__(
        self,
        variable: VariableLike,
        parents: VariableLike | Iterable[VariableLike],
        activation: Mapping[str, float] | Iterable[float],
        leak: float = 0.0,
        states: Iterable[State] | None = None,
        active_states: Mapping[str, State] | Iterable[State] | None = None,
    ) -> None:
        name = name_of(variable)
        self.parent_names, self._known_parents = read_parents(name, parents)
        default = (False, True) if states is None and not isinstance(variable, Variable) else states
        self.variable = read_child(variable, default)
        if self.variable.num_states != 2:
            raise InvalidCPD(
                f"The noisy-or {name!r} needs two states, off and on, not {list(self.variable.states)}. "
                "For more see NoisyMax."
            )
        listed = values_by_parent(name, "activation", self.parent_names, activation)
        pairs = zip(self.parent_names, listed, strict=True)
        self.activation = np.array([probability(x, f"The activation of {name!r} by {p!r}") for p, x in pairs])
        self.activation.setflags(write=False)
        self.leak = probability(leak, f"The leak of {name!r}")
        self._active_states = _read_active(name, self.parent_names, active_states)
        self._settle()

    def _settle(self) -> None:
        check_discrete(self.variable, self._known_parents, "A noisy-or")
        if self.is_bound:
            self._activity = tuple(self._active_position(parent) for parent in self.parents)
            self._active_states = {}

    def _active_position(self, parent: Variable) -> int:
        if parent.name in self._active_states:
            place = f"The active state of a parent of {self.variable.name!r}"
            return state_index(parent, self._active_states[parent.name], place)
        if parent.num_states > 2:
            raise InvalidCPD(
                f"The parent {parent.name!r} of the noisy-or {self.variable.name!r} has {parent.num_states} states; "
                "say in active_states= which one is active, or use NoisyMax."
            )
        return parent.num_states - 1

    @property
    def active_states(self) -> Mapping[str, State]:
        """Parent -> its active state."""
        pairs = zip(self.parents, self._activity, strict=True)
        return {parent.name: parent.states[position] for parent, position in pairs}

    @property
    def num_parameters(self) -> int:
        """The leak and one activation for each parent."""
        return 1 + len(self.parent_names)

    def log_probability(self, columns: Columns) -> Floats:
        """log P(y | x) of each row; exact also where P(on) is tiny. O(rows × parents)."""
        with np.errstate(divide="ignore"):
            inhibited, log_off = np.log1p(-self.activation), np.log1p(-np.asarray(self.leak))
        for parent, position, step in zip(self.parents, self._activity, inhibited, strict=True):
            log_off = log_off + np.where(self._column(columns, parent) == position, step, 0.0)
        return np.where(self._column(columns, self.variable) == 0, log_off, log_complement(log_off))

    def _effects_and_leak(self) -> tuple[list[Floats], Floats]:
        effects = []
        for parent, position, chance in zip(self.parents, self._activity, self.activation, strict=True):
            effect = np.tile([1.0, 0.0], (parent.num_states, 1))
            effect[position] = 1.0 - chance, chance
            effects.append(effect)
        return effects, np.array([1.0 - self.leak, self.leak])

    def _ignores(self, free: frozenset[int], fixed: Mapping[int, int], tolerance: float) -> bool:
        """P(off) changes most where the other free parents are inactive, if they can be."""
        rest, most, least = 1.0 - self.leak, 1.0, 1.0
        for axis, parent in enumerate(self.parents):
            passes = 1.0 - float(self.activation[axis])
            if axis in free:
                most *= 1.0 if parent.num_states > 1 else passes
                least *= passes
            elif parent.num_states == 1 or fixed.get(axis) == self._activity[axis]:
                rest *= passes
        return rest * (most - least) <= tolerance

    def to_record(self) -> dict[str, Any]:
        """The activations, the leak and the positions of the active states."""
        self._require_bound()
        return {"activation": self.activation.tolist(), "leak": self.leak, "active": list(self._activity)}

    @classmethod
    def from_record(cls, variable: Variable, parents: tuple[Variable, ...], record: Mapping[str, Any]) -> Self:
        positions = values_by_parent(
            variable.name, "active positions", tuple(p.name for p in parents), record_field(variable, record, "active")
        )
        check_discrete(variable, parents, "A noisy-or")
        active = {p.name: states_at(p, (position,))[0] for p, position in zip(parents, positions, strict=True)}
        activation, leak = (record_field(variable, record, field) for field in ("activation", "leak"))
        return cls(variable, parents, activation, leak, active_states=active)

    def _content(self) -> object:
        return self.to_record() if self.is_bound else (self.activation.tolist(), self.leak, self._active_states)

    def _shown(self) -> TextTable:
        active = self.active_states if self.is_bound else self._active_states
        labels = (f"{name}={active[name]}" if name in active else name for name in self.parent_names)
        chances = [*self.activation.tolist(), self.leak]
        rows = zip([*labels, "(leak)"], map(format_number, chances), strict=True)
        return excerpt(["cause", *state_header(self.variable, 1)], rows, len(chances))


def _read_active(
    name: str, parents: tuple[str, ...], given: Mapping[str, State] | Iterable[State] | None
) -> dict[str, State]:
    """Parent -> its active state, as far as one was said."""
    if given is None:
        return {}
    if isinstance(given, str):
        raise InvalidCPD(
            f"The active states of {name!r}: expected a mapping such as {{{parents[0] if parents else 'parent'!r}: "
            f"{given!r}}}, or a list of one for each parent in {list(parents)}, not the text {given!r}."
        )
    if not isinstance(given, Mapping):
        return dict(zip(parents, values_by_parent(name, "active states", parents, given), strict=True))
    for parent in given:
        if parent not in parents:
            raise UnknownVariable.named(parent, parents, f"the parents of {name!r}")
    return dict(given)
