"""The door to learning graphs from data."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from plausible.data.table import Table, TableLike
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, suggestion
from plausible.graphs import DAG
from plausible.graphs.seeds import Seed, generator_of
from plausible.inference.options import check_seconds
from plausible.inference.search.local_search import SearchMethod
from plausible.learn.constraint_based.hybrid import learn_max_min
from plausible.learn.scores.reading import read_score
from plausible.learn.scores.score import Score
from plausible.learn.structures.greedy import learn_buntine, learn_k2
from plausible.learn.structures.knowledge import Knowledge
from plausible.learn.structures.local import LOCAL_METHODS, search_in_stages
from plausible.learn.structures.overall import OVERALL_METHODS
from plausible.learn.structures.result import StructureResult
from plausible.learn.structures.task import Found, Progress, StructureTask, check_progress
from plausible.learn.structures.trees import learn_tan, learn_tree

__all__ = ["METHODS", "learn_structure"]

#: Name -> what finds a graph for a task; options follow the task, by name.
METHODS: Mapping[str, Callable[..., Found]] = MappingProxyType(
    {
        **LOCAL_METHODS,
        "chow-liu": learn_tree,
        "forest": partial(learn_tree, is_forest=True),
        "tan": learn_tan,
        "k2": learn_k2,
        "buntine": learn_buntine,
        "mmhc": learn_max_min,
        **OVERALL_METHODS,
    }
)

#: Names that people look for here -> the functions that learn classes of graphs.
_CONSTRAINT_BASED = {
    "pc": "pc",
    "pc-stable": "pc",
    "grow-shrink": "structure_from_blankets",
    "gs": "structure_from_blankets",
    "iamb": "structure_from_blankets",
}

#: What people call some methods for short.
_SHORT = {"hc": "hill-climbing", "dp": "exact", "sa": "annealing", "obs": "orders", "cl": "chow-liu"}

#: Those whose usual score is the log-likelihood: their graphs can't have too many edges.
_BY_LIKELIHOOD = ("chow-liu", "tan")


def learn_structure(
    data: TableLike,
    method: str | SearchMethod = "hill-climbing",
    score: str | Score | None = None,
    knowledge: Knowledge | None = None,
    *,
    start: DAG | str | None = None,
    seed: Seed = 0,
    progress: Progress | None = None,
    time_limit: float | None = None,
    **options: Any,
) -> StructureResult:
    """Learn a graph from complete data.

    The answer does not depend on the order of rows and columns: ties are broken by names.

    =======================  ==========================================================================================
    method                   what it does (and its options)
    =======================  ==========================================================================================
    "hill-climbing"          steepest ascent; then `escapes` (3) walks to graphs of the same class, each with a tabu
                             search; `escapes=0` for the ascent alone (max_steps)
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
        What `Table.read` takes, without missing values.
    method
        One of those above, or a search such as `TabuSearch(length=5)`.
    score
        A name such as "bic", "bdeu", "aic", "k2", or a `Score`. Usually BIC, and the log-likelihood for "chow-liu" and
        "tan"; Gaussian or conditional-Gaussian where there are continuous variables.
    knowledge
        Required and forbidden edges, tiers, and how many parents there may be.
    start
        Where a local search starts: a DAG, arrow text, "tree" for the best forest, "random"; usually the required
        edges alone.
    seed
        Of random choices: a whole number, a generator, or `None` for choices that differ from run to run.
    progress
        Called with the state of the search after each step; an answer that is true stops it.
    time_limit
        After so many seconds the search stops with the best graph so far.
    **options
        Of the method.

    Examples
    --------
    >>> import plausible as pb
    >>> frame = pb.examples.load("asia").sample(2000, seed=1)
    >>> found = pb.learn.structure(frame, knowledge=pb.Knowledge(tiers=[["smoke"], ["lung", "bronc"]]))
    >>> found.stopped, ("smoke", "lung") in found.graph.edges
    ('local maximum', True)
    >>> pb.learn.structure(frame, "chow-liu", root="either").graph.parents("tub")
    ('either',)
    """
    began = time.monotonic()
    check_seconds("time_limit", time_limit)
    check_progress(progress)
    table = Table.read(data)
    if not table.variables:
        raise InvalidArgument("The data have no columns, so that there are no variables to learn about.")
    name = method if isinstance(method, str) else type(method).__name__
    learner = _learner(method)
    _check_options(learner, name, options)
    if start is not None and isinstance(method, str) and method not in (*LOCAL_METHODS, "ges"):
        raise InvalidArgument(f"{method!r} has no start; only local searches have one.")
    read, statistics = read_score(score or _usual_score(table, name)), TableStatistics(table)
    scores = read.on(statistics)
    task = StructureTask(
        scores,
        Knowledge.read(knowledge),
        start,
        int(seed) if isinstance(seed, int | np.integer) and seed >= 0 else int(generator_of(seed).integers(2**62)),
        progress,
        None if time_limit is None else began + time_limit,
        read,
        statistics,
    )
    found = learner(task, **options)
    seconds = time.monotonic() - began
    value = scores.graph(found.graph)
    return StructureResult(
        found.graph,
        value,
        found.trace,
        name,
        found.stopped,
        found.steps,
        seconds,
        max(found.bound, value),
        scores,
        table,
    )


def _learner(method: str | SearchMethod) -> Callable[..., Found]:
    if isinstance(method, SearchMethod):
        return lambda task: search_in_stages(task, [method])
    if method.lower() in _CONSTRAINT_BASED:
        raise InvalidArgument(
            f"{method!r} finds no single graph, but a class of graphs by tests: call plausible.learn."
            f"{_CONSTRAINT_BASED[method.lower()]}, whose result has a .network(data)."
        )
    if method not in METHODS:
        meant = _SHORT.get(method.lower(), method)
        raise InvalidArgument(f"{method!r} is no method.{_close(meant, METHODS)} There are {', '.join(METHODS)}.")
    return METHODS[method]


def _close(name: str, known: Iterable[str]) -> str:
    """Those like a name, if there are any; for messages that list all of them anyway."""
    hint = suggestion(name, known)
    return hint if "Did you mean" in hint else ""


def _check_options(learner: Callable[..., Found], name: str, options: Mapping[str, Any]) -> None:
    """Refuse options that a method does not have, and ask for those that it needs."""
    known = dict(list(inspect.signature(learner).parameters.items())[1:])
    for option in options:
        if option not in known:
            has = f"It has {', '.join(known)}." if known else "It has none."
            raise InvalidArgument(f"{name!r} has no option {option!r}.{_close(option, known)} {has}")
    for option, parameter in known.items():
        if parameter.default is inspect.Parameter.empty and option not in options:
            raise InvalidArgument(f"{name!r} needs {option}=.")


def _usual_score(table: Table, name: str) -> str:
    """BIC or the likelihood, for the kind of variables there are."""
    kind = "log-likelihood" if name in _BY_LIKELIHOOD else "bic"
    if not table.continuous:
        return kind
    return f"conditional-gaussian-{kind}" if table.discrete else f"gaussian-{kind}"
