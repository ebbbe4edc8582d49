"""What a search for graphs does about missing cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from plausible.base.remedies import Argument, Remedy
from plausible.data.moments import Moments
from plausible.data.statistics import MomentStatistics, Statistics
from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, NotSupported, suggestion
from plausible.graphs import DAG
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete_structures.available import (
    AvailableRowScores,
    AvailableStatistics,
    PairwiseStatistics,
    SeparateScores,
    complete_rows,
    pairwise_moments,
)
from plausible.learn.incomplete_structures.completion import GraphJudge, best_graphs, completed_statistics
from plausible.learn.incomplete_structures.mixed_structures import (
    MixedJudge,
    drawn_completions,
    first_graph,
    mixed_step,
)
from plausible.learn.incomplete_structures.starts import start_graph
from plausible.learn.incomplete_structures.structural_em import (
    SEMRules,
    SEMState,
    sem_init,
    sem_step,
)
from plausible.learn.missingness.gaussian_em import fit_gaussian
from plausible.learn.scores.conditional_gaussian import ConditionalGaussian
from plausible.learn.scores.gaussian import GaussianScore
from plausible.learn.scores.score import FamilyScores
from plausible.learn.structure_methods import OVERALL_METHODS, StructureSearch
from plausible.learn.structures.task import FoundGraph, StructureTask
from plausible.learn.structures.trees import learn_tree
from plausible.search.clock import Clock
from plausible.search.run import Run
from plausible.search.search_state import SearchState

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


def treat_missing(table: Table, search: StructureSearch, missing: Missing) -> Treated:
    """Search a graph for a table with missing cells."""
    if isinstance(missing, SEMRules) or missing == "sem":
        rules = missing if isinstance(missing, SEMRules) else SEMRules()
        if not table.continuous:
            return _by_structural_em(table, search, rules)
        if table.discrete or isinstance(search.score, ConditionalGaussian):
            return _by_draws(table, search, rules)
        return _by_gaussian(table, search)
    if missing not in get_args(Treatment):
        hint = suggestion(missing, get_args(Treatment))
        raise InvalidArgument(Argument("missing", missing), f" is nothing to do about cells; nor is it SEMRules.{hint}")
    if missing == "complete-rows":
        whole = complete_rows(table)
        found, scores = search.on(TableStatistics(whole))
        return Treated(found, scores, scores.graph(found.graph), whole, missing)
    if table.continuous:
        scores = _number_scores(table, search, missing)
        found = search.by(scores)
        return Treated(found, scores, scores.graph(found.graph), table, missing)
    statistics = AvailableStatistics(table) if missing == "available" else PairwiseStatistics(table)
    separate = SeparateScores(search.score, statistics)
    found = _by_separate_counts(separate, statistics, search)
    return Treated(found, separate, separate.graph(found.graph), table, missing)


def _by_separate_counts(scores: SeparateScores, statistics: Statistics, search: StructureSearch) -> FoundGraph:
    """Without the counts where they would be taken for those of one table, to rule out families by bounds."""
    return search.by(scores, None if search.name in OVERALL_METHODS else statistics)


def _by_structural_em(table: Table, search: StructureSearch, rules: SEMRules) -> Treated:
    """From the best forest of pairs, or the graph that is given."""
    clock, cases = _clock(search, rules), Cases.of(table.variables, table)
    judge = GraphJudge.by(cases, search.score, rules, clock=clock)
    graph = _first_graph(table, cases, search)
    first = sem_init(judge, judge.start(graph, np.random.default_rng(search.seed)))
    told = replace(rules, progress=_told(search, rules))
    step = partial(sem_step, judge, replace(search, clock=clock), rules=told)
    run, _ = best_graphs(judge, step, [first], told)
    scores = search.score.on(completed_statistics(run.state.best.network, cases, rules.max_completions))
    return Treated(_found(table, run), scores, run.state.best.score, table, "sem")


def _by_draws(table: Table, search: StructureSearch, rules: SEMRules) -> Treated:
    """From the graph of the complete rows, or the graph that is given, by completions that are drawn."""
    if not rules.num_draws:
        raise InvalidArgument(
            "SEMRules(num_draws=0): missing cells of tables with numbers are completed by draws. Give one or more."
        )
    clock = _clock(search, rules)
    timed, judge = replace(search, clock=clock), MixedJudge.of(table, search.score, rules.em_stops, clock)
    found = first_graph(judge, timed)
    start = sem_init(judge, judge.start(found.graph, np.random.default_rng(search.seed)))
    if found.stopped_by == "interrupted":
        start = start._replace(stopped_by=found.stopped_by)
    told = replace(rules, progress=_told(search, rules))
    run, _ = best_graphs(judge, partial(mixed_step, judge, timed, rules=told), [start], told)
    state, generator = run.state, np.random.default_rng([search.seed, run.num_steps])
    drawn = drawn_completions(judge.table, state.best.network, rules.num_draws, generator)
    scores = search.score.on(TableStatistics(drawn))
    return Treated(_found(table, run), scores, state.best.score, table, "sem")


def _clock(search: StructureSearch, rules: SEMRules) -> Clock:
    """That of the search, or of structural EM where this ends first."""
    own = Clock.of(rules.time_limit)
    return Clock(own.start, min(own.deadline, search.clock.deadline))


def _found(table: Table, run: Run[SEMState]) -> FoundGraph:
    """What structural EM hands back, the variables in the order of the table."""
    graph = DAG(run.state.best.graph.edges, nodes=table.variables)
    words = "local maximum" if run.converged else run.stopped_by
    return FoundGraph(graph, run.state.best.score, words, run.num_steps, tuple(enumerate(run.trace)))


def _first_graph(table: Table, cases: Cases, search: StructureSearch) -> DAG:
    """The graph given, or the best forest of pairs; the required edges alone where a forest might not have these."""
    if isinstance(search.start, DAG) or (search.start is not None and not search.start.strip().isalpha()):
        return start_graph(search.start, cases, search.knowledge)
    if search.start == "random":
        return start_graph("random", cases, search.knowledge, np.random.default_rng(search.seed))
    known = search.knowledge
    if known.required or known.max_parents == 0 or not search.score.is_score_equivalent:
        return start_graph("empty", cases, known)
    scores = SeparateScores(search.score, AvailableStatistics(table))
    forest = learn_tree(StructureTask(scores, known, clock=search.clock), is_forest=True).graph
    return DAG(forest.edges, nodes=cases.variables)


def _told(search: StructureSearch, rules: SEMRules) -> Callable[[SEMState], bool]:
    """Tells both who asked about searches and who asked about structural EM of its steps."""

    def tell(state: SEMState) -> bool:
        score = state.best.score
        told = [
            rules.progress is not None and rules.progress(state),
            search.progress is not None and search.progress(SearchState((), score, (), score, state.num_steps)),
        ]
        return any(told)

    return tell


def _by_gaussian(table: Table, search: StructureSearch) -> Treated:
    """The moments that the Gaussian of all numbers expects: with them every Gaussian score is one of counts."""
    score = _gaussian_score(table, search)
    fit = fit_gaussian(table.numbers.T).state
    num = table.num_rows
    moments = MomentStatistics(dict(table.variables), Moments(float(num), num, fit.mean, fit.covariance * num))
    scores = score.on(moments)
    found = search.by(scores)
    return Treated(found, scores, scores.graph(found.graph), table, "sem")


def _number_scores(table: Table, search: StructureSearch, missing: str) -> FamilyScores:
    """Scores of tables with numbers, each family or each pair in the rows that have it."""
    if missing == "available":
        return AvailableRowScores(search.score, table)
    if table.discrete:
        raise NotSupported(
            Argument("missing", "pairwise"),
            f": cells of {next(iter(table.missing))!r} are missing in a table of numbers and states, and pairs are "
            "counted in tables of one kind.",
            remedies=[
                Remedy("take ", Argument("missing", "sem")),
                Remedy(Argument("missing", "available")),
                Remedy(Argument("missing", "complete-rows")),
            ],
        )
    return _gaussian_score(table, search).on(pairwise_moments(table))


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
