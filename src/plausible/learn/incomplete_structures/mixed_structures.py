"""Structural EM for tables of numbers and states: each step searches a graph for drawn completions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from plausible.base.arrays import Positions
from plausible.base.remedies import Argument, Remedy
from plausible.cpds import LinearGaussianCPD, TableCPD
from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, NotSupported
from plausible.graphs import DAG
from plausible.learn.estimation.families import Families
from plausible.learn.estimation.knowledge import ParameterKnowledge
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.expectations import Expectations, FamilyCounts
from plausible.learn.incomplete.gaussian_maximization import GaussianMomentLearner, gaussian_regressions
from plausible.learn.incomplete.maximization import Maximization
from plausible.learn.incomplete_structures.completion import Judge
from plausible.learn.incomplete_structures.starts import start_graph
from plausible.learn.incomplete_structures.structural_em import SEMRules, SEMState, search_from, sem_update
from plausible.learn.missingness.cells import incomplete_rows
from plausible.learn.missingness.fillers import by_draw
from plausible.learn.scores.conditional_gaussian import ConditionalGaussian
from plausible.learn.scores.score import Score
from plausible.learn.scores.structure_prior import WithPrior
from plausible.learn.structure_methods import StructureSearch
from plausible.learn.structures.task import FoundGraph
from plausible.models import BayesianNetwork
from plausible.search.clock import Clock
from plausible.search.run import CONVERGED, Stops
from plausible.variables import Variable


def drawn_completions(table: Table, network: BayesianNetwork, num_draws: int, generator: np.random.Generator) -> Table:
    """The complete rows, and for each other row `num_draws` exact draws of all its missing cells together.

    The draws of a row share its weight, so that the table weighs as much as before. What was set from outside in a row
    says nothing about its causes, which are drawn without it. Cost: that of `num_draws` times as many rows for each
    variable that is missing somewhere.

    Examples
    --------
    >>> from plausible.learn.incomplete.em import learn_em
    >>> rows = Table.read({"rain": ["no", "yes", None, "no"], "degrees": [9.5, 3.5, 4.5, None]})
    >>> network = learn_em("rain -> degrees", rows).network
    >>> drawn = drawn_completions(rows, network, 5, np.random.default_rng(0))
    >>> drawn.num_rows, round(drawn.total, 6), drawn.missing
    (12, 4.0, {})
    """
    has_gap = incomplete_rows(table)
    rows = np.concatenate([np.flatnonzero(~has_gap), np.repeat(np.flatnonzero(has_gap), num_draws)])
    weights = table.row_weights
    repeated = table.take(rows).weighted(np.where(has_gap, weights / num_draws, weights)[rows])
    codes, numbers = repeated.codes.copy(), repeated.numbers.copy()
    for names, places in _by_setting(repeated):
        filled = by_draw(repeated.take(places), _with_set(network, table, names), generator)
        codes[:, places], numbers[:, places] = filled.codes, filled.numbers
    return replace(repeated, codes=codes, numbers=numbers)


def _by_setting(table: Table) -> Iterator[tuple[list[str], Positions]]:
    """The sets of variables that were set from outside, each with its rows."""
    masks = np.array([*table.interventions.values()], dtype=np.bool_).reshape(-1, table.num_rows)
    sets, setting_of_row = np.unique(masks.T, axis=0, return_inverse=True)
    for place, row in enumerate(sets.tolist()):
        names = [name for name, is_set in zip(table.interventions, row, strict=True) if is_set]
        yield names, np.flatnonzero(setting_of_row.ravel() == place)


def _with_set(network: BayesianNetwork, table: Table, names: list[str]) -> BayesianNetwork:
    """The network in which what was set depends on nothing."""
    for name in names:
        variable = network.variables[name]
        if variable.is_continuous:
            column = table.column(name)
            spread = float(np.nanvar(column))
            cpd = LinearGaussianCPD(variable, float(np.nanmean(column)), variance=spread if spread > 0 else 1.0)
            network = network.with_cpd(cpd)
        else:
            network = network.with_cpd(TableCPD.uniform(variable))
    return network


#: With fewer complete rows than these the first graph has the required edges alone.
_ENOUGH_ROWS = 50
#: Cases that each context of a Gaussian is believed to have: without any, EM gives a context of one or two cases next
#: to no variance, which no price of parameters makes up for.
_PRIOR_CASES = 0.05


@dataclass(frozen=True, eq=False)
class MixedJudge(Judge):
    """Fits conditional linear Gaussian networks by EM and tells the score of what was observed; made by `of`.

    The score is ℓ(θ̃ : D) of the observed cells less the price of the parameters, ψ(N) each, where N is the weight of
    the rows, and with the logarithm of a structure prior where there is one. Tables θ̃ are of maximum likelihood;
    Gaussians, with a twentieth of a case of independent columns in each context, nearly so.
    """

    #: The rows that weigh something; rows and columns are sorted, so that draws do not depend on their order
    table: Table
    cases: Cases  # The same, for EM
    filled: TableStatistics  # Any complete rows of the same number: what parameters cost does not depend on cells
    score: Score  # `ConditionalGaussian`, or that with a structure prior
    stops: Stops  # When EM ends
    clock: Clock  # That of all fits together

    @classmethod
    def of(cls, table: Table, score: Score, stops: Stops, clock: Clock) -> MixedJudge:
        """From rows with missing cells; other scores than conditional Gaussian ones are refused."""
        inner = score.score if isinstance(score, WithPrior) else score
        if not isinstance(inner, ConditionalGaussian):
            raise NotSupported(
                f"Cells of {next(iter(table.missing))!r} are missing in a table of numbers and states that is to be "
                f"scored by {type(inner).__name__}. Structural EM scores such tables by 'conditional-gaussian-bic', "
                "'conditional-gaussian-aic' or 'conditional-gaussian-log-likelihood'.",
                remedies=[Remedy("take one, or keep the complete rows: ", Argument("missing", "complete-rows"))],
            )
        ordered = _in_order(table)
        cases = Cases.of(ordered.variables, ordered, has_numbers=True)
        return cls(ordered, cases, TableStatistics(_filled(ordered)), score, stops, clock)

    def maximization(self, graph: DAG) -> Maximization:
        """The M-step of a graph."""
        variables = self.table.variables
        parents = {name: tuple(sorted(map(str, graph.parents(name)))) for name in variables}
        families = Families(variables, parents, FamilyCounts(variables, parents, {}, self.cases.total))
        learners = dict.fromkeys(self.cases.continuous, GaussianMomentLearner(prior_cases=_PRIOR_CASES))
        wanted = gaussian_regressions(families, self.cases, learners)
        return Maximization.of(families, None, "mle", wanted, ParameterKnowledge())

    def score_of(self, graph: DAG, network: BayesianNetwork, expectations: Expectations) -> float:
        """The likelihood less the price of the parameters."""
        return expectations.log_likelihood - self.price(graph)

    def price(self, graph: DAG) -> float:
        """What the parameters of a graph cost; inf where there are too few rows for a family."""
        scored = self.score.on(self.filled).graph(graph)
        return ConditionalGaussian(0.0).on(self.filled).graph(graph) - scored if math.isfinite(scored) else math.inf


def first_graph(judge: MixedJudge, search: StructureSearch) -> FoundGraph:
    """The graph given; or what the search finds in the complete rows, the required edges alone if these are few.

    Edges from numbers to states are refused.
    """
    _refuse_to_states(judge.table.variables, search.knowledge.required)
    if isinstance(search.start, DAG) or (search.start is not None and not search.start.strip().isalpha()):
        graph = start_graph(search.start, judge.cases, search.knowledge)
        _refuse_to_states(judge.table.variables, graph.edges)
        return FoundGraph(graph, -np.inf)
    whole = judge.table.take(~incomplete_rows(judge.table))
    if whole.num_rows >= _ENOUGH_ROWS:
        return search.on(TableStatistics(whole))[0]
    return FoundGraph(start_graph("empty", judge.cases, search.knowledge), -np.inf)


def mixed_step(judge: MixedJudge, search: StructureSearch, state: SEMState, rules: SEMRules) -> SEMState:
    """Draw completions, search a graph for them, fit its parameters, and keep it where the observed cells agree.

    The first graph that they refuse may be owed to the draws: others are made once more.
    """
    before, generator = state.best, np.random.default_rng([search.seed, state.num_steps])
    drawn = drawn_completions(judge.table, before.network, rules.num_draws, generator)
    found, cut_short = search_from(search, before.graph, TableStatistics(drawn))
    is_same = found == before.graph
    after = judge.fit(found, before.network if is_same else judge.start(found, generator))
    updated = sem_update(state, after, rules, cut_short)
    if is_same and after.score == before.score:
        return updated._replace(stopped_by=cut_short or CONVERGED)
    is_first_refused = updated.num_refused == 1 and state.num_refused == 0
    return updated._replace(stopped_by=cut_short) if is_first_refused else updated


def _in_order(table: Table) -> Table:
    """The rows that weigh something and the columns, each sorted."""
    table = table.select(sorted(table.variables))
    table = table if table.weights is None else table.take(table.weights > 0)
    masks = [table.interventions[name] for name in sorted(table.interventions)]
    keys = [*table.numbers, *table.codes, *masks, *([] if table.weights is None else [table.weights])]
    return table.take(np.lexsort(keys))


def _filled(table: Table) -> Table:
    """Each column with its observed cells in place of the missing ones, in turn; whatever else where it has none."""
    codes, numbers = table.codes.copy(), table.numbers.copy()
    for columns, gaps in ((codes, codes < 0), (numbers, np.isnan(numbers))):
        for column, is_missing in zip(columns, gaps, strict=True):
            observed = column[~is_missing] if not is_missing.all() else np.zeros(1, column.dtype)
            column[is_missing] = np.resize(observed, int(is_missing.sum()))
    return replace(table, codes=codes, numbers=numbers)


def _refuse_to_states(variables: Mapping[str, Variable], edges: Iterable[tuple[object, object]]) -> None:
    numbers = {name for name, variable in variables.items() if variable.is_continuous}
    for parent, child in ((str(parent), str(child)) for parent, child in edges):
        if parent in numbers and child in variables and child not in numbers:
            raise InvalidArgument(
                f"The edge {parent} -> {child} goes from a number to states: missing cells can't be integrated then. "
                f"Turn it around, leave it out of start= and knowledge=, or discretise {parent!r}."
            )
