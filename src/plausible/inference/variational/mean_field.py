"""Mean field: the best beliefs that treat blocks of variables as independent, with a lower bound on log Z."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from plausible.base import Floats, QueryInfo, check_number, read_blocks, set_counts
from plausible.engine.run import Semiring, Workspace
from plausible.errors import ImpossibleEvidence
from plausible.factors import Factor
from plausible.inference.approximate import Beliefs, ResumableEngine
from plausible.inference.compiled import compile_factors
from plausible.inference.engine_bases import IterativeEngine
from plausible.inference.estimates import Estimate
from plausible.inference.problem import Problem
from plausible.inference.variational.mean_field_plan import (
    Group,
    MeanFieldPlan,
    first_beliefs,
    plan_mean_field,
    tied_by_zeros,
)
from plausible.kernels.mean_field import expected_log, gather, update_singles
from plausible.search.run import Run
from plausible.variables import Evidence, Variable

_NAME = "mean field"

#: The exponentials of numbers from minus this to zero are floats with all digits.
_MAX_SPAN = 700.0


@dataclass(frozen=True, slots=True, eq=False)
class MeanFieldState:
    """All that the next step needs; it can be pickled, so that a run can be stored and taken up again."""

    plan: MeanFieldPlan  # how the problem falls apart into blocks
    #: q about each piece, that is each set of variables in which a factor touches a block, one after the other.
    beliefs: Floats
    #: For the states of each piece, Σ E[log φ | state] over the factors that touch it, when its block was updated.
    potentials: Floats
    gains: Floats  # for each block of several variables, its entropy and its expected log factors of its own
    energy: float = -math.inf  # the lower bound on log Z, `problem.log_scale` left out; -inf before the first step
    rounding: float = 0.0  # a generous measure of what rounding can have done to it
    num_steps: int = 0  # the steps taken
    residual: float = math.inf  # the largest change of a belief in the last step
    converged: bool = False  # whether that was within the tolerance


@dataclass(frozen=True, slots=True)
class MeanField(ResumableEngine[MeanFieldState]):
    """Naive or structured mean field: approximate beliefs, and a lower bound on log Z (Saul & Jordan 1996).

    Coordinate ascent (Koller & Friedman 2009, §11.5) looks, among all q = Π_B q_B over blocks of variables, for the one
    with the largest energy functional

        F[q] = Σ_φ E_q[log φ] + Σ_B H(q_B)  <=  log Z,

    where log Z - F[q] is the relative entropy of q to the true distribution. With the other blocks fixed, the best q_B
    is

        q_B ∝ Π_{φ in B} φ · Π_{φ across} exp E_{q of the others}[log φ],

    so each update raises the bound. Each block is a clique tree over these factors, so a chain or a tree costs only its
    tables; a step updates every block once, and costs the entries of each factor times its number of variables besides.
    Zeros are exact: q never leaves the support of the product. The beliefs tend to be overconfident.

    Parameters
    ----------
    blocks
        Groups of variables that are treated jointly; a variable in no group is a block by itself. Without blocks this
        is naive mean field; with all variables in one block it is exact.
    tolerance
        Stop when no belief changes by more than this in a step.

    Examples
    --------
    >>> a, b, c = ("A", 2), ("B", 2), ("C", 2)
    >>> ties = [Factor(dict(pair), [[2, 1], [1, 2]]) for pair in ((a, b), (b, c))]
    >>> nothing = Evidence.read({}, {})
    >>> MeanField().log_total(ties, nothing)
    2.7725... (at least 2.7725..., by mean field)
    >>> MeanField(blocks=[["A", "B", "C"]]).log_total(ties, nothing)  # log 18
    2.8903... (at least 2.8903..., at most 2.8903..., by structured mean field)
    """

    blocks: Sequence[Sequence[str]] | None = None
    restarts: int = 0
    tolerance: float = 1e-8
    max_steps: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        set_counts(self, restarts=0, max_steps=1, seed=0)
        check_number("tolerance", self.tolerance, least=0)
        object.__setattr__(self, "blocks", read_blocks(self.blocks))

    @property
    def mentioned(self) -> tuple[str, ...]:
        """The names of variables that its options mention."""
        return tuple(name for block in self.blocks or () for name in block)

    def init(self, problem: Problem, restart: int = 0) -> MeanFieldState:
        """Where a run begins; raises `ImpossibleEvidence` where zeros are found to leave no assignment."""
        return self._start(problem, self._plan(problem), restart)

    def _start(self, problem: Problem, plan: MeanFieldPlan, restart: int) -> MeanFieldState:
        generator = np.random.default_rng([self.seed, restart])
        beliefs = first_beliefs(problem, plan, generator, restart)
        return MeanFieldState(plan, beliefs, np.zeros_like(beliefs), np.full(len(plan.groups), -math.inf))

    def step(self, problem: Problem, state: MeanFieldState) -> MeanFieldState:
        """Update every block once: the energy never falls."""
        plan = state.plan
        beliefs, potentials, gains = state.beliefs.copy(), state.potentials.copy(), state.gains.copy()
        residual, magnitude = 0.0, 0.0
        for number, group in enumerate(plan.groups):
            log_total, inside, change = _update_group(plan, group, beliefs, potentials)
            gains[number] = log_total - inside  # H(q_B) + Σ_{φ in B} E[log φ]
            residual, magnitude = max(residual, change), magnitude + abs(log_total) + abs(inside)
        change = update_singles(len(plan.singles), *plan.ties, beliefs, potentials)
        if change < 0:
            raise ImpossibleEvidence.outright()
        residual = max(residual, change)
        alone = beliefs[: plan.starts[len(plan.singles)]]
        positive, expected = alone[alone > 0], expected_log(*plan.ties[3:], beliefs)
        entropy = -float(positive @ np.log(positive))
        magnitude += abs(expected) + entropy  # of all terms, of which there is one for each entry of each factor
        rounding = (100 + math.sqrt(len(plan.logs))) * magnitude + 4 * len(plan.links)
        return replace(
            state,
            beliefs=beliefs,
            potentials=potentials,
            gains=gains,
            energy=expected + entropy + float(gains.sum()),
            rounding=float(np.finfo(np.float64).eps) * rounding,
            num_steps=state.num_steps + 1,
            residual=residual,
            converged=residual <= self.tolerance,
        )

    def run(
        self,
        problem: Problem,
        start: MeanFieldState | Run[MeanFieldState] | None = None,
        progress: Callable[[MeanFieldState], object] | None = None,
    ) -> Run[MeanFieldState]:
        """Steps until nothing changes: from a start, or from all that `restarts` asks for, of which the best counts."""
        if start is not None:
            return IterativeEngine.run(self, problem, start, progress)
        plan, runs = self._plan(problem), list[Run[MeanFieldState]]()
        for number in range(self.restarts + 1):
            runs.append(IterativeEngine.run(self, problem, self._start(problem, plan, number), progress))
            if runs[-1].stopped_by == "interrupted":
                break
        return max(runs, key=lambda run: run.state.energy)

    def beliefs_from(self, problem: Problem, state: MeanFieldState, groups: Sequence[tuple[int, ...]]) -> Beliefs:
        """The product of what the blocks believe of their variables in each group."""
        plan = state.plan
        owners = {place: number for number, block in enumerate(plan.groups) for place in block.variables}
        parts = [_by_owner(group, owners) for group in groups]
        wanted: dict[int, list[tuple[int, ...]]] = {}
        for cut in parts:
            for owner, part in cut:
                wanted.setdefault(owner, []).append(part)
        known = {
            (owner, part): table
            for owner, some in wanted.items()
            for part, table in zip(some, _block_joints(problem, plan, state, owner, some), strict=True)
        }
        tables = []
        for group, cut in zip(groups, parts, strict=True):
            table = reduce(np.multiply.outer, [known[part] for part in cut], np.ones(()))
            axes = [place for _, part in cut for place in part]
            tables.append(np.asarray(table.transpose([axes.index(place) for place in group])))
        return Beliefs(tuple(tables), self._info(problem, state))

    def estimate(self, problem: Problem) -> Estimate:
        """The energy functional, a lower bound on log Z."""
        try:
            state = self.run(problem).state
        except ImpossibleEvidence:
            return Estimate.within(-math.inf, QueryInfo(_NAME))
        plan, value, margin = state.plan, state.energy + problem.log_scale, state.rounding + problem.scale_rounding
        upper = value + margin if plan.is_exact else math.inf
        return Estimate(value, self._info(problem, state), lower=value - margin, upper=upper, is_bound=True)

    def _plan(self, problem: Problem) -> MeanFieldPlan:
        return plan_mean_field(problem, tuple(tuple(block) for block in self.blocks or ()))

    def _advice(self, problem: Problem, state: MeanFieldState) -> str:
        if state.plan.is_exact:
            return ""
        if not state.converged:
            return f"Raise max_steps={self.max_steps}: beliefs still change by {state.residual:.1g} a step."
        if certain := tied_by_zeros(problem, state.plan, state.beliefs):
            return (
                f"Zeros in the factor over {certain.scope} leave beliefs that treat these variables as independent no "
                f"choice but to be certain of some states. Keep them together: blocks={certain.blocks}."
            )
        blocks = "Put more variables into the blocks=" if self.blocks else "Put strongly tied variables into blocks="
        return f"{blocks}, or raise restarts=; TreeReweightedBP() bounds log Z from the other side."

    def _info(self, problem: Problem, state: MeanFieldState) -> QueryInfo:
        plan = state.plan
        return QueryInfo(
            f"structured {_NAME}" if plan.groups else _NAME,
            exact=plan.is_exact,
            converged=state.converged or plan.is_exact,
            error=0.0 if plan.is_exact else None,
            cost=len(plan.logs) + sum(group.program.num_entries for group in plan.groups),
            largest_table=int(max([0, *plan.links[:, 1], *(group.program.entries.max() for group in plan.groups)])),
            num_steps=state.num_steps,
            residual=state.residual,
            advice=self._advice(problem, state),
        )


def _update_group(plan: MeanFieldPlan, group: Group, beliefs: Floats, potentials: Floats) -> tuple[float, float, float]:
    """Write a group's new potentials and beliefs: log Σ Π ψ, the expectation of its potentials, the largest change."""
    gather(group.first, group.last, *plan.ties, beliefs, potentials)
    ends = slice(plan.starts[group.first], plan.starts[group.last])
    inner = [plan.logs[start : start + size] for start, size in plan.links[list(group.inner), :2].tolist()]
    sources = np.concatenate([*inner, potentials[ends]])
    workspace = Workspace.of(group.program, np.empty(0), Semiring.LOG_SUM)
    workspace.buffers.store[: len(sources)] = sources  # as logarithms, which exponentials might not survive
    log_total = workspace.collect({})
    if log_total == -math.inf:
        raise ImpossibleEvidence.outright()
    before = beliefs[ends].copy()
    if group.first < group.last:
        workspace.distribute()
        # What a calibrated group believes of its pieces, one after the other.
        numbers = {place: number for number, place in enumerate(group.variables)}
        pieces = [[numbers[place] for place in piece] for piece in plan.pieces[group.first : group.last]]
        alone = iter(workspace.marginals([piece[0] for piece in pieces if len(piece) == 1]))
        tables = [
            next(alone) if home < 0 else workspace.joint(home, piece).ravel()
            for piece, home in zip(pieces, group.homes, strict=True)
        ]
        beliefs[ends] = np.concatenate(tables)
    now = beliefs[ends]
    expected = float(np.multiply(now, potentials[ends], out=np.zeros_like(now), where=now > 0).sum())
    return log_total, expected, float(np.abs(now - before).max(initial=0.0))


def _by_owner(group: Sequence[int], owners: dict[int, int]) -> list[tuple[int, tuple[int, ...]]]:
    """The variables of a group by blocks: those of several variables by number, -1 with each that stands alone."""
    parts: dict[int, list[int]] = {}
    for place in group:
        parts.setdefault(owners.get(place, -1 - place), []).append(place)
    return [(max(owner, -1), tuple(part)) for owner, part in parts.items()]


def _block_joints(
    problem: Problem, plan: MeanFieldPlan, state: MeanFieldState, owner: int, parts: Sequence[tuple[int, ...]]
) -> list[Floats]:
    """What a block believes of some of its variables; owner -1 stands for all that stand alone."""
    if owner < 0:
        pieces = {place: piece for piece, place in enumerate(plan.singles)}
        return [state.beliefs[plan.starts[pieces[p]] : plan.starts[pieces[p] + 1]].copy() for (p,) in parts]
    group = plan.groups[owner]
    factors = [
        _centred(problem.factors[f].scope, plan.logs[slice(*problem.table_starts[f : f + 2])]) for f in group.inner
    ]
    for piece in range(group.first, group.last):
        ends = slice(plan.starts[piece], plan.starts[piece + 1])
        # States that the block itself rules out must not set the scale.
        logs = np.where(state.beliefs[ends] > 0, state.potentials[ends], -math.inf)
        scope = [problem.variables[place] for place in plan.pieces[piece]]
        factors.append(_centred(scope, logs))
    compiled = compile_factors(factors, [problem.variables[place] for place in group.variables])
    scopes = [[problem.variables[place] for place in part] for part in parts]
    return [joint.normalize().values for joint in compiled.joints(scopes, Evidence.read({}, {}))]


def _centred(scope: Sequence[Variable], logs: Floats) -> Factor:
    """A factor up to a scale: its peak at one, or far above where small entries need the room."""
    finite = logs[logs > -math.inf]
    shift = finite.max() if np.ptp(finite) < _MAX_SPAN else (finite.max() + finite.min()) / 2
    return Factor.from_flat(scope, np.exp(logs - shift))
