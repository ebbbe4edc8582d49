"""What a question does not need: states that can't occur, and factors that sum to a constant.

Both work on bare factors, before anything is compiled. Zeros and contexts that evidence brings about are found in the
numbers, so that a multiplexer whose selector is known, a tree in one of its branches or a pedigree with typed members
shrink without being asked what kind of distribution they are.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plausible.base import Positions
from plausible.errors import ImpossibleEvidence, NotSupported
from plausible.factors import Factor
from plausible.factors.alignment import table_shape, wide
from plausible.inference.elimination import absorb
from plausible.variables import Evidence, Variable

Mask = npt.NDArray[np.bool_]

#: A factor that varies less than this, relative to its largest entry, along an axis is constant there. Rows of
#: conditional distributions sum to one up to a few roundings.
_CONSTANT = 1e-14


def possible_states(factors: Iterable[Factor], evidence: Evidence) -> dict[str, Mask]:
    """Which states of each variable survive local checks of the zeros, given the evidence.

    A state is struck out when some factor has no positive entry that agrees with it and with the states left of the
    other variables; this is repeated until nothing changes (generalised arc consistency, Mackworth 1977; on pedigrees,
    genotype elimination, Lange & Goradia 1987). A state that can occur is never struck out, but one that is left may
    still be impossible for reasons that no single factor shows. The factors have no negative entries.

    Returns
    -------
    dict
        For each variable of the factors, in order of appearance, a mask over its states.

    Raises
    ------
    ImpossibleEvidence
        Where a variable has no state left, which is named.

    Notes
    -----
    A factor is looked at again when a variable in it has lost states: at most as often as it has states to lose, and
    each time only over what is left of it. Factors without zeros cost one look.

    >>> parent, child = Variable("parent", ["aa", "ab", "bb"]), Variable("child", ["aa", "ab", "bb"])
    >>> passes = Factor([parent, child], [[0.5, 0.5, 0], [0.25, 0.5, 0.25], [0, 0.5, 0.5]])
    >>> possible_states([passes], Evidence.read({"child": "aa"}, {"child": child}))["parent"]
    array([ True,  True, False])
    """
    listed = list(factors)
    live = _allowed(listed, evidence)
    supports = [_Support(factor) for factor in listed if factor.min() <= 0]
    touching: dict[str, list[int]] = {}
    for number, support in enumerate(supports):
        for name in support.names:
            touching.setdefault(name, []).append(number)
    waiting = deque(range(len(supports)))
    queued = [True] * len(supports)
    while waiting:
        number = waiting.popleft()
        queued[number] = False
        for name in supports[number].strike(live):
            for other in touching[name]:
                if other != number and not queued[other]:
                    waiting.append(other)
                    queued[other] = True
    return live


def _allowed(factors: Iterable[Factor], evidence: Evidence) -> dict[str, Mask]:
    """The states that the evidence itself leaves."""
    live = {v.name: np.ones(v.num_states, dtype=bool) for factor in factors for v in factor.scope}
    for name, position in evidence.hard.items():
        if name in live:
            live[name] = np.arange(len(live[name])) == position
    for name, weights in evidence.soft.items():
        if name in live:
            live[name] = live[name] & (weights > 0)
    return live


class _Support:
    """Where a factor is positive, kept to the states that are left."""

    def __init__(self, factor: Factor) -> None:
        self.names = tuple(variable.name for variable in wide(factor.scope))
        self.table = factor.flat.reshape(table_shape(factor.scope)) > 0
        self.states = [np.arange(size) for size in self.table.shape]

    def strike(self, live: dict[str, Mask]) -> list[str]:
        """Strike out the states without support; the names of the variables that lost some."""
        for axis, name in enumerate(self.names):
            kept = live[name][self.states[axis]]
            if not kept.all():
                self.table = np.compress(kept, self.table, axis=axis)
                self.states[axis] = self.states[axis][kept]
        if not self.table.any():
            raise ImpossibleEvidence(
                f"The evidence has probability zero: it leaves no state of {', '.join(self.names[:4]) or 'the model'}"
                f"{', ...' if len(self.names) > 4 else ''} that goes with what is known of the others."
            )
        shrunk = []
        for axis, name in enumerate(self.names):
            others = tuple(other for other in range(self.table.ndim) if other != axis)
            supported = self.table.any(axis=others)
            if not supported.all():
                live[name] = live[name].copy()
                live[name][self.states[axis][~supported]] = False
                shrunk.append(name)
        return shrunk


@dataclass(frozen=True, slots=True, eq=False)
class Reduction:
    """A problem kept to the states that are left, with its evidence built in."""

    #: Over the variables that have two or more states left, with these states only; constants as scalars.
    factors: tuple[Factor, ...]
    variables: Mapping[str, Variable]  # Name -> variable with the states that are left, where these are two or more
    originals: Mapping[str, Variable]  # Name -> variable as it was, of all variables
    states: Mapping[str, Positions]  # Name -> positions of the states that are left, of all variables

    @property
    def num_struck(self) -> int:
        """The number of states that are gone, all variables together."""
        return sum(v.num_states - len(self.states[name]) for name, v in self.originals.items())

    def expand(self, answer: Factor, names: Sequence[str]) -> Factor:
        """An answer over the reduced variables as one over the full ones named: zero where states are gone.

        `answer` mentions those of `names` that have two or more states left.
        """
        scope = tuple(self.originals[name] for name in names)
        kept = [self.states[name] for name in names]
        part = answer.reorder([name for name in names if name in self.variables]).flat
        table = np.zeros([variable.num_states for variable in scope])
        table[np.ix_(*kept)] = part.reshape([len(positions) for positions in kept])
        return Factor(scope, table, info=answer.info)


def reduce_states(factors: Iterable[Factor], evidence: Evidence, variables: Iterable[Variable] = ()) -> Reduction:
    """Build the evidence in and drop all states that local checks rule out; see `possible_states`.

    The product over what is left has the same sum, the same maximum and the same marginals. The factors have no
    negative entries; `variables` are in the answer even if no factor mentions them.

    >>> parent, child = Variable("parent", ["aa", "ab", "bb"]), Variable("child", ["aa", "ab", "bb"])
    >>> passes = Factor([parent, child], [[0.5, 0.5, 0], [0.25, 0.5, 0.25], [0, 0.5, 0.5]])
    >>> reduced = reduce_states([passes], Evidence.read({"child": "aa"}, {"child": child}))
    >>> [(factor.scope, factor.values.tolist()) for factor in reduced.factors]
    [((Variable('parent', ['aa', 'ab']),), [0.5, 0.25])]
    >>> reduced.expand(reduced.factors[0], ["child", "parent"]).values.tolist()
    [[0.5, 0.25, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    if evidence.values:
        raise NotSupported("States are reduced by states, collections of states and likelihoods as evidence.")
    named = {variable.name: variable for variable in variables}
    listed = [*factors, *(Factor((v,), np.ones(v.num_states)) for v in named.values() if v.name in evidence.names)]
    originals = {**named, **{v.name: v for factor in listed for v in factor.scope}}
    soft = [Factor((originals[name],), weights) for name, weights in evidence.soft.items() if name in originals]
    live = possible_states(listed, evidence)
    everything = {name: np.ones(variable.num_states, dtype=bool) for name, variable in originals.items()}
    states = {name: np.flatnonzero(mask) for name, mask in {**everything, **live}.items()}
    smaller = {name: variable for name, variable in originals.items() if len(states[name]) > 1}
    for name, variable in smaller.items():
        if len(states[name]) < variable.num_states:
            smaller[name] = Variable(name, [variable.states[position] for position in states[name]])

    def kept(factor: Factor) -> Factor:
        """The part of a factor over the states that are left; variables with one state leave the scope."""
        if all(smaller.get(name) is originals[name] for name in factor.names):
            return factor
        table = factor.flat.reshape(table_shape(factor.scope))
        part = table[np.ix_(*(states[v.name] for v in wide(factor.scope)))]
        scope = tuple(smaller[name] for name in factor.names if name in smaller)
        return Factor.trusted(scope, np.array(part.reshape(table_shape(scope)), order="C"))

    return Reduction(tuple(map(kept, (*listed, *soft))), smaller, originals, states)


@dataclass(frozen=True, slots=True, eq=False)
class Pruned:
    """Factors with the evidence built in; their product times exp(`log_scale`) has the same marginal of the targets.

    A constant that is zero stays among the factors.
    """

    factors: tuple[Factor, ...]
    log_scale: float


def prune(factors: Iterable[Factor], targets: Iterable[Variable], evidence: Evidence) -> Pruned:
    """Σ over what needs no work: variables of one factor only, and axes along which evidence leaves a factor constant.

    - A factor that evidence has cut to a context may no longer depend on some of its variables: they leave its scope.
      So an input that a multiplexer with a known selector does not copy falls away.
    - A variable that is in one factor only is summed out there, which widens nothing. If the sum is a constant, as
      that of a conditional distribution over its child is, the factor falls away: *barren* variables (Shachter 1986),
      auxiliary ones too.

    Both are repeated until nothing changes. The factors have no negative entries. Targets stay: every one of them is in
    some factor of the answer, unless it is observed.

    >>> copy = Factor({"A": 2, "L": 2, "Y": 2}, [[[1, 0], [0, 1]], [[1, 1], [1, 1]]])
    >>> priors = [Factor({"L": 2}, [0.3, 0.7]), Factor({"Y": 2}, [0.2, 0.8])]
    >>> found = Evidence.read({"A": 1}, {"A": Variable("A", 2)})
    >>> [factor.names for factor in prune([copy, *priors], [Variable("Y", 2)], found).factors]
    [('Y',)]
    """
    work = _Pruning(targets={v.name: v for v in targets if v.name not in evidence.hard})
    listed = list(factors)
    reduced = absorb(listed, evidence)
    for place, factor in enumerate(reduced):
        work.put(factor, is_cut=place < len(listed) and len(factor.scope) < len(listed[place].scope))
    return work.finished()


class _Pruning:
    """Factors by number, and for each variable those that mention it."""

    def __init__(self, targets: Mapping[str, Variable]) -> None:
        self.targets = targets
        self.factors: dict[int, Factor] = {}
        self.holders: dict[str, set[int]] = {}
        self.sizes: dict[str, int] = {}
        self.log_scale = 0.0
        self.num_put = 0

    def put(self, factor: Factor, *, is_cut: bool) -> None:
        """Take a factor in; one that was cut or summed may be constant along axes."""
        kept = _without_constant_axes(factor) if is_cut else factor
        for variable in factor.scope:  # also those that leave the scope: they may be in no factor now
            self.holders.setdefault(variable.name, set())
            self.sizes[variable.name] = variable.num_states
        if not kept.scope and kept.max() > 0:
            self.log_scale += math.log(kept.max())
            return
        self.factors[self.num_put] = kept
        for name in kept.names:
            self.holders[name].add(self.num_put)
        self.num_put += 1

    def finished(self) -> Pruned:
        """Sum out what is in one factor at most, until all that is left is in several or is a target."""
        waiting = deque(name for name in self.holders if self._is_loose(name))
        while waiting:
            name = waiting.popleft()
            if self._is_loose(name):
                waiting.extend(other for other in self._sum_out(name) if self._is_loose(other))
        lost = [variable for name, variable in self.targets.items() if not self.holders.get(name)]
        ones = [Factor((variable,), np.ones(variable.num_states)) for variable in lost]
        return Pruned((*self.factors.values(), *ones), self.log_scale)

    def _is_loose(self, name: str) -> bool:
        return name not in self.targets and len(self.holders.get(name, (0, 0))) <= 1

    def _sum_out(self, name: str) -> Sequence[str]:
        """Sum a variable out, and others that are in the same factor only; the names that may be loose now."""
        if not self.holders[name]:
            del self.holders[name]
            self.log_scale += math.log(self.sizes[name])
            return ()
        (number,) = self.holders[name]
        factor = self.factors.pop(number)
        for other in factor.names:
            self.holders[other].discard(number)
        gone = [other for other in factor.names if other not in self.targets and not self.holders[other]]
        for other in gone:
            del self.holders[other]
        self.put(factor.marginalize(gone), is_cut=True)
        return [other for other in factor.names if other in self.holders]


def _without_constant_axes(factor: Factor) -> Factor:
    """The factor without the variables on which it does not depend."""
    scope = wide(factor.scope)
    table = factor.flat.reshape(table_shape(scope))
    tolerance = _CONSTANT * max(factor.max(), 0.0)
    for variable in scope:
        axis = scope.index(variable)
        if float(np.ptp(table, axis=axis).max()) <= tolerance:
            table = np.take(table, 0, axis=axis)
            scope = tuple(other for other in scope if other is not variable)
    return Factor.trusted(scope, np.array(table, order="C"))
