"""Greedy learners that only add edges: K2, which is given an order, and Buntine's B, which is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from plausible.base.tolerances import SCORE_NOISE
from plausible.errors import InvalidArgument
from plausible.graphs import DAG
from plausible.learn.structures.graph_search import GraphSearch
from plausible.learn.structures.task import Found, StructureTask
from plausible.search.local_search import GreedyAscent
from plausible.search.search_state import improves

__all__ = ["learn_buntine", "learn_k2"]


def learn_k2(task: StructureTask, *, order: Sequence[str]) -> Found:
    """Greedy parents along an order: the best predecessor is added as long as it improves the family.

    K2 with the K2 score (Cooper & Herskovits 1992), K3 with a description length or BIC (Bouckaert 1993). A gain must
    be positive: a parent that changes nothing is not added. Not optimal, but acyclic without any check, and a start for
    other searches. O(n²) families for each parent found.

    Parameters
    ----------
    task
        Scores and knowledge.
    order
        All names, causes before effects.

    Examples
    --------
    >>> from plausible.learn.scores.score import FamilyScores
    >>> class Pairs(FamilyScores):
    ...     names = ("A", "B", "C")
    ...     def family(self, child, parents): return -abs(len(list(parents)) - 1.0)
    >>> learn_k2(StructureTask(Pairs()), order=["C", "B", "A"]).graph.edges
    (('B', 'A'), ('C', 'B'))
    """
    names = sorted(task.scores.names)
    constraints = task.knowledge.on(names)
    place = {name: number for number, name in enumerate(names)}
    required = constraints.required_families
    _check_order(order, names)
    parents = {name: [names[parent] for parent in required[place[name]]] for name in names}
    _check_required(parents, order)
    trace = [(0, sum(task.scores.family(name, parents[name]) for name in names))]
    stopped = ""
    for number, name in enumerate(order):
        if stopped := task.stopped(*trace[-1]):
            break
        before, num_before = task.scores.family(name, parents[name]), len(parents[name])
        free = [other for other in sorted(order[:number]) if constraints.allowed[place[other], place[name]]]
        parents[name] = _greedy_parents(task, name, parents[name], free, constraints.max_parents)
        if len(parents[name]) > num_before:
            score = trace[-1][1] + task.scores.family(name, parents[name]) - before
            trace.append((trace[-1][0] + len(parents[name]) - num_before, score))
    edges = sorted((parent, name) for name in names for parent in parents[name])
    return Found(DAG(edges, nodes=task.scores.names), tuple(trace), stopped or "local maximum", trace[-1][0])


def _check_order(order: Sequence[str], names: Sequence[str]) -> None:
    if sorted(order) != names:
        odd = sorted(set(order) ^ set(names)) or sorted({name for name in order if list(order).count(name) > 1})
        raise InvalidArgument(f"order= must list each variable once; look at {', '.join(map(repr, odd[:5]))}.")


def _check_required(parents: Mapping[str, Sequence[str]], order: Sequence[str]) -> None:
    for number, name in enumerate(order):
        late = [parent for parent in parents[name] if parent not in order[:number]]
        if late:
            raise InvalidArgument(f"The required edge {late[0]} -> {name} is against order=.")


def _greedy_parents(
    task: StructureTask, child: str, required: Sequence[str], candidates: Sequence[str], most: int
) -> list[str]:
    parents = list(required)
    score = task.scores.family(child, parents)
    while len(parents) < most:
        left = [other for other in candidates if other not in parents]
        if not left:
            break
        scores = task.scores.extended(child, parents, left)
        top = float(scores.max())
        if not improves(top - score, score):
            break
        first = int((scores >= top - SCORE_NOISE * max(1.0, abs(top))).argmax())
        parents.append(left[first])
        score = float(scores[first])
    return parents


def learn_buntine(task: StructureTask, *, max_steps: int | None = None) -> Found:
    """Buntine's B: from no edges, the best edge anywhere that closes no cycle is added as long as it improves.

    Of Buntine (1991). It needs no order, and differs from hill climbing in that it takes nothing back.

    Parameters
    ----------
    task
        Scores and knowledge.
    max_steps
        At most so many edges are added; `None` for no limit.

    Examples
    --------
    >>> from plausible.learn.scores.score import FamilyScores
    >>> class Pairs(FamilyScores):
    ...     names = ("A", "B", "C")
    ...     def family(self, child, parents): return -abs(len(list(parents)) - 1.0)
    >>> learn_buntine(StructureTask(Pairs())).graph.edges
    (('B', 'A'), ('C', 'B'))
    """
    problem = GraphSearch(task.scores, task.knowledge, only_additions=True)
    state = GreedyAscent(max_steps=max_steps).run(problem, problem.start, progress=task.is_over)
    is_late = state.stopped_by == "interrupted" and task.is_late()
    stopped = "time limit" if is_late else "local maximum" if state.stopped_by == "no operator" else state.stopped_by
    return Found(problem.graph(state.best), state.trace, stopped, state.num_steps)
