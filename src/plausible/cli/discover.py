"""`plausible discover`: what data tell about causes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias, cast

import typer

from plausible.causal.discovery.fci import fci
from plausible.cli.data import ContinuousColumns, DataFile, MissingMarkers, StateColumns, read_data
from plausible.cli.graph_learning import Deadline, search_note
from plausible.cli.output import AsJson, print_json, print_line
from plausible.cli.progress import ShowProgress, progress_bar
from plausible.data.table import Table
from plausible.errors import InvalidArgument, counted, suggestion
from plausible.graphs import PAG, PDAG
from plausible.learn.confidence.bootstrap import Samples
from plausible.learn.constraint_based.pc import pc
from plausible.learn.incomplete_structures.available import complete_rows
from plausible.learn.incomplete_structures.missing import Missing
from plausible.learn.scores.reading import SCORES
from plausible.learn.structures.knowledge import Knowledge
from plausible.learn.structures.structure import learn_structure, usual_score

__all__ = ["EXAMPLES", "NAME", "run"]

NAME = "discover"
EXAMPLES = (
    "plausible sample asia -n 2000 --seed 1 -o data.csv",
    "plausible discover data.csv",
    "plausible discover data.csv --method pc --alpha 0.01 --forbidden 'dysp -> smoke'",
    "plausible discover data.csv --method ges --score bdeu --bootstrap 10",
)

#: A class of causal graphs that data do not tell apart.
GraphClass: TypeAlias = "PAG | PDAG"

_BY_TESTS = ("fci", "pc")
_BY_SCORE = ("ges", "hill-climbing")


class _Found(NamedTuple):
    """A class of graphs, how it was found, and why the search stopped early: "" if it did not."""

    graph: GraphClass
    text: str
    stopped: str


def run(
    data: DataFile,
    method: Annotated[str, typer.Option(help=f"{', '.join((*_BY_TESTS, *_BY_SCORE))}.")] = "fci",
    alpha: Annotated[
        float | None, typer.Option(help="The level of tests, for fci and pc.", show_default="0.05")
    ] = None,
    score: Annotated[
        str | None,
        typer.Option(help=f"For ges and hill-climbing: {', '.join(SCORES)}.", show_default="bic that fits the data"),
    ] = None,
    required: Annotated[str, typer.Option(help="Edges that must be there: 'A -> B; A -> C'.")] = "",
    forbidden: Annotated[str, typer.Option(help="Edges that must not; for fci, A is no cause of B.")] = "",
    bootstrap: Annotated[
        int, typer.Option(min=0, help="Search again in so many samples of the rows: how sure is each edge?")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="A whole number: the same one gives the same answer.")] = 0,
    time_limit: Annotated[
        float | None, typer.Option(min=0, help="Seconds after which searches stop.", show_default=False)
    ] = None,
    missing: Annotated[
        str,
        typer.Option(help="Empty cells: sem (completed by a model), available or pairwise by a score; complete-rows."),
    ] = "sem",
    na: MissingMarkers = None,
    continuous: ContinuousColumns = None,
    states: StateColumns = None,
    progress: ShowProgress = None,
    as_json: AsJson = False,
) -> None:
    """Find the causal graphs that data do not contradict, as one graph in arrow text.

    fci allows for hidden common causes: A -> B is a cause, A <-> B a hidden common one, a circle leaves open what is at
    that end. The others take all common causes to be there as columns: A - B may be either direction. --bootstrap tells
    in what share of the samples each edge was found, with any marks and with those that it has.
    """
    search = _Search(method, alpha, score, Knowledge(required, forbidden), seed, missing)
    deadline = Deadline.after(time_limit)
    table = search.usable(read_data(data, missing_values=na, continuous=continuous, states=states))
    with progress_bar(f"searching {Path(data).name}", progress) as advance:
        found = search.find(table, deadline, lambda state: advance(deadline.fraction, search_note(state)))
        samples: list[_Found] = []
        if bootstrap and deadline.left != 0:
            plan = Samples(
                bootstrap,
                seed=seed,
                time_limit=deadline.left,
                progress=lambda done, of: advance(done / of, ": samples"),
            )
            samples = plan.learn(table, lambda rows: search.find(rows, deadline))
    whole = [sample.graph for sample in samples if not sample.stopped]
    _tell(found, whole, bootstrap, as_json=as_json)


@dataclass(frozen=True, slots=True)
class _Search:
    """What was asked for on the command line."""

    method: str
    alpha: float | None
    score: str | None
    knowledge: Knowledge
    seed: int
    missing: str

    def __post_init__(self) -> None:
        known = (*_BY_TESTS, *_BY_SCORE)
        if self.method not in known:
            raise InvalidArgument(f"--method {self.method!r} is no search for causes.{suggestion(self.method, known)}")
        if self.alpha is not None and self.method in _BY_SCORE:
            raise InvalidArgument(f"--alpha is for --method {' or '.join(_BY_TESTS)}: {self.method} makes no tests.")
        if self.score is not None and self.method in _BY_TESTS:
            raise InvalidArgument(
                f"--score is for --method {' or '.join(_BY_SCORE)}: {self.method} goes by tests of independence."
            )

    def usable(self, table: Table) -> Table:
        """The rows that the search can use."""
        if not table.missing:
            return table
        if self.missing == "complete-rows":
            return complete_rows(table)
        if self.method in _BY_TESTS:
            name, number = next(iter(table.missing.items()))
            raise InvalidArgument(
                f"{name!r} is missing in {number} of {table.num_rows} rows, and --method {self.method} tests complete "
                "rows. Leave the others out with --missing complete-rows, or choose another --method."
            )
        return table

    def find(self, table: Table, deadline: Deadline, report: Callable[[Any], None] | None = None) -> _Found:
        """The graphs that these rows do not contradict."""
        if self.method in _BY_TESTS:
            learn: Any = fci if self.method == "fci" else pc
            alpha = 0.05 if self.alpha is None else self.alpha
            tested = learn(table, alpha=alpha, knowledge=self.knowledge, progress=report, time_limit=deadline.left)
            text = f"{self.method} at alpha {alpha:g}: {str(tested).splitlines()[0]}"
            return _Found(tested.graph, text, tested.stopped)
        result = learn_structure(
            table,
            self.method,
            self.score,
            self.knowledge,
            seed=self.seed,
            progress=report,
            time_limit=deadline.left,
            missing=cast("Missing", self.missing),
        )
        name = self.score or usual_score(table, self.method)
        text = f"{self.method}: {counted(result.graph.num_edges, 'edge')}, {name} {result.score:.6g}, {result.stopped}"
        stopped = result.stopped if result.stopped in ("time limit", "interrupted") else ""
        return _Found(result.equivalence_class, text, stopped)


def _tell(found: _Found, samples: list[GraphClass], num_asked: int, *, as_json: bool) -> None:
    edges: list[dict[str, Any]] = []
    for edge in found.graph.edges:
        here = [graph.edges_between(edge.left, edge.right) for graph in samples]
        shares = (
            {
                "strength": round(sum(map(bool, here)) / len(samples), 6),
                "as_marked": round(sum(edge in between for between in here) / len(samples), 6),
            }
            if samples
            else {}
        )
        edges.append({"edge": str(edge), "left": edge.left, "marks": edge.symbol, "right": edge.right, **shares})
    if as_json:
        facts = {"kind": type(found.graph).__name__, "graph": str(found.graph), "found": found.text}
        drawn = {"bootstrap_samples": len(samples)} if num_asked else {}
        print_json({**facts, "stopped": found.stopped, **drawn, "nodes": list(found.graph.nodes), "edges": edges})
        return
    print_line(found.text)
    if num_asked:
        short = "" if len(samples) == num_asked else f" of {num_asked}; the time was up: raise --time-limit for more"
        print_line(f"bootstrap: {counted(len(samples), 'sample')}{short}")
    if not samples:
        print_line(str(found.graph))
    for told in edges if samples else ():
        print_line(f"  {told['edge']}  {told['strength']:.0%}, as marked {told['as_marked']:.0%}")
