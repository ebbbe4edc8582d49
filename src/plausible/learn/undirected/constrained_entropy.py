"""The largest approximate entropy of tables that agree and have the means of the data: CAMEL, solved directly."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import InvalidArgument, ModelContradicted, NotSupported
from plausible.inference.problem import Problem
from plausible.inference.regions.counting_numbers import CONVEX_COUNTS, CountingNumbers, bethe_counts, convex_split
from plausible.learn.undirected.entropy_program import EntropyPoint, EntropyProgram
from plausible.learn.undirected.objectives import ObjectiveMethod, SteeredObjective
from plausible.learn.undirected.priors import Penalty
from plausible.learn.undirected.sample import Sample
from plausible.search.run import CONVERGED, Run, Stops, iterate

#: Tangents are taken anew so often, at most, where only log Z is asked for, and until they turn no more than this.
_MOST_TANGENTS, _TURNED = 1000, 1e-9


@dataclass(frozen=True, slots=True)
class ConstrainedEntropy(ObjectiveMethod):
    """Constrained approximate maximum entropy: max Σ c_f H(b_f) + Σ c_v H(b_v) with E_b[f_i] as in the data.

    Tables b of the features' scopes and of variables agree on variables. The multipliers of the means are the weights,
    those at which convergent messages of the same entropy have these means: what `markov(engine=LoopyBP())` climbs to
    with messages inside is found at once. The objective is -M times the entropy, a likelihood with the entropy's log Z
    (Ganapathi, Vickrey, Duchi & Koller 2008; Koller & Friedman 2009, §20.5.1.2).

    With Bethe's entropy it is the likelihood on trees. On graphs with cycles it is not concave: each step takes
    negative counting numbers by their tangents and maximises the rest, and the entropy never falls; there may be
    several maxima. Convex counting numbers have one maximum, found by one program.

    Parameters
    ----------
    counts
        "bethe", or convex: "bethe-like", "trees" and "covering", as for `ConvexBP`, or a function from a `Problem` to
        `CountingNumbers`. "trees" and "covering" bound the likelihood from below.

    Examples
    --------
    >>> import plausible as pb
    >>> rows = {"A": [0, 0, 1, 1, 1, 0], "B": [0, 0, 1, 1, 0, 1], "C": [0, 1, 1, 1, 0, 0]}
    >>> same = pb.Feature([["A", "B"], ["B", "C"], ["A", "C"]], lambda a, b: a == b, name="same")
    >>> for counts in ("bethe", "trees"):
    ...     fit = pb.learn.markov([same], rows, objective=pb.learn.ConstrainedEntropy(counts))
    ...     print(round(fit.weights["same"], 4), round(fit.objective, 4), fit.kind)
    0.6931 -11.4573 approximation
    0.4594 -11.8013 lower bound
    """

    counts: str | Callable[[Problem], CountingNumbers] = "bethe"

    def __post_init__(self) -> None:
        if not callable(self.counts) and self.counts != "bethe" and self.counts not in CONVEX_COUNTS:
            known = ", ".join(map(repr, ("bethe", *CONVEX_COUNTS)))
            raise InvalidArgument(f"counts={self.counts!r} must be one of {known}, or a function of a problem.")

    def on(self, data: Sample) -> EntropyObjective:
        """The means."""
        data.refuse_missing("constrained entropy")
        if data.engine is not None:
            raise NotSupported("ConstrainedEntropy has an entropy, counts=, in the place of an engine: leave that out.")
        return EntropyObjective(data.design, data.feature_totals, (), data.total, method=self, repeats=data.repeats)

    def numbers(self, problem: Problem) -> CountingNumbers:
        """The counting numbers, convex ones if a function gives them."""
        if not callable(self.counts):
            return bethe_counts(problem) if self.counts == "bethe" else CONVEX_COUNTS[self.counts](problem)
        numbers = self.counts(problem)
        convex_split(problem, numbers)
        return numbers


class EntropyState(NamedTuple):
    """The tables and the multipliers so far."""

    num_steps: int
    point: Floats  # the weights
    value: float  # -M times the entropy of tables with the means of the data; nan at the start
    gradient: Floats  # the means that are missing, times M
    solved: EntropyPoint
    turned: float  # by how much the tangents turned in the last step: zero at a stationary point, inf at the start


@dataclass(frozen=True, eq=False)
class EntropyObjective(SteeredObjective):
    """-M times the largest entropy, as a function of the weights: θ·s - M max_b θ·E_b[f] + Σ c H(b)."""

    has_limits = True

    method: ConstrainedEntropy = field(kw_only=True)
    repeats: float = field(kw_only=True)

    @cached_property
    def program(self) -> EntropyProgram:
        """The tables, laid out."""
        return EntropyProgram.of(self.design, self.method.numbers)

    @property
    def is_concave(self) -> bool:
        """Whether there is one maximum."""
        return self.method.counts != "bethe" or self.program.is_tree

    @property
    def kind(self) -> str:
        """Exact on trees; entropies that are never too low make it a lower bound on the likelihood."""
        if self.program.is_tree and self.method.counts == "bethe":
            return "exact"
        return "lower bound" if self.method.counts in ("trees", "covering") else "approximation"

    def at(self, weights: Floats) -> tuple[float, Floats]:
        """The likelihood with the entropy's log Z, and the means that are missing."""
        program = self.program
        found = EntropyPoint(program.independent(weights), np.empty(0))
        for _ in range(1 if self.is_concave else _MOST_TANGENTS):
            before = found
            found = self._solved(before, weights, None)
            if np.abs(program.bent(found.moments) - program.bent(before.moments)).max(initial=0.0) <= _TURNED:
                break
        means = program.features.T @ program.beliefs(found.moments)
        value = float(self.linear @ weights) - self.repeats * (float(weights @ means) + program.entropy(found.moments))
        return value, np.asarray(self.linear - self.repeats * means)

    def run(self, penalty: Penalty, optimizer: Any, start: Floats | Run[Any], stops: Stops) -> Run[EntropyState]:
        """Maximise the entropy; where it is not concave, with tangents taken anew each time."""
        if not penalty.is_none or optimizer is not None:
            raise NotSupported("ConstrainedEntropy meets means exactly: leave prior= and optimizer= out.")
        return iterate(
            self._step,
            self._taken_up(start) if isinstance(start, Run) else self._init(start),
            stops,
            ends=lambda state: CONVERGED if state.turned <= stops.tolerance else "",
            objective=lambda state: -state.value,  # the entropy, which rises
        )

    def _taken_up(self, run: Run[Any]) -> Run[EntropyState] | EntropyState:
        """A run to go on with: as it is where it meets the same means, else from its weights."""
        state = run.state
        is_same = isinstance(state, EntropyState) and state.solved.moments.size == self.program.transform.shape[1]
        if is_same and np.allclose(self._state(1, state.solved, state.turned).gradient, state.gradient, atol=1e-6):
            return run
        return self._init(state.point)

    def _init(self, weights: Floats) -> EntropyState:
        moments = self.program.independent(weights)
        multipliers = np.append(weights, np.zeros(int((~self.program.is_live).sum())))
        return self._state(0, EntropyPoint(moments, multipliers), math.inf)

    def _step(self, state: EntropyState) -> EntropyState:
        found = self._solved(state.solved, np.zeros_like(state.point), self.linear / self.repeats)
        turned = 0.0
        if not self.is_concave:
            bent = self.program.bent(found.moments) - self.program.bent(state.solved.moments)
            turned = float(np.abs(bent).max(initial=0.0))
        return self._state(state.num_steps + 1, found, turned)

    def _solved(self, start: EntropyPoint, linear: Floats, means: Floats | None) -> EntropyPoint:
        found = self.program.maximise(start, linear, means, is_concave=self.is_concave)
        if found is None:
            raise ModelContradicted(
                "The largest entropy is not inside: some combination of features has its largest mean in the data. "
                'Take objective="likelihood" with an engine and a prior.'
            )
        return found

    def _state(self, number: int, solved: EntropyPoint, turned: float) -> EntropyState:
        program, weights = self.program, solved.multipliers[: self.linear.size]
        means = np.asarray(program.features.T @ program.beliefs(solved.moments))
        value = -self.repeats * program.entropy(solved.moments) if number else math.nan
        return EntropyState(number, weights, value, self.linear - self.repeats * means, solved, turned)
