"""The ways to make steps of EM: their base, those that complete cases otherwise, and those that go part by part."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from plausible.base import Checked, Floats, Ints, unless, whole
from plausible.cpds import TableCPD
from plausible.data.table import TableLike
from plausible.errors import NotSupported, counted
from plausible.inference.engines import Engine, check_engine
from plausible.inference.variational.mean_field import MeanField
from plausible.learn.incomplete.approximate_expectations import HardExpectations, mean_field_expectations
from plausible.learn.incomplete.cases import Cases, IncompleteRows, completions_of
from plausible.learn.incomplete.cases_in_pieces import PiecewiseExpectations
from plausible.learn.incomplete.expectations import (
    ExactExpectations,
    Expectations,
    ExpectationStep,
    compile_cases,
    impossible_case,
)
from plausible.learn.incomplete.problem import EMMethod, EMProblem, EMState, expected_log_likelihood, refuse_numbers
from plausible.models import BayesianNetwork

#: Smaller counts are taken as zero: over their sum they might underflow to a probability of zero, and F to -inf.
_SMALLEST = 1e-290


def exact_step(problem: EMProblem, method: str) -> ExactExpectations | PiecewiseExpectations:
    """The E-step, which must be exact, and of states only."""
    refuse_numbers(problem.cases, method)
    step = problem.expectation
    if isinstance(step, PiecewiseExpectations) and step.make is ExactExpectations:
        return step
    if not isinstance(step, ExactExpectations):
        raise NotSupported(f"{method} needs exact expectations: leave engine= out, or take another method=.")
    return step


@dataclass(frozen=True, slots=True)
class HardEM(EMMethod):
    """Complete each case by its most probable states, then count: max over θ and h of log P(observed, h | θ).

    This objective never falls; completions are finitely many, so that it stops rising after finitely many steps
    (Koller & Friedman 2009, section 19.2.2.6). It is faster and makes sharper clusters than EM, whose answer it has
    where completions are certain. What the fit calls `log_likelihood` is that of the completed cases.

    >>> from plausible.learn.incomplete.em import learn_em
    >>> fit = learn_em("H -> x; H -> y", {"x": [0, 0, 1, 1], "y": [0, 0, 1, 1]}, hidden={"H": 2}, method="hard")
    >>> fit.stopped_by, round(fit.log_likelihood, 4)
    ('converged', -2.7726)
    """

    def expectation_step(
        self, cases: IncompleteRows, engine: Engine | None = None, learned_from: IncompleteRows | None = None
    ) -> ExpectationStep:
        """Most probable completions."""
        refuse_numbers(cases, "Hard EM")
        if engine is not None:
            raise NotSupported("Hard EM finds most probable completions by itself: leave engine= out.")
        return cases.completed_by(HardExpectations)


@dataclass(frozen=True, slots=True)
class VariationalEM(EMMethod, Checked, sweeps=unless(None, whole(1))):
    """Mean-field EM: θ and one Q for each case in turn raise F = E_Q[ℓ] + H(Q), a lower bound of the log-likelihood.

    Q treats variables, or blocks of them, as independent given what is observed, so that M̄[x, u] is a sum of products
    of beliefs (Koller & Friedman 2009, section 19.2.4.2). Each case keeps beliefs of its own from step to step, so that
    the bound never falls. For networks whose clique trees are too large: with Q in one block this is EM. The trace, and
    the log-likelihood of the fit, tell F.

    Cost of a step: some sweeps of mean field, cases with the same cells missing together; one different case after the
    other where the engine has blocks of several variables.

    >>> from plausible.learn.incomplete.em import learn_em
    >>> rows = {"x": [0, 0, 1, 1], "y": [0, 0, 1, 1], "z": [0, 0, 1, 1]}
    >>> fit = learn_em("H -> x; H -> y; H -> z", rows, hidden={"H": 2}, method="variational")
    >>> round(fit.log_likelihood, 3)
    -2.773
    """

    #: Its blocks, tolerance and restarts; restarts count before the first step only.
    engine: MeanField = field(default_factory=MeanField)
    #: At most so many sweeps a step: a partial E-step. All that the engine wants where left out.
    sweeps: int | None = None

    def init(self, problem: EMProblem, network: BayesianNetwork) -> EMState:
        """The best beliefs that the engine finds at the start."""
        check_engine(self.engine, network.variables)
        cases = problem.cases.in_memory("VariationalEM")
        found, beliefs = mean_field_expectations(self.engine, network, cases, None, self.sweeps)
        return problem.at(network, expectations=found, memory=beliefs)

    def step(self, problem: EMProblem, state: EMState) -> EMState:
        """One M-step, then sweeps from the beliefs before."""
        network, kept = problem.maximized(state)
        before = state.memory if isinstance(state.memory, tuple) else None  # a state of another method has none
        cases = problem.cases.in_memory("VariationalEM")
        found, beliefs = mean_field_expectations(self.engine, network, cases, before, self.sweeps)
        return problem.at(network, kept, state, found, beliefs)


class _Blocks(NamedTuple):
    """What each block of cases was found to be like when it was last looked at."""

    steps: tuple[ExactExpectations, ...]  # the E-step of each
    counts: tuple[Mapping[str, Floats], ...]  # of each, name -> expected counts
    entropies: tuple[float, ...]  # of each, H(Q)
    bounds: tuple[float, ...] = ()  # F and the log-prior after each block of the last pass


@dataclass(frozen=True, slots=True)
class IncrementalEM(EMMethod, Checked, num_blocks=whole(1)):
    """Cases in blocks: complete one block, put its new counts in place of its old ones, make an M-step, and go on.

    M̄ ← M̄ - M̄_block(before) + M̄_block(now), then θ_{x|u} = M̄[x, u] / M̄[u]. (Algorithm 19.4 of Koller & Friedman 2009
    divides by M[u], a misprint.) What never falls, block by block, is F = E_Q[ℓ] + H(Q), where Q completes each block
    by the network of its own time (Neal & Hinton 1998): a lower bound of the log-likelihood, which may fall for a
    while; both meet at the end. The trace tells F, and so does the log-likelihood of the fit.

    Cost of a step, which is a pass over all blocks: one E-step, and an M-step for each block. Memory: a set of tables
    for each block.

    >>> from plausible.learn.incomplete.em import learn_em
    >>> rows = {"rain": ["no", "yes", None, "no"], "grass": ["dry", "wet", "wet", None]}
    >>> round(learn_em("rain -> grass", rows, method=IncrementalEM(num_blocks=2)).log_likelihood, 3)
    -2.773
    """

    #: How many blocks; each has about as many different cases. With as many blocks as cases, one case at a time.
    num_blocks: int = 10

    def init(self, problem: EMProblem, network: BayesianNetwork) -> EMState:
        """All blocks completed by the start."""
        exact_step(problem, "IncrementalEM")
        cases = problem.cases.in_memory("IncrementalEM")
        mixed = np.random.default_rng(0).permutation(cases.num_cases)  # alike cases apart, which are sorted together
        parts = np.array_split(mixed, min(self.num_blocks, max(1, cases.num_cases)))
        steps = tuple(ExactExpectations(cases.some(part)) for part in parts)
        found = [some.at(network) for some in steps]
        entropies = tuple(_entropy(network, some) for some in found)
        return replace(problem.at(network), memory=_Blocks(steps, tuple(some.counts for some in found), entropies))

    def step(self, problem: EMProblem, state: EMState) -> EMState:
        """One pass over all blocks, an M-step before each."""
        memory, maximization = state.memory, problem.maximization
        assert isinstance(memory, _Blocks)
        counts, entropies, bounds = list(memory.counts), list(memory.entropies), []
        # summed anew for each pass, so that rounding does not pile up
        totals = {name: np.sum([some[name] for some in counts], axis=0) for name in counts[0]}
        network, kept = state.network, state.kept_rows
        for block, some in enumerate(memory.steps):
            network, kept = maximization.network(totals, network)
            found = some.at(network)
            totals = {name: np.maximum(totals[name] - counts[block][name], 0.0) + found.counts[name] for name in totals}
            totals = {name: np.where(table > _SMALLEST, table, 0.0) for name, table in totals.items()}
            counts[block], entropies[block] = found.counts, _entropy(network, found)
            expected = expected_log_likelihood(network, Expectations(0.0, np.empty(0), totals))
            bounds.append(expected + sum(entropies) + maximization.log_prior(network))
        log_likelihood = bounds[-1] - maximization.log_prior(network)
        expectations = Expectations(log_likelihood, np.empty(0), totals, is_exact=False)
        after = _Blocks(memory.steps, tuple(counts), tuple(entropies), tuple(bounds))
        return EMState(network, expectations, bounds[-1], state.num_steps + 1, kept, memory=after)


def _entropy(network: BayesianNetwork, found: Expectations) -> float:
    """H(Q) = ℓ - E_Q[ℓ] where Q is the posterior under the network."""
    return found.log_likelihood - expected_log_likelihood(network, found)


@dataclass(frozen=True, slots=True, eq=False)
class FrozenFamily:
    """How likely each case is, as a linear function of one table: P(case) = Σ_{x,u} w_case[x, u] θ_{x|u}.

    The weights w are what all other distributions say, so that any number of steps of EM on this table cost no
    inference (Koller & Friedman 2009, exercise 19.15). Made by `FrozenFamily.of`.

    >>> coin = BayesianNetwork(TableCPD("coin", [0.5, 0.5]), TableCPD("call", [[0.9, 0.1], [0.2, 0.8]], ["coin"]))
    >>> frozen = FrozenFamily.of(coin, "coin", {"call": [0, 0, 1]})
    >>> frozen.learned(coin.cpd("coin").values, num_steps=1000).round(4)
    array([0.6667, 0.3333])
    """

    name: str  # Whose distribution θ is
    shape: tuple[int, ...]  # That of θ: axes (parents..., child)
    weights: Floats  # How much each case weighs
    #: Of each case, a logarithm taken out of its w; that of P(case) where the variable was set from outside.
    offsets: Floats
    #: The entries of w that are not zero: which case, which entry of θ, and w over exp(offset).
    entry_cases: Ints
    entry_places: Ints
    entry_weights: Floats

    @classmethod
    def of(cls, network: BayesianNetwork, name: str, data: TableLike | Cases) -> FrozenFamily:
        """Work out w, the distribution of `name` left open: log P of each case with each state of the family."""
        cases = Cases.of(network.variables, data)
        cpd = network.cpd(name)
        shape = tuple(variable.num_states for variable in cpd.scope)
        columns = [list(cases.variables).index(variable.name) for variable in cpd.scope]
        case, family = completions_of(cases.codes[:, columns], shape)
        places, codes = np.ravel_multi_index(tuple(family.T), shape), cases.codes[case]
        codes[:, columns] = family
        expanded = replace(cases, codes=codes, weights=cases.weights[case], settings=cases.settings[case])
        open_network = network.with_cpd(TableCPD.uniform(cpd.variable, cpd.parents))
        compiled, logs = compile_cases(open_network, expanded), np.zeros(len(codes))
        tables = [cpd.to_factor().values for cpd in open_network.cpds.values()]
        for set_names, (rows, ready) in zip(cases.setting_names, compiled.rows, strict=True):
            logs[rows] = ready.answer(compiled.sources(tables, (*set_names, name))).log_totals
        offsets = np.full(cases.num_cases, -np.inf)
        np.maximum.at(offsets, case, logs)
        if np.isneginf(offsets).any():
            raise impossible_case(open_network, cases, int(np.argmin(offsets)))
        is_set = cases.is_set(name)
        counted = ~is_set[case] & ~np.isneginf(logs)
        entries = np.exp(logs - offsets[case])
        summed = np.bincount(case, entries, cases.num_cases)
        offsets[is_set] += np.log(summed[is_set])
        return cls(name, shape, cases.weights, offsets, case[counted], places[counted], entries[counted])

    def __repr__(self) -> str:
        return f"<FrozenFamily: {self.name!r} with shape {self.shape}, {counted(len(self.weights), 'case')}>"

    def at(self, table: Floats) -> tuple[float, Floats]:
        """The log-likelihood with a table, which has axes (parents..., child), and the expected counts under it."""
        terms = self.entry_weights * table.ravel()[self.entry_places]
        num_cases = len(self.weights)
        totals = np.bincount(self.entry_cases, terms, num_cases)
        is_free = np.bincount(self.entry_cases, minlength=num_cases) > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(is_free, np.log(totals), 0.0) + self.offsets
            shares = self.weights[self.entry_cases] * terms / totals[self.entry_cases]
        counts = np.bincount(self.entry_places, np.nan_to_num(shares), math.prod(self.shape))
        return float(self.weights @ logs), np.asarray(counts, dtype=np.float64).reshape(self.shape)

    def learned(
        self, start: Floats, exponents: Floats | float = 0.0, num_steps: int = 100, tolerance: float = 1e-10
    ) -> Floats:
        """The table after steps of EM on it alone, at most so many, fewer where no entry changes by more.

        Rows of which nothing is expected stay as they are at the start; the prior is Π θ^exponents.
        """
        table = np.asarray(start, dtype=np.float64).reshape(self.shape)
        for _ in range(num_steps):
            before, weights = table, np.maximum(self.at(table)[1] + exponents, 0.0)
            totals = weights.sum(axis=-1, keepdims=True)
            table = np.where(totals > 0, weights / np.where(totals > 0, totals, 1.0), before)
            if np.abs(table - before).max(initial=0.0) <= tolerance:
                break
        return table


@dataclass(frozen=True, slots=True)
class FamilyEM(EMMethod, Checked, inner_steps=whole(1)):
    """One distribution after the other, each with expectations under all that were learned before it.

    The log-likelihood does not fall, distribution by distribution (Koller & Friedman 2009, box 19.C). A table of its
    own is taken through several steps with the others frozen; see `FrozenFamily`. Tied tables and other kinds make one
    ordinary step.

    Cost of a step, which goes through all distributions: one E-step for each of them.

    >>> from plausible.learn.incomplete.em import learn_em
    >>> rows = {"rain": ["no", "yes", None, "no"], "grass": ["dry", "wet", "wet", None]}
    >>> round(learn_em("rain -> grass", rows, method=FamilyEM()).log_likelihood, 3)
    -2.773
    """

    inner_steps: int = 3  # The steps of EM on a table before the next one's turn

    def step(self, problem: EMProblem, state: EMState) -> EMState:
        """Each distribution in turn."""
        exact_step(problem, "FamilyEM")
        network, maximization, cases = state.network, problem.maximization, problem.cases.in_memory("FamilyEM")
        for name, exponents in maximization.exponents.items():
            users = maximization.sharing(name)
            if len(users) == 1:
                start = network.cpd(name).to_factor().values.reshape(exponents.shape)
                frozen = FrozenFamily.of(network, name, cases)
                table = frozen.learned(start, exponents, self.inner_steps, 0.0)
                network = maximization.with_tables(network, {name: table})
            else:
                network = _updated(problem, network, users)
        for name in maximization.learners:
            network = _updated(problem, network, [name])
        after = problem.at(network, before=state)
        return replace(after, kept_rows=problem.maximized(after).kept_rows)


def _updated(problem: EMProblem, network: BayesianNetwork, names: list[str]) -> BayesianNetwork:
    """The network with some distributions from an ordinary M-step."""
    learned = problem.maximized(problem.at(network)).network
    return BayesianNetwork([learned.cpd(name) if name in names else cpd for name, cpd in network.cpds.items()])
