"""Learning from rows that were dropped on the page: what columns are, a graph, its numbers, how sure and good it is."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from plausible.base.records import format_number, one_line
from plausible.data import Table
from plausible.errors import InvalidArgument
from plausible.learn import Knowledge, bootstrap, calibration, parameters, pc, roc_curve, structure
from plausible.learn.estimation.priors import LIGHT_PRIOR
from plausible.models import compare
from plausible.studio.asked import Asked
from plausible.studio.desk import Desk
from plausible.studio.files import stem
from plausible.studio.intervals import are_numbers, in_intervals
from plausible.studio.runs import Tell
from plausible.studio.seeing import told_of

if TYPE_CHECKING:
    import pandas as pd

#: The methods that the page offers, and what people read of them.
METHODS: Final[Mapping[str, str]] = {
    "hill-climbing": "search by score (usual)",
    "tabu": "tabu search",
    "ges": "equivalence classes (GES)",
    "chow-liu": "best tree (Chow-Liu)",
    "pc": "tests of independence (PC)",
    "exact": "the best graph of all (few variables)",
}
#: No more samples of a bootstrap are drawn.
MOST_SAMPLES = 1000


def rows(desk: Desk, asked: Asked) -> dict[str, Any]:
    """What the columns of some rows are."""
    table = desk.table(asked.text("table"))
    missing = table.missing
    columns = [
        {
            "name": name,
            "isContinuous": variable.is_continuous,
            "canBeCut": are_numbers(variable),
            "states": [] if variable.is_continuous else [one_line(str(state)) for state in variable.states[:12]],
            "numStates": 0 if variable.is_continuous else variable.num_states,
            "missing": missing.get(name, 0),
            "doubt": table.doubtful.get(name, ""),
        }
        for name, variable in table.variables.items()
    ]
    return {"numRows": table.num_rows, "columns": columns, "methods": [list(pair) for pair in METHODS.items()]}


def learn(desk: Desk, asked: Asked, tell: Tell) -> dict[str, Any]:
    """A network learned from rows: its graph, then its numbers; stopped early, the best found so far."""
    table, method = _chosen(desk, asked), asked.text("method", "hill-climbing")
    if method not in METHODS:
        raise InvalidArgument(f"{method!r} is no method that the page offers: {', '.join(METHODS)}.")
    known = Knowledge(
        required=_pairs(asked, "required"),
        forbidden=_pairs(asked, "forbidden"),
        tiers=[tier for tier in asked.items("tiers", []) if tier],
    )

    def progress(state: Any) -> bool:
        return tell(lambda: {"text": _news(state)})

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if method == "pc":
            graph, told = pc(table, knowledge=known).dag(), "found by tests of independence"
        else:
            found = structure(table, method, knowledge=known, progress=None if method == "chow-liu" else progress)
            graph, told = found.graph, str(found)
        tell(lambda: {"text": "learning the numbers"})
        network = parameters(graph, table, LIGHT_PRIOR)
    version = desk.put(network, f"{stem(desk.table_name(asked.text('table')))}.json")
    notes = list(dict.fromkeys(str(warning.message) for warning in caught))
    return {"outline": told_of(version), "text": told, "notes": notes}


def fit(desk: Desk, asked: Asked, tell: Tell) -> dict[str, Any]:
    """The network at hand with numbers learned from rows; cells may be missing."""
    before = desk.version(asked.text("model"))
    network = desk.network(before.number)
    table = Table.read(_chosen(desk, asked), variables=network.variables, columns=list(network.variables))
    tell(lambda: {"text": "learning the numbers"})
    fitted = parameters(network.graph, table, LIGHT_PRIOR).with_notes(network.notes)
    return {
        "outline": told_of(desk.put(fitted, before.name, before)),
        "text": "The numbers are those of the rows.",
        "notes": [],
    }


def strengths(desk: Desk, asked: Asked, tell: Tell) -> dict[str, Any]:
    """How sure each edge is: the share of graphs that have it, each learned from a sample of the rows."""
    table, num = _chosen(desk, asked), asked.whole("samples", 100)
    if not 2 <= num <= MOST_SAMPLES:
        raise InvalidArgument(f"The number of samples is 2 to {MOST_SAMPLES}, not {num}.")

    def progress(done: int, all_of_them: int) -> bool:
        return tell(lambda: {"text": f"{done} of {all_of_them} samples", "share": done / all_of_them})

    found = bootstrap(table, partial(structure, escapes=0), num, progress=progress).strengths()
    edges = [
        {"ends": [source, target], "strength": strength, "direction": direction}
        for source, target, strength, direction in found.to_frame()[["from", "to", "strength", "direction"]].itertuples(
            index=False
        )
        if direction >= 0.5
    ]
    return {"edges": edges, "threshold": found.threshold}


def check(desk: Desk, asked: Asked) -> dict[str, Any]:
    """How well the network at hand explains rows, and predicts one of their columns from all others."""
    network = desk.network(asked.text("model"))
    table = Table.read(_chosen(desk, asked), variables=network.variables, columns=list(network.variables))
    engine = network.compile()
    losses = -engine.log_likelihood(_frame(table))
    told: dict[str, Any] = {"loss": losses.mean(), "error": losses.std() / max(len(losses), 1) ** 0.5, "target": None}
    if asked.has("target"):
        told["target"] = _prediction(engine, table, asked)
    return told


def _prediction(engine: Any, table: Table, asked: Asked) -> dict[str, Any]:
    """How well one column is predicted from all others, in the rows that tell it."""
    target = asked.text("target")
    known = table.take(table.column(target) >= 0)
    chances, truth = engine.predict_proba(_frame(known).drop(columns=target), target), known.column(target)
    states = known.variables[target].states
    state = states[asked.whole("state", len(states) - 1)]
    cells = [states[place] for place in truth.tolist()]
    bins = calibration(cells, chances, state)
    return {
        "name": target,
        "state": one_line(str(state)),
        "accuracy": (chances.to_numpy().argmax(1) == truth).mean(),
        "area": roc_curve(cells, chances, state).area,
        "calibration": [list(pair) for pair in zip(bins.predicted.tolist(), bins.observed.tolist(), strict=True)],
    }


def comparison(desk: Desk, asked: Asked) -> dict[str, Any]:
    """What another network has that this one has not: in words, and drawn."""
    first, second = desk.network(asked.text("model")), desk.network(asked.text("other"))
    found = compare(first, second)
    return {"text": str(found), "svg": found.picture().svg}


def _chosen(desk: Desk, asked: Asked) -> Table:
    """The rows with the columns that were chosen, those numbers in intervals that should be."""
    table = desk.table(asked.text("table"))
    return in_intervals(Table.read(table, columns=asked.texts("columns", list(table.variables))), asked)


def _frame(table: Table) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({name: table.values(name) for name in table.variables})


def _pairs(asked: Asked, name: str) -> list[tuple[str, str]]:
    pairs = asked.items(name, [])
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise InvalidArgument(f"{name!r} is a list of pairs of names, causes first.")
    return [(str(parent), str(child)) for parent, child in pairs]


def _news(state: Any) -> str:
    score = getattr(state, "best_score", None)
    steps = getattr(state, "num_steps", 0)
    return f"step {steps}" + (f", score {format_number(score)}" if score is not None else "")


#: Work that takes its time, by the names that pages call it by.
RUNS: Final[Mapping[str, Callable[[Desk, Asked, Tell], dict[str, Any]]]] = {
    "learn": learn,
    "fit": fit,
    "strengths": strengths,
}
