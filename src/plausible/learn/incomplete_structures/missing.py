"""What a search for graphs does about missing cells; structural EM for tables of numbers and states by draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from plausible.base import Argument, Remedy
from plausible.cpds import CPD, LinearGaussianCPD, TableCPD
from plausible.data import MomentStatistics, PartitionedStatistics, Statistics, Table, TableStatistics
from plausible.data.moments import Moments
from plausible.errors import InvalidArgument, NotSupported, suggestion
from plausible.graphs import DAG
from plausible.learn.estimation.families import Families, ParameterKnowledge
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.expectations import Expectations, FamilyCounts
from plausible.learn.incomplete.gaussian_maximization import GaussianMomentLearner, gaussian_regressions
from plausible.learn.incomplete.maximization import Maximization
from plausible.learn.incomplete.reading import read_rows
from plausible.learn.incomplete_structures.available import (
    AvailableRowScores,
    AvailableStatistics,
    PairwiseStatistics,
    SeparateScores,
    complete_rows_of,
    pairwise_moments,
)
from plausible.learn.incomplete_structures.completed_statistics import completed_statistics
from plausible.learn.incomplete_structures.completion import (
    GraphJudge,
    Judge,
    best_graphs,
    start_graph,
)
from plausible.learn.incomplete_structures.structural_em import (
    SEMRules,
    SEMState,
    search_from,
    sem_init,
    sem_step,
    sem_update,
)
from plausible.learn.missingness.cells import incomplete_rows
from plausible.learn.missingness.fillers import by_draw
from plausible.learn.missingness.mcar_tests import fit_gaussian
from plausible.learn.scores.gaussian import ConditionalGaussian, GaussianScore
from plausible.learn.scores.score import FamilyScores, Score
from plausible.learn.scores.structure_prior import WithPrior
from plausible.learn.structure_methods import OVERALL_METHODS, StructureSearch
from plausible.learn.structures.constructive import learn_tree
from plausible.learn.structures.knowledge import FoundGraph, StructureTask
from plausible.models import BayesianNetwork
from plausible.search.run import CONVERGED, Clock, Run, Stops, made
from plausible.search.search_problem import SearchState
from plausible.variables import Variable


def drawn_completions(table: Table, network: BayesianNetwork, num_draws: int, generator: np.random.Generator) -> Table:
    """The complete rows, and for each other row `num_draws` exact draws of its missing cells, which share its weight.

    What was set from outside in a row says nothing about its causes, which are drawn without it.
    """
    has_gap = incomplete_rows(table)
    rows = np.concatenate([np.flatnonzero(~has_gap), np.repeat(np.flatnonzero(has_gap), num_draws)])
    weights = table.row_weights
    repeated = table.take(rows).weighted(np.where(has_gap, weights / num_draws, weights)[rows])
    codes, numbers = repeated.codes.copy(), repeated.numbers.copy()
    masks = np.array([*repeated.interventions.values()], dtype=np.bool_).reshape(-1, repeated.num_rows)
    sets, setting_of_row = np.unique(masks.T, axis=0, return_inverse=True)
    for setting, row in enumerate(sets.tolist()):
        cut, places = network, np.flatnonzero(setting_of_row.ravel() == setting)
        for name, is_set in zip(repeated.interventions, row, strict=True):
            if is_set:
                cut = cut.with_cpd(_alone(network.variables[name], table))
        filled = by_draw(repeated.take(places), cut, generator)
        codes[:, places], numbers[:, places] = filled.codes, filled.numbers
    return replace(repeated, codes=codes, numbers=numbers)


def _alone(variable: Variable, table: Table) -> CPD:
    """A distribution of what was set from outside, which depends on nothing."""
    if not variable.is_continuous:
        return TableCPD.uniform(variable)
    column = table.column(variable.name)
    spread = float(np.nanvar(column))
    return LinearGaussianCPD(variable, float(np.nanmean(column)), variance=spread if spread > 0 else 1.0)


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
        rows = table.select(sorted(table.variables))
        rows = rows if rows.weights is None else rows.take(rows.weights > 0)
        masks = [rows.interventions[name] for name in sorted(rows.interventions)]
        keys = [*rows.numbers, *rows.codes, *masks, *([] if rows.weights is None else [rows.weights])]
        rows = rows.take(np.lexsort(keys))
        codes, numbers = rows.codes.copy(), rows.numbers.copy()  # gaps filled by observed cells of the column, in turn
        gaps = (*zip(codes, codes < 0, strict=True), *zip(numbers, np.isnan(numbers), strict=True))
        for column, is_missing in gaps:
            observed = column[~is_missing] if not is_missing.all() else np.zeros(1, column.dtype)
            column[is_missing] = np.resize(observed, int(is_missing.sum()))
        filled = TableStatistics(replace(rows, codes=codes, numbers=numbers))
        return cls(rows, Cases.of(rows.variables, rows, has_numbers=True), filled, score, stops, clock)

    def maximization(self, graph: DAG) -> Maximization:
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
    """The graph given; or what the search finds in the complete rows, the required edges alone if these are few."""
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
    """Draw completions, search a graph for them, fit its parameters, and keep it where the observed cells agree."""
    before, generator = state.best, np.random.default_rng([search.seed, state.num_steps])
    drawn = drawn_completions(judge.table, before.network, rules.num_draws, generator)
    found, cut_short = search_from(search, before.graph, TableStatistics(drawn))
    is_same = found == before.graph
    after = judge.fit(found, before.network if is_same else judge.start(found, generator))
    updated = sem_update(state, after, rules, cut_short)
    if is_same and after.score == before.score:
        return updated._replace(stopped_by=cut_short or CONVERGED)
    # the first graph that they refuse may be owed to the draws: others are made once more
    is_first_refused = updated.num_refused == 1 and state.num_refused == 0
    return updated._replace(stopped_by=cut_short) if is_first_refused else updated


def _refuse_to_states(variables: Mapping[str, Variable], edges: Iterable[tuple[object, object]]) -> None:
    numbers = {name for name, variable in variables.items() if variable.is_continuous}
    for parent, child in ((str(parent), str(child)) for parent, child in edges):
        if parent in numbers and child in variables and child not in numbers:
            raise InvalidArgument(
                f"The edge {parent} -> {child} goes from a number to states: missing cells can't be integrated then. "
                f"Turn it around, leave it out of start= and knowledge=, or discretise {parent!r}."
            )


Treatment: TypeAlias = Literal["sem", "available", "pairwise", "complete-rows"]

#: A treatment, or how structural EM goes about it.
Missing: TypeAlias = "Treatment | SEMRules"


class Treated(NamedTuple):
    """A graph found, the scores that it was found by, its own score, the data, and what was done about holes."""

    found: FoundGraph
    scores: FamilyScores
    score: float
    data: Table | Statistics
    missing: str


def treat_missing(table: Table | PartitionedStatistics, search: StructureSearch, missing: Missing) -> Treated:
    """Search a graph for rows with missing cells."""
    if isinstance(table, PartitionedStatistics) and table.continuous and missing != "complete-rows":
        raise NotSupported(
            f"Cells are missing, and {table.continuous[0]!r} is continuous: what completes numbers goes through rows "
            "that are all in memory, and these come in pieces. Give it some of them, or discretise.",
            remedies=[Remedy("keep the complete rows: ", Argument("missing", "complete-rows"))],
        )
    if isinstance(missing, SEMRules) or missing == "sem":
        rules = missing if isinstance(missing, SEMRules) else SEMRules()
        if isinstance(table, PartitionedStatistics) or not table.continuous:
            return _by_structural_em(table, search, rules)
        if table.discrete or isinstance(search.score, ConditionalGaussian):
            return _by_draws(table, search, rules)
        return _by_gaussian(table, search)
    if missing not in get_args(Treatment):
        hint = suggestion(missing, get_args(Treatment))
        raise InvalidArgument(Argument("missing", missing), f" is nothing to do about cells; nor is it SEMRules.{hint}")
    if missing == "complete-rows":
        whole = complete_rows_of(table)
        found, scores = search.on(whole)
        data = whole.table if isinstance(table, Table) else whole
        return Treated(found, scores, scores.graph(found.graph), data, missing)
    if isinstance(table, Table) and table.continuous:  # each family or each pair in the rows that have it
        if missing == "available":
            scores = search.remembered(AvailableRowScores(search.score, table))
        else:
            scores = search.remembered(_pairwise_score(table, search).on(pairwise_moments(table)))
        found = search.by(scores)
        return Treated(found, scores, scores.graph(found.graph), table, missing)
    statistics = AvailableStatistics(table) if missing == "available" else PairwiseStatistics(table)
    separate = search.remembered(SeparateScores(search.score, statistics))
    # without the counts where they would be taken for those of one table, to rule out families by bounds
    found = search.by(separate, None if search.name in OVERALL_METHODS else statistics)
    return Treated(found, separate, separate.graph(found.graph), table, missing)


def _by_structural_em(table: Table | PartitionedStatistics, search: StructureSearch, rules: SEMRules) -> Treated:
    """From the best forest of pairs, or the graph that is given."""
    clock, cases = _clock(search, rules), read_rows(table.variables, table)
    judge = GraphJudge.by(cases, search.score, rules, clock=clock)
    first = made(search.checkpoint, partial(_first_state, table, search, judge))
    told = replace(rules, progress=_told(search, rules))
    step = partial(sem_step, judge, _inner(search, clock), rules=told)
    run, _ = best_graphs(judge, step, [first], told, search.checkpoint)
    scores = search.score.on(completed_statistics(run.state.best.network, cases, rules.max_completions))
    return Treated(_found(table, run), scores, run.state.best.score, table, "sem")


def _first_state(table: Table | PartitionedStatistics, search: StructureSearch, judge: GraphJudge) -> SEMState:
    known, start, cases = search.knowledge, search.start, judge.cases
    if isinstance(start, DAG) or (start is not None and not start.strip().isalpha()):
        graph = start_graph(start, cases, known)
    elif start == "random":
        graph = start_graph("random", cases, known, np.random.default_rng(search.seed))
    elif known.required or known.max_parents == 0 or not search.score.is_score_equivalent:
        graph = start_graph("empty", cases, known)  # a forest might not have the required edges
    else:
        separate = SeparateScores(search.score, AvailableStatistics(table))
        forest = learn_tree(StructureTask(separate, known, clock=search.clock), is_forest=True).graph
        graph = DAG(forest.edges, nodes=cases.variables)
    return sem_init(judge, judge.start(graph, np.random.default_rng(search.seed)))


def _inner(search: StructureSearch, clock: Clock) -> StructureSearch:
    """The search of each step, whose scores are of data that the step completes."""
    return replace(search, clock=clock, checkpoint=None)


def _by_draws(table: Table, search: StructureSearch, rules: SEMRules) -> Treated:
    """From the graph of the complete rows, or the graph that is given, by completions that are drawn."""
    if not rules.num_draws:
        raise InvalidArgument(
            "SEMRules(num_draws=0): missing cells of tables with numbers are completed by draws. Give one or more."
        )
    clock = _clock(search, rules)
    timed, judge = _inner(search, clock), MixedJudge.of(table, search.score, rules.em_stops, clock)

    def begun() -> SEMState:
        found = first_graph(judge, timed)
        state = sem_init(judge, judge.start(found.graph, np.random.default_rng(search.seed)))
        return state._replace(stopped_by=found.stopped_by) if found.stopped_by == "interrupted" else state

    told, start = replace(rules, progress=_told(search, rules)), made(search.checkpoint, begun)
    run, _ = best_graphs(judge, partial(mixed_step, judge, timed, rules=told), [start], told, search.checkpoint)
    state, generator = run.state, np.random.default_rng([search.seed, run.num_steps])
    drawn = drawn_completions(judge.table, state.best.network, rules.num_draws, generator)
    scores = search.score.on(TableStatistics(drawn))
    return Treated(_found(table, run), scores, state.best.score, table, "sem")


def _clock(search: StructureSearch, rules: SEMRules) -> Clock:
    """That of the search, or of structural EM where this ends first."""
    own = Clock.of(rules.time_limit)
    return Clock(own.start, min(own.deadline, search.clock.deadline))


def _found(table: Table | PartitionedStatistics, run: Run[SEMState]) -> FoundGraph:
    """What structural EM hands back, the variables in the order of the table."""
    graph = DAG(run.state.best.graph.edges, nodes=table.variables)
    words = "local maximum" if run.converged else run.stopped_by
    return FoundGraph(graph, run.state.best.score, words, run.num_steps, tuple(enumerate(run.trace)))


def _told(search: StructureSearch, rules: SEMRules) -> Callable[[SEMState], bool]:
    """Tells both who asked about searches and who asked about structural EM of its steps."""

    def tell(state: SEMState) -> bool:
        score = state.best.score
        ended = rules.progress is not None and bool(rules.progress(state))
        if search.progress is not None:
            ended |= bool(search.progress(SearchState((), score, (), score, state.num_steps)))
        return ended

    return tell


def _by_gaussian(table: Table, search: StructureSearch) -> Treated:
    """The moments that the Gaussian of all numbers expects: with them every Gaussian score is one of counts."""
    score, num = _gaussian_score(table, search), table.num_rows
    fit = fit_gaussian(table.numbers.T).state
    moments = Moments(float(num), num, fit.mean, fit.covariance * num)
    scores = score.on(MomentStatistics(dict(table.variables), moments))
    found = search.by(scores)
    return Treated(found, scores, scores.graph(found.graph), table, "sem")


def _pairwise_score(table: Table, search: StructureSearch) -> GaussianScore:
    if table.discrete:
        raise NotSupported(
            Argument("missing", "pairwise"),
            f": cells of {next(iter(table.missing))!r} are missing in a table of numbers and states, and pairs are "
            "counted in tables of one kind.",
            remedies=[Remedy("take ", Argument("missing", "sem"))]
            + [Remedy(Argument("missing", word)) for word in ("available", "complete-rows")],
        )
    return _gaussian_score(table, search)


def _gaussian_score(table: Table, search: StructureSearch) -> GaussianScore:
    """The score of a table of numbers alone; others are refused."""
    if not isinstance(search.score, GaussianScore):
        raise NotSupported(
            f"Cells of {next(iter(table.missing))!r} are missing in a table of numbers that is to be scored by "
            f"{type(search.score).__name__}.",
            remedies=[
                Remedy("take a Gaussian score, such as 'gaussian-bic'"),
                Remedy("keep the complete rows: ", Argument("missing", "complete-rows")),
            ],
        )
    if table.weights is not None or table.interventions:
        raise NotSupported("Numbers are completed where each row counts once and nothing was set from outside.")
    return search.score
