"""The door to learning graphs from data."""

from __future__ import annotations

from typing import Any

import numpy as np

from plausible.base.seeds import Seed, generator_of
from plausible.data.statistics import Statistics
from plausible.data.table import Table, TableLike
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument
from plausible.graphs import DAG
from plausible.learn.incomplete_structures.missing import Missing, Treated, treat_missing
from plausible.learn.named_options import read_named_option
from plausible.learn.scores.reading import fitting_score, read_score
from plausible.learn.scores.score import Score
from plausible.learn.structure_methods import StructureSearch
from plausible.learn.structures.knowledge import Knowledge
from plausible.learn.structures.result import StructureResult
from plausible.learn.structures.task import Progress, check_progress
from plausible.search.clock import Clock
from plausible.search.local_search import SearchMethod

#: Those whose usual score is the log-likelihood: their graphs can't have too many edges.
_BY_LIKELIHOOD = ("chow-liu", "tan")


#: How parts of the names of scores are written.
_SPELLED = {
    "aic": "AIC",
    "bic": "BIC",
    "mdl": "MDL",
    "k2": "K2",
    "bdeu": "BDeu",
    "bds": "BDs",
    "bge": "BGe",
    "fnml": "fNML",
    "qnml": "qNML",
    "gaussian": "Gaussian",
}


def learn_structure(
    data: TableLike | Statistics,
    method: str | SearchMethod = "hill-climbing",
    score: str | Score | None = None,
    knowledge: Knowledge | None = None,
    *,
    start: DAG | str | None = None,
    seed: Seed = 0,
    progress: Progress | None = None,
    time_limit: float | None = None,
    missing: Missing | None = None,
    **options: Any,
) -> StructureResult:
    """Learn a graph from data, complete or not.

    The answer does not depend on the order of rows and columns; ties are broken by name.

    =======================  ==========================================================================================
    method                   what it does (and its options)
    =======================  ==========================================================================================
    "hill-climbing"          steepest ascent, also from the best forest; then `escapes` (3) walks to graphs of the same
                             class, each with a tabu search; `escapes=0` for the ascent alone (max_steps)
    "first-ascent"           the first random move that improves (max_steps)
    "tabu"                   the best move that takes back none of the last ones (length, patience, max_steps)
    "beam"                   several graphs at once (width, min_gain, max_steps)
    "annealing"              random moves at falling temperature, then steepest ascent (schedule, max_steps)
    "random-restarts"        steepest ascent, or `inner`, from random graphs too (restarts, inner, max_steps)
    "perturbation-restarts"  the same from random walks away from the best graph (restarts, length, growth, inner,
                             max_steps)
    "basin-flooding"         the best graph not visited before (patience, max_steps)
    "chow-liu", "forest"     the best tree over all variables, or of those edges that improve the score (root)
    "tan"                    tree-augmented naive Bayes (class_variable, root, is_forest)
    "k2"                     greedy parents along an `order`: K2, or K3 with a score of description length
    "buntine"                greedy edges, never taken back (max_steps)
    "edge-counts"            for each number of edges a graph by likelihood; the best of these (patience)
    "mmhc"                   hill climbing among the neighbours that tests leave: max-min hill climbing (test, alpha,
                             max_given, escapes)
    "exact"                  the best graph of all, by dynamic programming: up to some 25 variables (max_bytes,
                             max_families)
    "a-star"                 the best graph of all, or a good one with a `gap` when time is up (max_nodes,
                             max_families)
    "orders"                 local search over orders of the variables (max_families)
    "ges"                    greedy search over equivalence classes, by a score-equivalent score
    =======================  ==========================================================================================

    Parameters
    ----------
    data
        Anything that `Table.read` accepts, such as a data frame; or statistics.
    method
        One of the methods above, or a search such as `TabuSearch(length=5)`.
    score
        A name such as "bic", "bdeu", "aic" or "k2", or a `Score`. By default BIC, or the log-likelihood for "chow-liu"
        and "tan"; Gaussian or conditional Gaussian if there are continuous variables.
    knowledge
        Required and forbidden edges, tiers, and the most parents a variable may have.
    start
        Where a local search starts: a DAG, a string of arrows, "tree" for the best forest, or "random"; by default the
        required edges alone.
    seed
        An integer or a NumPy generator; the same seed gives the same answer. `None` for answers that may differ from
        run to run.
    missing
        What to do with missing cells. "sem", the default, completes them by structural EM, which assumes that they are
        missing at random (numbers by a Gaussian over all columns; numbers and states together by draws from the current
        network). Three others assume that cells are missing completely at random: "available" counts each family in the
        rows where it is complete, "pairwise" each pair of variables (not for numbers and states together), and
        "complete-rows" drops incomplete rows. You can also pass the `SEMRules` of structural EM. The result says what
        was done.
    **options
        Options of the method.

    Examples
    --------
    >>> import plausible as pb
    >>> frame = pb.examples.load("asia").sample(2000, seed=1)
    >>> found = pb.learn.structure(frame, knowledge=pb.Knowledge(tiers=[["smoke"], ["lung", "bronc"]]))
    >>> found.stopped_by, ("smoke", "lung") in found.graph.edges
    ('local maximum', True)
    >>> pb.learn.structure(frame, "chow-liu", root="either").graph.parents("tub")
    ('either',)
    """
    clock = Clock.of(time_limit)
    check_progress(progress)
    source: Table | Statistics = data if isinstance(data, Statistics) else Table.read(data)
    if not source.variables:
        raise InvalidArgument("The data have no columns, so that there are no variables to learn about.")
    name = method if isinstance(method, str) else type(method).__name__
    wanted = score or usual_score(source, name)
    read, called = read_score(wanted), _score_name(wanted)
    search = StructureSearch(
        method,
        options,
        read,
        Knowledge.read(knowledge),
        start,
        int(seed) if isinstance(seed, int | np.integer) and seed >= 0 else int(generator_of(seed).integers(2**62)),
        progress,
        clock,
    )
    if isinstance(source, Table) and source.missing:
        return _result(search, treat_missing(source, search, missing or "sem"), called)
    statistics = TableStatistics(source) if isinstance(source, Table) else source
    found, scores = search.on(statistics)
    return _result(search, Treated(found, scores, scores.graph(found.graph), source, ""), called)


def _result(search: StructureSearch, treated: Treated, called: str) -> StructureResult:
    found = treated.found
    return StructureResult(
        found.graph,
        treated.score,
        found.stopped_by,
        found.num_steps,
        found.trace,
        max(found.bound, treated.score),
        search.clock.seconds,
        method=search.name,
        scores=treated.scores,
        table=treated.data,
        missing=treated.missing,
        score_name=called,
    )


def _score_name(score: str | Score) -> str:
    """What a score is called in print."""
    if not isinstance(score, str):
        return type(score).__name__
    name = read_named_option(score).name
    return "-".join(_SPELLED.get(part, part) for part in name.split("-"))


def usual_score(source: Table | Statistics, name: str = "hill-climbing") -> str:
    """The score of a method where none is named: BIC or the likelihood, for the kind of variables there are.

    >>> usual_score(Table.read({"x": [0.5, 1.5], "y": ["a", "b"]}), "tan")
    'conditional-gaussian-log-likelihood'
    """
    kind = "log-likelihood" if name in _BY_LIKELIHOOD else "bic"
    return fitting_score(source, kind)
