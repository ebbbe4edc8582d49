"""`plausible discover`: what data tell about causes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias, cast

from plausible.causal import InterventionalStep, fci, gies, regimes
from plausible.cli import options
from plausible.cli.causal_graphs import graph_text, is_model
from plausible.cli.commands import command
from plausible.cli.data import read_columns, whole_rows
from plausible.cli.graph_learning import search_note, time_left, time_used, told_samples
from plausible.cli.options import option
from plausible.cli.output import input_name, is_standard, json_text, print_answer
from plausible.cli.terminal import progress_bar
from plausible.data.column_types import are_targets
from plausible.data.table import Table
from plausible.errors import InvalidArgument, counted, suggestion
from plausible.graphs import PAG, PDAG, interventional_essential_graph
from plausible.learn import SCORES, Knowledge, pc
from plausible.learn.confidence.resampling import Samples
from plausible.learn.incomplete_structures.missing import Missing
from plausible.learn.learned_structure import learn_structure, usual_score
from plausible.search.run import Clock

#: A class of causal graphs that data do not tell apart.
GraphClass: TypeAlias = "PAG | PDAG"

_BY_TESTS = ("fci", "pc")
_BY_SCORE = ("ges", "hill-climbing", "gies")
_BY_EXPERIMENTS = ("gies", "hill-climbing")
_NEED_ALL_CELLS = (*_BY_TESTS, "gies")


class _Found(NamedTuple):
    """A class of graphs, how it was found, and why the search stopped early: "" if it did not."""

    graph: GraphClass
    text: str
    stopped: str


@command(
    examples=(
        "plausible sample asia -n 2000 --seed 1 -o data.csv",
        "plausible discover data.csv",
        "plausible discover data.csv --method pc --alpha 0.01 --forbidden 'dysp -> smoke'",
        "plausible discover data.csv --method ges --score bdeu --bootstrap 10",
        "plausible discover data.csv --method ges -o graph.txt",
        "plausible effect data.csv --graph graph.txt --effect 'either => xray=yes'",
    )
)
def run_discover(
    data: options.DataFile,
    method: Annotated[str, option(f"{', '.join((*_BY_TESTS, *_BY_SCORE))}.")] = "fci",
    alpha: Annotated[float | None, option("The level of tests, for fci and pc.", show_default="0.05")] = None,
    score: Annotated[
        str | None, option(f"For {', '.join(_BY_SCORE)}: {', '.join(SCORES)}.", show_default="bic that fits the data")
    ] = None,
    required: Annotated[str, option("Edges that must be there: 'A -> B; A -> C'.")] = "",
    forbidden: Annotated[str, option("Edges that must not; for fci, A is no cause of B.")] = "",
    interventions: options.SearchedExperiments = None,
    bootstrap: Annotated[int, option("Search again in so many samples of the rows: how sure is each edge?", min=0)] = 0,
    seed: options.Seed = 0,
    time_limit: Annotated[float | None, option("Seconds after which searches stop.", min=0)] = None,
    missing: Annotated[
        str, option("Empty cells: sem (completed by a model), available or pairwise by a score; complete-rows.")
    ] = "sem",
    na: options.MissingMarkers = None,
    continuous: options.ContinuousColumns = None,
    states: options.StateColumns = None,
    output: Annotated[
        Path | None, option("Write the graph for other commands: a .json file, or text.", "--output", "-o")
    ] = None,
    progress: options.ShowProgress = None,
    as_json: options.AsJson = False,
) -> None:
    """Find the causal graphs that data do not contradict.

    They are printed as one graph in arrow text. fci allows for hidden common causes: A -> B is a cause, A <-> B a
    hidden common one, a circle leaves open what is at that end. The others take all common causes to be there as
    columns: A - B may be either direction; gies learns from rows of experiments, too. --bootstrap tells in what share
    of the samples each edge was found, with any marks and with those that it has. What is printed is a graph for
    --graph of other commands, with comments after #.
    """
    search = _Search(method, alpha, score, Knowledge(required, forbidden), seed, missing, interventions)
    if output is not None and is_model(str(output)) and output.suffix.lower() != ".json":
        raise InvalidArgument(f"--output {str(output)!r} has the ending of a network: write a .txt or .json file.")
    clock = Clock.of(time_limit)
    columns = read_columns(data, missing_values=na, continuous=continuous, states=states)
    table = search.usable(columns.table(interventions=interventions))
    with progress_bar(f"searching {input_name(data.name)}", progress) as advance:
        found = search.find(table, clock, lambda state: advance(time_used(clock), _note(state)))
        samples: list[_Found] = []
        if bootstrap and time_left(clock) != 0:
            plan = Samples(
                bootstrap,
                seed=seed,
                time_limit=time_left(clock),
                progress=lambda done, of: advance(done / of, ": samples"),
            )
            samples = plan.learn(table, lambda rows: search.find(rows, clock))
    whole = [sample.graph for sample in samples if not sample.stopped]
    edges = _described(found.graph, whole)
    document, text = _document(found, edges, whole, bootstrap), _text(found, edges, whole, bootstrap)
    if output is not None and not is_standard(output):
        is_document = output.suffix.lower() == ".json"
        output.write_text((json_text(document) if is_document else text) + "\n", encoding="utf-8")
    print_answer(text, document, as_json=as_json)


@dataclass(frozen=True, slots=True)
class _Search:
    """What was asked for on the command line."""

    method: str
    alpha: float | None
    score: str | None
    knowledge: Knowledge
    seed: int
    missing: str
    interventions: str | None

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
        if self.interventions is not None and self.method not in _BY_EXPERIMENTS:
            raise InvalidArgument(
                f"--interventions is for --method {' or '.join(_BY_EXPERIMENTS)}: {self.method} takes every row for an "
                "observation."
            )

    def usable(self, table: Table) -> Table:
        """The rows that the search can use."""
        if not table.missing:
            return table
        if self.missing == "complete-rows":
            return whole_rows(table)
        if self.method in _NEED_ALL_CELLS:
            name, number = next(iter(table.missing.items()))
            hint = ""
            if are_targets(table.variables[name].states, table.variables):
                hint = f" If the column names what was set in each row: --method gies --interventions {name}."
            raise InvalidArgument(
                f"{name!r} is missing in {number} of {table.num_rows} rows, and --method {self.method} needs complete "
                f"ones. Leave the others out with --missing complete-rows, or choose another --method.{hint}"
            )
        return table

    def find(self, table: Table, clock: Clock, report: Callable[[Any], None] | None = None) -> _Found:
        """The graphs that these rows do not contradict."""
        if self.method in _BY_TESTS:
            learn: Any = fci if self.method == "fci" else pc
            alpha = 0.05 if self.alpha is None else self.alpha
            tested = learn(table, alpha=alpha, knowledge=self.knowledge, progress=report, time_limit=time_left(clock))
            text = f"{self.method} at alpha {alpha:g}: {str(tested).splitlines()[0]}"
            return _Found(tested.graph, text, tested.stopped_by)
        name = self.score or usual_score(table, self.method)
        if self.method == "gies":
            members = gies(table, self.score, self.knowledge, progress=report, time_limit=time_left(clock))
            return self._by_score(members.graph, members.graph.num_edges, name, members.score, members.stopped_by)
        result = learn_structure(
            table,
            self.method,
            self.score,
            self.knowledge,
            seed=self.seed,
            progress=report,
            time_limit=time_left(clock),
            missing=cast("Missing", self.missing),
        )
        graph = result.equivalence_class
        if table.interventions:
            graph = interventional_essential_graph(result.graph, [regime.targets for regime in regimes(table)])
        return self._by_score(graph, result.graph.num_edges, name, result.score, result.stopped_by)

    def _by_score(self, graph: PDAG, num_edges: int, name: str, score: float, stopped: str) -> _Found:
        text = f"{self.method}: {counted(num_edges, 'edge')}, {name} {score:.6g}, {stopped}"
        return _Found(graph, text, stopped if stopped in ("time limit", "interrupted") else "")


def _note(state: Any) -> str:
    if isinstance(state, InterventionalStep):
        return f": step {state.num_steps}, best score {state.score:.6g}"
    return search_note(state)


def _described(graph: GraphClass, samples: list[GraphClass]) -> list[dict[str, Any]]:
    """For each edge its ends and marks, and how often it was found."""
    edges: list[dict[str, Any]] = []
    for edge in graph.edges:
        here = [sample.edges_between(edge.left, edge.right) for sample in samples]
        shares = (
            {
                "strength": round(sum(map(bool, here)) / len(samples), 6),
                "as_marked": round(sum(edge in between for between in here) / len(samples), 6),
            }
            if samples
            else {}
        )
        edges.append({"edge": str(edge), "left": edge.left, "marks": edge.symbol, "right": edge.right, **shares})
    return edges


def _document(found: _Found, edges: list[dict[str, Any]], samples: list[GraphClass], num_asked: int) -> dict[str, Any]:
    facts = {"kind": type(found.graph).__name__, "graph": str(found.graph), "found": found.text}
    drawn = {"bootstrap_samples": len(samples)} if num_asked else {}
    return {**facts, "stopped": found.stopped, **drawn, "nodes": list(found.graph.nodes), "edges": edges}


def _text(found: _Found, edges: list[dict[str, Any]], samples: list[GraphClass], num_asked: int) -> str:
    """The graph after comments that say how it was found."""
    lines = [f"# {found.text}"]
    if num_asked:
        lines.append(f"# {told_samples(len(samples), num_asked)}")
    if samples:
        lines += [f"#   {one['edge']}  {one['strength']:.0%}, as marked {one['as_marked']:.0%}" for one in edges]
    return "\n".join([*lines, graph_text(found.graph)])
