"""The door to learning graphs from data, and what it hands back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from plausible.base import (
    RESULT_HINTS,
    Hinted,
    Seed,
    format_roughly,
    generator_of,
    html_of,
    read_named_option,
    repr_of_print,
)
from plausible.data import Statistics, TableStatistics
from plausible.data.column_types import warn_of_one_row
from plausible.data.stream_statistics import PartitionedStatistics, for_learning
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, counted
from plausible.graphs import DAG
from plausible.learn.incomplete_structures.missing import Missing, Treated, treat_missing
from plausible.learn.incomplete_structures.structural_em import SEMRules
from plausible.learn.learned_parameters import learn_parameters
from plausible.learn.scores.reading import fitting_score, read_score
from plausible.learn.scores.score import FamilyScores, Score
from plausible.learn.structure_methods import StructureSearch
from plausible.learn.structures.knowledge import FoundGraph, Knowledge, Progress, check_progress, named_in
from plausible.models import BayesianNetwork
from plausible.search import Clock, SearchMethod
from plausible.search.checkpoint import AnyPath, checkpointed

#: Those whose usual score is the log-likelihood: their graphs can't have too many edges.
_BY_LIKELIHOOD = ("chow-liu", "tan")

_COMPLETELY_AT_RANDOM = "Cells are assumed to be missing completely at random, whatever the row holds."
#: What was done about missing cells -> what makes that right.
_ASSUMPTIONS = {
    "sem": "Cells are assumed to be missing at random: given the observed cells, not by their own values.",
    **dict.fromkeys(("available", "pairwise", "complete-rows"), _COMPLETELY_AT_RANDOM),
}

#: How parts of the names of scores are written.
_SPELLED = {
    name.lower(): name for name in ("AIC", "BIC", "MDL", "K2", "BDeu", "BDs", "BGe", "fNML", "qNML", "Gaussian")
}


@dataclass(frozen=True, slots=True, eq=False)
class StructureResult(FoundGraph, Hinted):
    """A graph learned from data, with how it was found: see `FoundGraph`; made by `learn.structure`."""

    _hints = RESULT_HINTS
    _told = ("method", "graph", "score", "bound", "missing", "num_steps", "stopped_by", "trace", "seconds")

    method: str = field(kw_only=True)  # By which it was found
    #: The scores of families on the data, for further questions such as `scores.graph(other)`.
    scores: FamilyScores = field(repr=False, kw_only=True)
    table: Table | Statistics = field(repr=False, kw_only=True)  # The data, or statistics of them
    #: What was done about missing cells: "sem", "available", "pairwise" or "complete-rows"; empty where there are none.
    #: With "sem" the score is that of the observed cells, and `scores` are those of the completed data.
    missing: str = field(default="", kw_only=True)
    score_name: str = field(default="score", kw_only=True)  # What the score is called, such as "BIC"

    @property
    def assumption(self) -> str:
        """What was assumed about how cells came to be missing, in a sentence; empty where none is missing."""
        return _ASSUMPTIONS.get(self.missing, "")

    def network(self, prior: Any = None, **options: Any) -> BayesianNetwork:
        """The graph with parameters learned from the same data; see `learn.parameters` for the options."""
        return learn_parameters(self.graph, self.table, prior, **options)

    def __str__(self) -> str:
        treated = f", missing cells: {self.missing}" if self.missing else ""
        steps = f" after {counted(self.num_steps, 'step')}" if self.num_steps else ""
        size = f"{counted(len(self.graph), 'variable')}, {counted(self.graph.num_edges, 'edge')}"
        how = f"{self.stopped_by}{steps}, {format_roughly(self.seconds)} s{treated}"
        return f"{self.method}: {size}, {self.score_name} {self.score:.6g} ({how})"

    __repr__ = repr_of_print

    def _repr_html_(self) -> str:
        return f"{html_of(str(self))}{self.graph._repr_html_()}"


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
    checkpoint: AnyPath | None = None,
    missing: Missing | None = None,
    **options: Any,
) -> StructureResult:
    """Learn a graph from data, complete or not.

    The answer does not depend on the order of rows and columns; ties are broken by name.

    =======================  ==========================================================================================
    method                   what it does (and its options)
    =======================  ==========================================================================================
    "hill-climbing"          steepest ascent from no edges, the best forest and the graph of "ges" (of more than 500
                             variables from the last of these alone), each left after `escapes` (60, or 0.3 for each
                             variable if that is more) walks in a row that led to nothing better; `escapes=0` for one
                             ascent alone (max_steps)
    "first-ascent"           the first random move that improves (max_steps)
    "tabu"                   the best move that takes back none of the last ones, as many as there are variables
                             (length, patience, max_steps)
    "beam"                   several graphs at once (width, min_gain, max_steps)
    "annealing"              steepest ascent, random moves at falling temperature, ascent (schedule, max_steps)
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
        Anything that `Table.read` accepts, such as a data frame; or statistics. Columns that are hardly variables (ids,
        dates, a value of its own for most rows) are left out with a warning, unless `Table.read(..., columns=)`,
        `variables=`, `knowledge`, `start` or an option names them.
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
    known = Knowledge.read(knowledge)
    named = named_in((known, start, *options.values()))
    source: Table | Statistics = for_learning(data, named)
    warn_of_one_row(source.num_rows, source.variables)
    if not source.variables:
        raise InvalidArgument("The data have no columns, so that there are no variables to learn about.")
    name = method if isinstance(method, str) else type(method).__name__
    wanted = score or fitting_score(source, "log-likelihood" if name in _BY_LIKELIHOOD else "bic")
    number = int(seed) if isinstance(seed, int | np.integer) and seed >= 0 else int(generator_of(seed).integers(2**62))
    search = StructureSearch(method, options, read_score(wanted), known, start, number, progress, clock)
    treat = missing or "sem"
    with checkpointed(checkpoint, "learn.structure", partial(_asked, source, search, treat)) as saved:
        search = replace(search, checkpoint=saved)
        rows = source if isinstance(source, Table) else source.by_rows
        if isinstance(rows, (Table, PartitionedStatistics)) and source.missing:
            treated = treat_missing(rows, search, treat)
        else:
            statistics = TableStatistics(source) if isinstance(source, Table) else source
            found, scores = search.on(statistics)
            treated = Treated(found, scores, scores.graph(found.graph), source, "")
        if saved is not None and treated.found.stopped_by in ("time limit", "interrupted"):
            saved.cut_short()
    found, scores, value, table, treatment = treated
    if isinstance(wanted, str):
        called = "-".join(_SPELLED.get(part, part) for part in read_named_option(wanted)[0].split("-"))
    else:
        called = type(wanted).__name__
    how = (found.stopped_by, found.num_steps, found.trace, max(found.bound, value), clock.seconds)
    return StructureResult(
        found.graph, value, *how, method=name, scores=scores, table=table, missing=treatment, score_name=called
    )


def _asked(source: Table | Statistics, search: StructureSearch, missing: Missing) -> dict[str, object]:
    """All that the answer depends on."""
    ways = {"method": search.method, "score": search.score, "knowledge": search.knowledge, "start": search.start}
    treated = missing.told if isinstance(missing, SEMRules) else missing
    return {"data": source, **ways, "seed": search.seed, "missing": treated, **search.options}


def usual_score(source: Table | Statistics, name: str = "hill-climbing") -> str:
    """The score of a method where none is named: BIC or the likelihood, for the kind of variables there are."""
    return fitting_score(source, "log-likelihood" if name in _BY_LIKELIHOOD else "bic")
