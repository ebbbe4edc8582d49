"""Draws of parameters given rows with missing cells: what they say, what they predict, how far they can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import attrgetter

import numpy as np

from plausible.base import Floats, Ints, Seed, check_count, generator_of
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable, counted, suggestion
from plausible.factors import Factor
from plausible.inference.compiled import CompiledFactors
from plausible.inference.sampling.chain_diagnostics import (
    MAX_R_HAT,
    ChainDiagnostics,
    diagnose,
    effective_sample_size,
    r_hat,
    told_r_hat,
)
from plausible.learn.bayesian.completion_problem import CompletionProblem
from plausible.learn.bayesian.samplers import (
    BlockMetropolis,
    CellGibbs,
    CollapsedCellGibbs,
    ParameterSampler,
    ParameterState,
    ParameterWalk,
    PriorWeighting,
    RowGibbs,
)
from plausible.learn.estimation.priors import Interval, PriorLike
from plausible.learn.incomplete.cases import Cases
from plausible.models import BayesianNetwork
from plausible.search.chains import ChainLengths, ChainProgress, ChainRun, HasChains, run_chains
from plausible.variables import Evidence, EvidenceLike, Variable


def align_states(problem: CompletionProblem, draws: Floats, reference: Floats) -> Ints:
    """For each draw (a row of flat tables) the entries that stand at each place once hidden states are in order.

    One hidden variable after the other: its states are matched with those of the reference so that the squared distance
    of all tables with an axis for it is least (an assignment problem: K³ for each draw).
    """
    from scipy.optimize import linear_sum_assignment

    order = np.tile(np.arange(draws.shape[1]), (len(draws), 1))
    for name in problem.cases.hidden:
        moved, size = np.take_along_axis(draws, order, axis=1), problem.tables.variables[name].num_states
        # (draws, K, K): the squared distance of state i of the reference and state j of each draw
        costs = np.zeros((len(draws), size, size))
        for part, shape, axis in _families(problem, name):
            mine = np.moveaxis(moved[:, part].reshape(-1, *shape), axis + 1, 1).reshape(len(draws), size, -1)
            wanted = np.moveaxis(reference[part].reshape(shape), axis, 0).reshape(size, -1)
            costs += ((wanted[None, :, None, :] - mine[:, None, :, :]) ** 2).sum(axis=-1)
        states = np.array([linear_sum_assignment(cost)[1] for cost in costs]).reshape(len(draws), size)
        # (draws, entries): what comes to each place where state i of the variable is what was `states[:, i]`
        places = np.tile(np.arange(draws.shape[1]), (len(draws), 1))
        for part, shape, axis in _families(problem, name):
            inside = np.moveaxis(places[:, part].reshape(-1, *shape), axis + 1, 1)
            picks = states.reshape(*states.shape, *([1] * (inside.ndim - 2)))
            picked = np.take_along_axis(inside, np.broadcast_to(picks, inside.shape), axis=1)
            places[:, part] = np.moveaxis(picked, 1, axis + 1).reshape(len(states), -1)
        order = np.take_along_axis(order, places, axis=1)
    return order


def _families(problem: CompletionProblem, name: str) -> Iterator[tuple[slice, tuple[int, ...], int]]:
    """Of each family with a variable where its table is, the shape of it, and the axis of the variable."""
    tables = problem.tables
    for family in tables.touching[name]:
        yield tables.part(family), tables.shapes[family], (*tables.parents[family], family).index(name)


_LOW_ACCEPTANCE = 0.05  # Proposals that are taken less often hardly move a chain

_FEWEST_IN_CHAIN = 4  # Shorter chains tell nothing of themselves

_FEWEST = 100  # Weighted draws that are worth fewer say little


@dataclass(frozen=True, eq=False)
class ParameterDraws(HasChains):
    """Draws of P(θ | rows with missing cells); made by `sample_parameters`.

    It is an `uncertainty=` of `query`: error bars are those of the draws.

    States of a hidden variable may be renamed without any change of the data's probability, so that the posterior has
    a mode for each order of them. Predictions do not depend on the order. Tables of families with a hidden variable
    do: their means are of all orders that the chains visited, until `aligned()` has brought draws into one.
    """

    problem: CompletionProblem  # The data and the prior
    sampler: ParameterSampler  # How draws were made
    tables: Floats  # (chains, draws, entries): θ
    #: (chains, draws, entries): E[θ | completed rows] where chains have completions, which has less noise; else θ.
    means: Floats
    log_posteriors: Floats  # (chains, draws): see `ParameterState`, as for the weights
    log_weights: Floats
    #: Name -> the share of proposals for its table, or its cells, that were taken; none where nothing is refused.
    acceptance: Mapping[str, float]
    run: ChainRun[ParameterState]  # How the chains went; its last `states` can be given to `sample_parameters` to go on

    @cached_property
    def weights(self) -> Floats:
        """(chains, draws): what each draw weighs; one in all."""
        weights = np.exp(self.log_weights - self.log_weights.max())
        return np.asarray(weights / weights.sum())

    def mean(self, name: str) -> Floats:
        """The posterior mean of the table of a variable, with axes (parents..., child)."""
        return self._table(np.tensordot(self.weights, self.means, axes=2), name)

    def standard_deviation(self, name: str) -> Floats:
        """The posterior standard deviation of each entry of a table."""
        first = np.tensordot(self.weights, self.tables, axes=2)
        return self._table(np.sqrt(np.tensordot(self.weights, (self.tables - first) ** 2, axes=2)), name)

    def interval(self, name: str, level: float = 0.95) -> Interval:
        """The credible interval of each entry of a table: quantiles of the draws, as much above as below."""
        if not 0 < level < 1:
            raise InvalidArgument(f"The level of an interval is between 0 and 1, such as 0.95, not {level!r}.")
        draws, weights = self.draws(name), self.weights.ravel()
        flat = draws.reshape(len(weights), -1)
        order = flat.argsort(axis=0)
        summed = np.cumsum(weights[order], axis=0)
        ends = []
        for tail in ((1 - level) / 2, (1 + level) / 2):
            place = np.minimum((summed < tail).sum(axis=0), len(weights) - 1)
            ends.append(flat[order[place, np.arange(flat.shape[1])], np.arange(flat.shape[1])].reshape(draws.shape[2:]))
        return Interval(*ends)

    def draws(self, name: str) -> Floats:
        """(chains, draws, parents..., child): the drawn tables of a variable."""
        return self._table(self.tables, name)

    def network(self) -> BayesianNetwork:
        """The network of posterior means; it predicts as `log_predictive` but for dependence between tables."""
        return self.problem.network(np.tensordot(self.weights, self.means, axes=2))

    @property
    def estimated(self) -> frozenset[str]:
        """None: all that is uncertain was drawn."""
        return frozenset()

    def variance_along(self, slopes: Mapping[str, Floats]) -> float:
        """The variance over draws of Σ slope · θ: what error bars of `query(..., uncertainty=draws)` need."""
        moved = np.zeros(self.weights.shape)
        for name, slope in slopes.items():
            moved += np.tensordot(self.draws(name), slope, axes=slope.ndim)
        return float((self.weights * (moved - (self.weights * moved).sum()) ** 2).sum())

    def aligned(self) -> ParameterDraws:
        """The same draws, the states of hidden variables put into the order that is nearest to the best draw.

        By least squares over the tables of their families (Stephens 2000), one hidden variable after the other. What is
        near depends on the draws: where clusters overlap, aligned tables look more certain than they are.
        """
        best = np.unravel_index(self.log_posteriors.argmax(), self.log_posteriors.shape)
        flat = self.tables.reshape(-1, self.tables.shape[2])
        order = align_states(self.problem, flat, self.tables[best]).reshape(self.tables.shape)
        tables, means = (np.take_along_axis(drawn, order, axis=2) for drawn in (self.tables, self.means))
        return replace(self, tables=tables, means=means)

    def log_predictive(self, data: TableLike, *, max_draws: int = 200) -> Floats:
        """log P(row | all data) of each row as the next one, missing cells summed out: the mean over draws.

        Each of the `max_draws` evenly spaced draws costs a pass; what was set from outside is not charged for.
        """
        cases = Cases.of(self.problem.tables.variables, data)
        if (cases.case_of_row < 0).any():
            raise InvalidArgument("Some rows weigh nothing: leave them out.")
        total, chosen = np.full(cases.num_cases, -np.inf), self._chosen(max_draws)
        for place, set_names in enumerate(cases.setting_names):
            here = np.flatnonzero(cases.settings == place)
            rows = self.problem.tree.prepared_rows(cases.codes[here])
            for log_weight, tables in chosen:
                answers = rows.answer(self.problem.sources(tables, set_names))
                total[here] = np.logaddexp(total[here], log_weight + answers.log_totals)
        return np.asarray(total[cases.case_of_row])

    def predictive(self, target: str, evidence: EvidenceLike | None = None, *, max_draws: int = 200) -> Factor:
        """P(target | evidence, all data) in the next row: Σ P(target, evidence | θ) over Σ P(evidence | θ), over draws.

        At most `max_draws` of them, evenly spaced, are averaged.
        """
        variables = self.problem.tables.variables
        UnknownVariable.check(target, variables, "these draws")
        findings, tree = Evidence.read(evidence, variables), self.problem.tree
        total, scale = np.zeros(variables[target].num_states), -np.inf
        for log_weight, tables in self._chosen(max_draws):
            drawn = CompiledFactors(tree.factors, tree.variables, tree.program, tables, tree.info, tree.budget)
            log_chance = log_weight + drawn.log_total(findings)
            peak = max(scale, log_chance)
            belief = drawn.joint([variables[target]], findings).values
            total, scale = total * np.exp(scale - peak) + np.exp(log_chance - peak) * belief, peak
        return Factor([variables[target]], total / total.sum())

    @property
    def log_marginal_likelihood(self) -> float:
        """log of the mean weight, which estimates log P(D); for `PriorWeighting` alone."""
        if not isinstance(self.sampler, PriorWeighting):
            raise NotSupported("Chains do not tell P(D): draw with PriorWeighting(), or take the bound of VB.")
        return float(np.logaddexp.reduce(self.log_weights.ravel()) - np.log(self.log_weights.size))

    @property
    def diagnostics(self) -> ChainDiagnostics:
        """R-hat and effective sizes of the log posterior along the chains; it does not depend on labels."""
        return diagnose(self.log_posteriors)

    @property
    def r_hats(self) -> dict[str, Floats]:
        """Name -> split R-hat of each entry of its table; without families of hidden variables, whose labels switch."""
        return {name: r_hat(self.draws(name)) for name in self._labelled}

    @property
    def effective_sample_size(self) -> float:
        """How many independent draws these are worth: 1 / Σ w² of weights, else the least of the entries of tables.

        The log posterior counts as an entry, families of hidden variables don't; NaN where chains are too short.
        """
        if self.log_weights.any():
            return float(1.0 / (self.weights**2).sum())
        if self.log_posteriors.shape[1] < _FEWEST_IN_CHAIN:
            return float("nan")
        sizes = [effective_sample_size(self.draws(name)).min() for name in self._labelled]
        return float(min([effective_sample_size(self.log_posteriors), *sizes]))

    @property
    def advice(self) -> str:
        """What to do where the draws are not to be trusted; "" where they are."""
        if self.log_weights.any():
            if self.effective_sample_size >= _FEWEST:
                return ""
            return (
                f"The weights make the draws worth {self.effective_sample_size:.1f}: the prior is too far from the "
                "posterior. Take CollapsedCellGibbs() or RowGibbs()."
            )
        refused = [name for name, share in self.acceptance.items() if share < _LOW_ACCEPTANCE]
        if refused:
            return (
                f"{refused[0]!r} took {self.acceptance[refused[0]]:.2g} of its proposals: the chains hardly moved. "
                f"{self.sampler.remedy}"
            )
        if self.log_posteriors.shape[1] < _FEWEST_IN_CHAIN:
            return (
                f"Chains of {self.log_posteriors.shape[1]} draws tell nothing of how far they can be trusted: draw at "
                f"least {_FEWEST_IN_CHAIN}, and rather hundreds."
            )
        worst = max([self.diagnostics.r_hat, *(float(ratios.max()) for ratios in self.r_hats.values())])
        if worst > MAX_R_HAT:
            return f"{told_r_hat(worst)}: the chains disagree. Draw more, or take RowGibbs(), which moves whole rows."
        return self.diagnostics.advice

    def __repr__(self) -> str:
        chains, draws = self.log_posteriors.shape
        return f"<ParameterDraws: {counted(chains, 'chain')} of {counted(draws, 'draw')} by {self.sampler!r}>"

    @property
    def _labelled(self) -> list[str]:
        """The variables in whose families nothing is hidden."""
        hidden, tables = set(self.problem.cases.hidden), self.problem.tables
        return [name for name in tables.variables if not hidden & {name, *tables.parents[name]}]

    def _table(self, flat: Floats, name: str) -> Floats:
        UnknownVariable.check(name, self.problem.tables.variables, "these draws")
        part, shape = self.problem.tables.part(name), self.problem.tables.shapes[name]
        return flat[..., part].reshape(flat.shape[:-1] + shape)

    def _chosen(self, most: int) -> list[tuple[float, Floats]]:
        """Draws, each with the log of its weight: all, or so many at evenly spaced places of the summed weights."""
        check_count("max_draws", most, 1)
        flat, weights = self.means.reshape(-1, self.means.shape[2]), self.weights.ravel()
        if most >= len(flat):
            picks = np.flatnonzero(weights)
            return list(zip(np.log(weights[picks]).tolist(), flat[picks], strict=True))
        places = np.searchsorted(np.cumsum(weights), (np.arange(most) + 0.5) / most)
        picks, counts = np.unique(np.minimum(places, len(flat) - 1), return_counts=True)
        return list(zip(np.log(counts / most).tolist(), flat[picks], strict=True))


#: Name -> sampler with its own options.
SAMPLERS: Mapping[str, ParameterSampler] = {
    "collapsed": CollapsedCellGibbs(),
    "rows": RowGibbs(),
    "cells": CellGibbs(),
    "blocks": BlockMetropolis(),
    "parameters": ParameterWalk(),
    "prior": PriorWeighting(),
}


def sample_parameters(
    graph: object,
    data: TableLike,
    prior: PriorLike = None,
    *,
    method: str | ParameterSampler = "collapsed",
    hidden: Mapping[str, int] | Iterable[Variable] = (),
    lengths: ChainLengths | None = None,
    start: Sequence[ParameterState] = (),
    seed: Seed = 0,
    progress: Callable[[ChainProgress[ParameterState]], object] | None = None,
    time_limit: float | None = None,
) -> ParameterDraws:
    """Draw the parameters of a network from P(θ | rows with missing cells).

    Missing cells are taken to be ignorable (missing at random). Of a completion, drawing needs counts alone, in time
    linear in the network; of parameters, the probability of all rows, which is exponential in the width of the graph.

    Parameters
    ----------
    graph, data
        A DAG, arrow text, or a network, which says which states its variables have; rows with missing cells.
    prior
        Of tables: one for all, or name -> prior, with positive pseudo-counts; `K2` unless given.
    method
        "collapsed" (completions, a cell at a time, parameters summed out), "rows" (parameters and whole rows in turn),
        "cells" (parameters and cells in turn), "blocks" (a column at a time, Metropolis-Hastings), "parameters" (a
        random walk, completions summed out), "prior" (weighted draws of the prior); or one of `CollapsedCellGibbs`,
        `RowGibbs`, `CellGibbs`, `BlockMetropolis`, `ParameterWalk`, `PriorWeighting` with options.
    hidden
        Variables of the graph that the data lack: name -> number of states, or variables.
    lengths
        How many chains and draws; by default 4 chains of 500 draws, 200 steps before the first.
    start
        The states of a run before with the same sampler, which then goes on with its own random numbers. Steps that
        they have made count as burn-in, so that none is repeated, and one that was stopped is finished.

    Examples
    --------
    >>> rows = {"rain": ["no", "yes", None, "no"] * 5, "grass": ["dry", "wet", "wet", None] * 5}
    >>> draws = sample_parameters("rain -> grass", rows)
    >>> draws.mean("rain").round(1), draws.advice
    (array([0.6, 0.4]), '')
    >>> draws.predictive("rain", {"grass": "wet"}).values.round(1)
    array([0.3, 0.7])
    """
    problem = CompletionProblem.of(graph, data, prior, hidden=hidden)
    if isinstance(method, str) and method not in SAMPLERS:
        raise InvalidArgument(f"method={method!r} is no sampler.{suggestion(method, SAMPLERS)}")
    sampler = SAMPLERS[method] if isinstance(method, str) else method
    options = ChainLengths.read(lengths, ChainLengths(num_draws=500, burn_in=200, thin=1))
    seeds = generator_of(seed).integers(2**63, size=options.num_chains)
    for state in start:
        _check(problem, sampler, state)
    made = tuple(start) or tuple(sampler.init(problem, int(word)) for word in seeds)
    done = min(state.num_steps for state in made)
    steps = options.steps.after(done)
    if sampler.tuning > done + steps.burn_in:
        raise InvalidArgument(
            f"{sampler!r} is tuned in its first {sampler.tuning} steps, but burn_in={options.burn_in}: draws would "
            "come from a chain that changes. Raise burn_in, or lower tuning."
        )
    kept = attrgetter("tables", "means", "log_posterior", "log_weight")
    run = run_chains(partial(sampler.step, problem), made, steps, progress, time_limit, kept)
    tables, means, log_posteriors, log_weights = map(run.gathered, range(4))
    if np.isneginf(log_weights).all():
        raise InvalidArgument(
            f"The rows have no chance, up to underflow, under any of {log_weights.size} draws of the prior, so that "
            "none weighs anything. Take CollapsedCellGibbs() or RowGibbs(), or larger pseudo-counts."
        )
    pairs = list(zip(run.after_burn_in, run.last, strict=True))
    taken = sum((after.num_accepted - before.num_accepted for before, after in pairs), start=np.zeros(1))
    num = max(1, sum(after.num_steps - before.num_steps for before, after in pairs))
    shares = {name: float(taken[problem.tables.scopes[name][-1]] / num) for name in sampler.proposed(problem)}
    ended = replace(run, kept=(), after_burn_in=())
    return ParameterDraws(problem, sampler, tables, means, log_posteriors, log_weights, shares, ended)


def _check(problem: CompletionProblem, sampler: ParameterSampler, state: ParameterState) -> None:
    """Refuse states that a chain can't go on from."""
    if len(state.tables) != len(problem.pseudo_counts):
        raise InvalidArgument("start= has states of chains over other tables: give those of a run on this graph.")
    if state.codes.size and state.codes.shape != problem.codes.shape:
        raise InvalidArgument(f"start= has states of chains over other rows than these {problem.num_rows}.")
    if not sampler.takes(problem, state):
        raise InvalidArgument(
            f"start= has states of another sampler, which {sampler!r} can't go on from: give method= as in the run "
            "before, or leave start= out."
        )
