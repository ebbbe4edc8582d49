"""What a search for graphs does about missing cells."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from plausible.data.moment_statistics import Moments, MomentStatistics
from plausible.data.statistics import Statistics
from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, NotSupported, suggestion
from plausible.graphs import DAG
from plausible.inference.search.local_search import SearchState
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.em import EMRules
from plausible.learn.incomplete_structures.available import (
    AvailableStatistics,
    PairwiseStatistics,
    SeparateScores,
    complete_rows,
)
from plausible.learn.incomplete_structures.completion import GraphJudge, completed_statistics, usual_prior
from plausible.learn.incomplete_structures.starts import start_graph
from plausible.learn.incomplete_structures.structural_em import (
    CUT_SHORT,
    SEMRules,
    SEMState,
    sem_init,
    sem_run,
    sem_step,
)
from plausible.learn.missingness.gaussian_em import fit_gaussian
from plausible.learn.scores.gaussian import GaussianScore
from plausible.learn.scores.score import FamilyScores
from plausible.learn.structures.methods import StructureSearch
from plausible.learn.structures.overall import OVERALL_METHODS
from plausible.learn.structures.task import Found

__all__ = ["Missing", "Treated", "treat_missing"]

Treatment: TypeAlias = Literal["sem", "available", "pairwise", "complete-rows"]

#: A treatment, or how structural EM goes about it.
Missing: TypeAlias = "Treatment | SEMRules"


class Treated(NamedTuple):
    """A graph found, the scores that it was found by, its own score, the data, and what was done about holes."""

    found: Found
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
        return _by_gaussian(table, search)
    if missing not in get_args(Treatment):
        hint = suggestion(missing, get_args(Treatment))
        raise InvalidArgument(f"missing={missing!r} is nothing to do about cells; nor is it SEMRules.{hint}")
    if missing == "complete-rows":
        whole = complete_rows(table)
        found, scores = search.on(TableStatistics(whole))
        return Treated(found, scores, scores.graph(found.graph), whole, missing)
    if table.continuous:
        raise NotSupported(
            f"{table.continuous[0]!r} is continuous: available cases are counted of states alone. Take missing='sem' "
            "where all columns are numbers, or missing='complete-rows'."
        )
    statistics = AvailableStatistics(table) if missing == "available" else PairwiseStatistics(table)
    scores = SeparateScores(search.score, statistics)
    found = _by_separate_counts(scores, statistics, search)
    return Treated(found, scores, scores.graph(found.graph), table, missing)


def _by_separate_counts(scores: SeparateScores, statistics: Statistics, search: StructureSearch) -> Found:
    """Without the counts where they would be taken for those of one table, to rule out families by bounds."""
    return search.by(scores, None if search.name in OVERALL_METHODS else statistics)


def _by_structural_em(table: Table, search: StructureSearch, rules: SEMRules) -> Treated:
    """From the graph that available cases have, or the one that is given."""
    now = time.perf_counter()
    deadline = min(
        float("inf") if search.deadline is None else now + search.deadline - time.monotonic(),
        float("inf") if rules.time_limit is None else now + rules.time_limit,
    )
    cases = Cases.of(table.variables, table)
    judge = GraphJudge(
        cases,
        search.score,
        usual_prior(search.score),
        rules=EMRules(tolerance=rules.em_tolerance, max_steps=rules.em_steps, deadline=deadline),
    )
    first = _first_graph(table, search)
    graph = DAG(first.graph.edges, nodes=cases.variables)
    state = sem_init(judge, judge.start(graph, np.random.default_rng(search.seed)))
    told = replace(rules, progress=_told(search, rules))
    stopped = first.stopped
    if stopped not in CUT_SHORT:
        state, stopped = sem_run(judge, partial(sem_step, judge, search, rules=told), state, told)
    trace = tuple(enumerate(state.trace))
    words = "local maximum" if stopped == "converged" else stopped
    scores = search.score.on(completed_statistics(state.best.network, cases, rules.max_completions))
    found = Found(state.best.graph, trace, words, state.num_steps)
    return Treated(found, scores, state.best.score, table, "sem")


def _first_graph(table: Table, search: StructureSearch) -> Found:
    if isinstance(search.start, DAG) or (search.start is not None and not search.start.strip().isalpha()):
        return Found(start_graph(search.start, Cases.of(table.variables, table), search.knowledge), (), "")
    available = AvailableStatistics(table)
    return _by_separate_counts(SeparateScores(search.score, available), available, search)


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
    if table.discrete or not isinstance(search.score, GaussianScore):
        raise NotSupported(
            f"Cells of {next(iter(table.missing))!r} are missing among numbers and states. Structural EM completes "
            "tables of states, or of numbers with a Gaussian score. Discretise the numbers, or take "
            "missing='complete-rows'."
        )
    if table.weights is not None or table.interventions:
        raise NotSupported("Numbers are completed where each row counts once and nothing was set from outside.")
    fit = fit_gaussian(table.numbers.T)
    num = table.num_rows
    moments = MomentStatistics(dict(table.variables), Moments(float(num), num, fit.mean, fit.covariance * num))
    scores = search.score.on(moments)
    found = search.by(scores)
    return Treated(found, scores, scores.graph(found.graph), table, "sem")
