"""The searches of `plausible learn`: by a score or by tests, repeated on samples of the rows, within a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from plausible.data.table import Table
from plausible.errors import InvalidArgument, counted
from plausible.graphs import DAG, PDAG
from plausible.learn.confidence.bootstrap import bootstrap as bootstrap_graphs
from plausible.learn.confidence.weighted_graphs import EdgeStrengths, WeightedGraphs
from plausible.learn.constraint_based.colliders import Variant
from plausible.learn.constraint_based.pc import ConstraintResult, pc
from plausible.learn.constraint_based.skeleton import SkeletonProgress
from plausible.learn.incomplete_structures.missing import Missing
from plausible.learn.learned_structure import learn_structure, usual_score
from plausible.learn.structures.knowledge import Knowledge
from plausible.learn.structures.result import StructureResult
from plausible.search.search_state import SearchState

#: Called with the fraction done (`None` where nobody knows) and a note.
Advance = Callable[..., None]

#: Option -> the methods that take it.
_METHODS_OF = {"--class": ("tan",), "--order": ("k2",), "--alpha": ("pc", "mmhc"), "--variant": ("pc",)}


@dataclass(frozen=True, slots=True)
class Deadline:
    """When searches have to stop; `None` for never."""

    began: float
    time_limit: float | None

    @classmethod
    def after(cls, time_limit: float | None) -> Deadline:
        """So many seconds from now."""
        return cls(time.monotonic(), time_limit)

    @property
    def fraction(self) -> float | None:
        """How much of the time is over."""
        if self.time_limit is None:
            return None
        return min(1.0, (time.monotonic() - self.began) / self.time_limit) if self.time_limit else 1.0

    @property
    def left(self) -> float | None:
        """The seconds that are left."""
        return None if self.time_limit is None else max(0.0, self.began + self.time_limit - time.monotonic())


@dataclass(frozen=True, slots=True)
class LearnedGraph:
    """A graph, and how sure one can be of its edges."""

    graph: DAG  # one graph
    text: str  # how it was found
    score: float | None = None  # its score, where it has one
    score_name: str | None = None  # which score that is
    #: Edges that the tests leave without a direction, as the graph has them.
    undirected: frozenset[tuple[str, str]] = frozenset()
    strengths: EdgeStrengths | None = None  # how often edges were found in samples of the rows
    num_samples: int = 0  # how many samples that were

    def described_edges(self) -> list[dict[str, Any]]:
        """For each edge its ends, whether its direction was found, and its strengths."""
        edges = []
        for parent, child in ((str(parent), str(child)) for parent, child in self.graph.edges):
            edge: dict[str, Any] = {
                "parent": parent,
                "child": child,
                "directed": (parent, child) not in self.undirected,
            }
            if self.strengths is not None:
                edge["strength"] = round(self.strengths.strength(parent, child), 6)
                edge["as_directed"] = round(self.strengths.edge(parent, child), 6)
            edges.append(edge)
        return edges


@dataclass(frozen=True, slots=True)
class Search:
    """What was asked for on the command line."""

    method: str
    score: str | None
    knowledge: Knowledge
    class_variable: str | None
    order: list[str] | None
    alpha: float | None
    variant: str | None
    seed: int
    missing: str

    def __post_init__(self) -> None:
        given = zip(_METHODS_OF, (self.class_variable, self.order, self.alpha, self.variant), strict=True)
        for option, value in given:
            methods = _METHODS_OF[option]
            if value is None and self.method in methods and option in ("--class", "--order"):
                raise InvalidArgument(f"--method {self.method} needs {option}.")
            if value is not None and self.method not in methods:
                raise InvalidArgument(
                    f"{option} is for --method {' or '.join(methods)}: {self.method} makes no use of it."
                )
        if self.method == "pc" and self.score is not None:
            raise InvalidArgument("--method pc goes by tests of independence, so that --score has no effect.")

    def learn(self, table: Table, num_samples: int, deadline: Deadline, advance: Advance) -> LearnedGraph:
        """The graph, and how often its edges are found in samples of the rows."""
        if self.method == "pc" and table.missing:
            name, number = next(iter(table.missing.items()))
            raise InvalidArgument(
                f"{name!r} is missing in {number} of {table.num_rows} rows, and --method pc tests complete rows. Leave "
                "the others out with --missing complete-rows, or choose another --method."
            )

        def report(state: SearchState[Any] | SkeletonProgress) -> None:
            fraction = deadline.fraction
            advance(None if fraction is None else fraction / (1 + num_samples), search_note(state))

        result = self._search(table, deadline, report)
        graphs = self._samples(table, num_samples, deadline, advance)
        # Samples end in any order; sums over graphs that were sorted are always the same.
        strengths = WeightedGraphs.of(graphs).distinct().strengths() if graphs else None
        if isinstance(result, StructureResult):
            name = self.score or usual_score(table, self.method)
            return LearnedGraph(
                result.graph, str(result), result.score, name, strengths=strengths, num_samples=len(graphs)
            )
        dag, lines = result.dag(), {frozenset(edge) for edge in result.graph.undirected_edges}
        undirected = frozenset((str(a), str(b)) for a, b in dag.edges if frozenset((a, b)) in lines)
        stopped = f", {result.stopped_by}" if result.stopped_by else ""
        size = f"{counted(len(dag), 'variable')}, {counted(dag.num_edges, 'edge')}"
        work = f"{counted(sum(result.num_tests), 'test')}, {counted(len(result.conflicts), 'conflict')}{stopped}"
        text = f"pc: {size}, {len(undirected)} of them without a direction ({work})"
        return LearnedGraph(dag, text, undirected=undirected, strengths=strengths, num_samples=len(graphs))

    def _search(
        self, table: Table, deadline: Deadline, report: Callable[[Any], None] | None = None
    ) -> StructureResult | ConstraintResult:
        if self.method == "pc":
            return pc(
                table,
                alpha=0.05 if self.alpha is None else self.alpha,
                variant=cast("Variant", self.variant or "stable"),
                knowledge=self.knowledge,
                progress=report,
                time_limit=deadline.left,
            )
        options: dict[str, Any] = {"class_variable": self.class_variable, "order": self.order, "alpha": self.alpha}
        return learn_structure(
            table,
            self.method,
            self.score,
            self.knowledge,
            seed=self.seed,
            progress=report,
            time_limit=deadline.left,
            missing=cast("Missing", self.missing),
            **{name: value for name, value in options.items() if value is not None},
        )

    def _samples(self, table: Table, num_samples: int, deadline: Deadline, advance: Advance) -> list[DAG | PDAG]:
        """The graphs of samples of the rows, without those whose search was cut short."""
        if not num_samples or deadline.left == 0:
            return []
        results: list[StructureResult | ConstraintResult] = []

        def sample(rows: Table) -> StructureResult | ConstraintResult:
            found = self._search(rows, deadline)
            results.append(found)
            return found

        def report(done: int, of: int) -> None:
            advance((1 + done) / (1 + of))

        bootstrap_graphs(table, sample, num_samples, seed=self.seed, progress=report, time_limit=deadline.left)
        return [result.graph for result in results if result.stopped_by != "time limit"]


def search_note(state: SearchState[Any] | SkeletonProgress) -> str:
    """The state of a search by score, or by tests."""
    if isinstance(state, SkeletonProgress):
        tests, edges = counted(state.num_tests, "test"), counted(state.num_edges, "edge")
        return f": {tests} with {state.level} given, {edges} left"
    return f": step {state.num_steps}, best score {state.best_score:.6g}"
