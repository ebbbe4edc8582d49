"""The searches of `plausible learn`: by a score or by tests, repeated on samples of the rows, within a time limit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from plausible.cli.charts import Drawn
from plausible.data import Statistics, Table
from plausible.errors import InvalidArgument, counted
from plausible.graphs import DAG, PDAG
from plausible.learn import ConstraintResult, EdgeStrengths, Knowledge, WeightedGraphs, pc
from plausible.learn.confidence.resampling import Samples, rows_of
from plausible.learn.constraint_based.orientation import Variant
from plausible.learn.constraint_based.skeleton import SkeletonProgress
from plausible.learn.incomplete_structures.missing import Missing
from plausible.learn.learned_structure import StructureResult, learn_structure, usual_score
from plausible.search import Clock, SearchState
from plausible.search.checkpoint import StayingFile, checkpointed

#: Called with the fraction done (`None` where nobody knows) and a note.
Advance = Callable[..., None]

#: Option -> the methods that take it.
_METHODS_OF = {"--class": ("tan",), "--order": ("k2",), "--alpha": ("pc", "mmhc"), "--variant": ("pc",)}


#: What comes after the search, in files beside its checkpoint.
_STAGES = ("", "samples", "em")


def stage(checkpoint: Path | None, name: str = "") -> StayingFile | None:
    """The checkpoint of the search, or of what comes after it: that file stays until all is done."""
    return None if checkpoint is None else StayingFile(f"{checkpoint}.{name}".rstrip("."))


def remove_stages(checkpoint: Path) -> None:
    """All is done."""
    for name in _STAGES:
        Path(f"{stage(checkpoint, name)}").unlink(missing_ok=True)


def time_left(clock: Clock) -> float | None:
    """The seconds that are left; `None` where there is no limit."""
    return None if math.isinf(clock.deadline) else clock.seconds_left


def time_used(clock: Clock) -> float | None:
    """How much of the time is over; `None` where there is no limit."""
    if math.isinf(clock.deadline):
        return None
    return 1.0 if clock.is_over else clock.seconds / (clock.deadline - clock.start)


@dataclass(frozen=True, slots=True)
class LearnedGraph:
    """A graph, and how sure one can be of its edges."""

    graph: DAG
    text: str  # how it was found
    score: float | None = None
    score_name: str | None = None
    undirected: frozenset[tuple[str, str]] = frozenset()  # edges that the tests leave without a direction
    strengths: EdgeStrengths | None = None  # how often edges were found in samples of the rows
    num_samples: int = 0
    trace: Callable[[], Drawn] | None = None  # draws how the search or EM went

    def drawn(self) -> Drawn:
        """How sure edges are, how the search went, or the graph: the first of these that is known."""
        if self.strengths is not None:
            return self.strengths.plot()
        return self.graph.picture(focus=None) if self.trace is None else self.trace()


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

    @property
    def named(self) -> list[str]:
        """The variables that options name."""
        return [*self.knowledge.names, *(self.order or ()), *([self.class_variable] if self.class_variable else [])]

    def learn(
        self,
        table: Table | Statistics,
        num_samples: int,
        clock: Clock,
        advance: Advance,
        checkpoint: Path | None = None,
    ) -> LearnedGraph:
        """The graph, and how often its edges are found in samples of the rows."""
        if self.method == "pc" and table.missing:
            name, number = next(iter(table.missing.items()))
            raise InvalidArgument(
                f"{name!r} is missing in {number} of {table.num_rows} rows, and --method pc tests complete rows. Leave "
                "the others out with --missing complete-rows, or choose another --method."
            )

        def report(state: SearchState[Any] | SkeletonProgress) -> None:
            used = time_used(clock)
            advance(None if used is None else used / (1 + num_samples), search_note(state))

        result = self._search(table, clock, report, stage(checkpoint))
        graphs = self._of_samples(table, num_samples, clock, advance, checkpoint) if num_samples else []
        # Samples end in any order; sums over graphs that were sorted are always the same.
        strengths = (
            WeightedGraphs.of(graphs, source=f"bootstrap, {counted(len(graphs), 'sample')}").distinct().strengths()
            if graphs
            else None
        )
        if isinstance(result, StructureResult):
            name = self.score or usual_score(table, self.method)
            return LearnedGraph(
                result.graph, str(result), result.score, name, frozenset(), strengths, len(graphs), result.plot
            )
        dag, lines = result.dag(), {frozenset(edge) for edge in result.graph.undirected_edges}
        undirected = frozenset((str(a), str(b)) for a, b in dag.edges if frozenset((a, b)) in lines)
        stopped = f", {result.stopped_by}" if result.stopped_by else ""
        size = f"{counted(len(dag), 'variable')}, {counted(dag.num_edges, 'edge')}"
        work = f"{counted(sum(result.num_tests), 'test')}, {counted(len(result.conflicts), 'conflict')}{stopped}"
        text = f"pc: {size}, {len(undirected)} of them without a direction ({work})"
        return LearnedGraph(dag, text, undirected=undirected, strengths=strengths, num_samples=len(graphs))

    def _of_samples(
        self, table: Table | Statistics, number: int, clock: Clock, advance: Advance, checkpoint: Path | None
    ) -> list[DAG | PDAG]:
        """The graphs of samples of the rows, as far as there is time."""
        if time_left(clock) == 0:
            return []
        samples = Samples(
            number,
            seed=self.seed,
            time_limit=time_left(clock),
            progress=lambda done, of: advance((1 + done) / (1 + of)),
        )
        # What a checkpoint keeps is whole: then time is up between samples alone.
        each = clock if checkpoint is None else Clock.of(None)

        def graph_of(rows: Table | Statistics) -> DAG | PDAG | None:
            result = self._search(rows, each)
            return None if result.stopped_by == "time limit" else result.graph

        asked = {"data": table, "search": self, "number": number}
        with checkpointed(stage(checkpoint, "samples"), "samples of the rows", lambda: asked) as saved:
            graphs = samples.learn(rows_of(table), graph_of, saved)
        return [graph for graph in graphs if graph is not None]

    def _search(
        self,
        table: Table | Statistics,
        clock: Clock,
        report: Callable[[Any], None] | None = None,
        checkpoint: StayingFile | None = None,
    ) -> StructureResult | ConstraintResult:
        common: dict[str, Any] = {"knowledge": self.knowledge, "progress": report, "time_limit": time_left(clock)}
        if self.method == "pc":
            alpha = 0.05 if self.alpha is None else self.alpha
            return pc(table, alpha=alpha, variant=cast("Variant", self.variant or "majority"), **common)
        options: dict[str, Any] = {"class_variable": self.class_variable, "order": self.order, "alpha": self.alpha}
        options = {name: value for name, value in options.items() if value is not None}
        missing = cast("Missing", self.missing)
        options |= {"seed": self.seed, "missing": missing, "checkpoint": checkpoint, **common}
        return learn_structure(table, self.method, self.score, **options)


def search_note(state: SearchState[Any] | SkeletonProgress) -> str:
    """The state of a search by score, or by tests."""
    if isinstance(state, SkeletonProgress):
        tests, edges = counted(state.num_tests, "test"), counted(state.num_edges, "edge")
        return f": {tests} with {state.level} given, {edges} left"
    return f": step {state.num_steps}, best score {state.best_score:.6g}"


def told_samples(num_samples: int, num_asked: int) -> str:
    """How many samples of the rows were searched."""
    short = "" if num_samples == num_asked else f" of {num_asked}; the time was up: raise --time-limit for more"
    return f"bootstrap: {counted(num_samples, 'sample')}{short}"
