"""Models in time and rows of a file: `plausible filter`, `smooth` and `forecast`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from plausible.cli import options
from plausible.cli.charts import save_plot
from plausible.cli.commands import command
from plausible.cli.data import DataColumns, read_columns
from plausible.cli.options import argument, option
from plausible.cli.output import check_one_reader, input_name, is_standard, output_name, print_answer
from plausible.cli.source import read_any_model, save_model
from plausible.cli.tables import check_output, tell_table
from plausible.cli.terminal import progress_bar
from plausible.errors import InvalidArgument, PlausibleWarning, UnknownVariable, close_match
from plausible.learn.estimation.priors import LIGHT_PRIOR
from plausible.learn.sequences.dynamic import dynamic
from plausible.learn.sequences.hidden_markov_model import hmm
from plausible.learn.sequences.linear_dynamical_system import linear_dynamical_system
from plausible.models.sequences.sequence_model import SequenceModel
from plausible.variables import Variable

if TYPE_CHECKING:
    import pandas as pd

TimedModel = Annotated[str, argument("A file with a model in time, such as a hidden Markov model, or -.")]
StepsFile = Annotated[Path, argument("A CSV or Parquet file with a row for each step, or -.", metavar="ROWS")]
Output = Annotated[Path | None, option("The CSV or Parquet file to write; by default the terminal.", "--output", "-o")]

#: More runs of EM, from random tables.
_RESTARTS = 5

_NOTES = (
    "Rows without --sequence are one sequence; without --time they come as they stand. Empty cells are not observed. "
    "Columns that are no variables of the model are passed over.",
)


@command(
    examples=(
        "plausible filter weather.json days.csv --sequence town --time day",
        "plausible filter weather.json days.csv --sequence town --time day -o beliefs.csv",
    ),
    notes=_NOTES,
)
def run_filter(
    model: TimedModel,
    rows: StepsFile,
    output: Output = None,
    sequence: options.SequenceColumn = None,
    time: options.TimeColumn = None,
    gaps: options.Gaps = "refuse",
    na: options.MissingMarkers = None,
    as_json: options.AsJson = False,
) -> None:
    """Tell the hidden state at each step, by the rows up to it."""
    timed, columns = _read(model, rows, na, output, sequence, time)
    answer = timed.filter(columns, sequence=sequence, time=time, gaps=gaps)
    found = timed.log_likelihood(columns, sequence=sequence, time=time, gaps=gaps)
    tell_table(_table(timed, answer, columns, sequence, time), output, as_json, log_likelihood=found)


@command(
    examples=(
        "plausible smooth weather.json days.csv --sequence town --time day",
        "plausible smooth weather.json days.csv --sequence town --time day --best -o beliefs.csv",
    ),
    notes=_NOTES,
)
def run_smooth(
    model: TimedModel,
    rows: StepsFile,
    output: Output = None,
    sequence: options.SequenceColumn = None,
    time: options.TimeColumn = None,
    gaps: options.Gaps = "refuse",
    best: Annotated[bool, option("Add the most probable course of the hidden states.", "--best")] = False,
    na: options.MissingMarkers = None,
    as_json: options.AsJson = False,
) -> None:
    """Tell the hidden state at each step, by all rows."""
    timed, columns = _read(model, rows, na, output, sequence, time)
    where: dict[str, Any] = {"sequence": sequence, "time": time, "gaps": gaps}
    table = _table(timed, timed.smooth(columns, **where), columns, sequence, time)
    if best:
        path = timed.mpe(columns, **where).to_frame()
        for name in path.columns:
            table[f"best {name}"] = path[name].to_numpy()
    tell_table(table, output, as_json, log_likelihood=timed.log_likelihood(columns, **where))


@command(
    examples=("plausible forecast weather.json days.csv --sequence town --time day --steps 3",),
    notes=_NOTES,
)
def run_forecast(
    model: TimedModel,
    rows: StepsFile,
    output: Output = None,
    steps: Annotated[int, option("How many steps after the last row of each sequence.", "--steps", "-n", min=1)] = 1,
    level: Annotated[float, option("How probable the intervals of numbers are.", min=0.0, max=1.0)] = 0.9,
    sequence: options.SequenceColumn = None,
    time: options.TimeColumn = None,
    gaps: options.Gaps = "refuse",
    na: options.MissingMarkers = None,
    as_json: options.AsJson = False,
) -> None:
    """Tell what will be observed after the last row."""
    timed, columns = _read(model, rows, na, output, sequence, time)
    answer = timed.forecast(columns, steps, sequence=sequence, time=time, gaps=gaps, level=level)
    tell_table(_frame_of(answer, timed.variables).reset_index(), output, as_json)


@dataclass(frozen=True, slots=True)
class TimedLearning:
    """What is to be learned from rows in time; one of the first three is said."""

    hidden_states: int | None  # of a hidden Markov model
    latent: int | None  # numbers of a linear dynamical system
    slices: str | None  # the graph of a dynamic network
    hidden: Mapping[str, int]  # variables of that graph without a column -> how many states they have
    places: Mapping[str, Any]  # the columns of sequences and times, and what to do about gaps

    def fit(self, rows: Mapping[str, Any], seed: int, time_limit: float | None, advance: Callable[..., None]) -> Any:
        """The fit of the model that is meant."""
        limits: dict[str, Any] = {"seed": seed, "time_limit": time_limit, **self.places}
        if self.hidden_states is not None:
            told = lambda state: advance(None, f", log-likelihood {state.log_likelihood:.6g}")  # noqa: E731
            return hmm(rows, self.hidden_states, restarts=_RESTARTS, progress=told, **limits)
        if self.latent is not None:
            return linear_dynamical_system(rows, self.latent, **limits)
        restarts = _RESTARTS if self.hidden else 0
        return dynamic(self.slices, rows, LIGHT_PRIOR, hidden=self.hidden, restarts=restarts, **limits)


def learn_in_time(
    columns: DataColumns,
    wanted: TimedLearning,
    output: Path,
    format: str | None,
    seed: int,
    time_limit: float | None,
    plot: Path | None,
    progress: bool | None,
    as_json: bool,
) -> None:
    """Learn a model in time and write it."""
    if columns.variables:
        named = ", ".join(columns.variables)
        raise InvalidArgument(
            f"Rows in time have columns typed by what they hold: leave out --continuous and --states of {named}."
        )
    with progress_bar("learning a model in time", progress) as advance:
        fit = wanted.fit(dict(columns.source.read()), seed, time_limit, advance)
    save_model(fit.model, output, format)
    save_plot(plot, fit.plot)
    facts = {"output": str(output), **fit.to_dict()}
    print_answer(f"{output_name(output)}: {fit}", facts, as_json=as_json, error=is_standard(output))


def _read(
    source: str, rows: Path, na: list[str] | None, output: Path | None, sequence: str | None, time: str | None
) -> tuple[SequenceModel, Mapping[str, Any]]:
    """The model, and the columns of the rows that are its variables, sequences and times."""
    check_one_reader({"MODEL": source, "ROWS": rows})
    if output is not None:
        check_output(output, None, rows)
    model = read_any_model(source)
    if not isinstance(model, SequenceModel):
        raise InvalidArgument(
            f"{source!r} is no model in time: ask it with plausible query, or learn one from rows in time, as in: "
            f"plausible learn {input_name(rows)} --hidden-states 2 -o model.json."
        )
    data = read_columns(rows, model.variables.values(), missing_values=na)
    marks = {"--sequence": sequence, "--time": time}
    for named, mark in marks.items():
        if mark is not None and mark not in data.names:
            raise UnknownVariable.named(mark, data.names, f"the data, though {named} names it")
    return model, data.source.read(_used_columns(model, data.names, marks.values()))


def _used_columns(model: SequenceModel, names: Sequence[str], marks: Collection[str | None]) -> list[str]:
    """The columns that are variables or marks; others are passed over with a word, or refused where all are."""
    others = [name for name in names if name not in model.variables and name not in marks]
    unobserved = [name for name in model.variables if name not in names]
    if others and all(name in unobserved for name in model.variables):
        raise UnknownVariable.named(others[0], unobserved, "the model, and neither is any other column")
    if others:
        told = "".join(f" Of {name!r}:{meant}" for name in others if (meant := close_match(name, unobserved)))
        text = f"Columns that are no variables of the model were passed over: {', '.join(others)}.{told}"
        warnings.warn(text, PlausibleWarning, stacklevel=3)
    return [name for name in names if name not in others]


def _frame_of(answer: Any, variables: Mapping[str, Variable]) -> pd.DataFrame:
    """An answer as one table: of several variables, a column for each state of each of them."""
    import pandas as pd

    if isinstance(answer, pd.DataFrame):
        return answer
    if not isinstance(answer, Mapping):
        frame: pd.DataFrame = answer.to_frame()
        if frame.columns.nlevels > 1:  # such as a mean and a deviation for each number
            frame.columns = pd.Index([" ".join(map(str, column)) for column in frame.columns])
        return frame
    tables: list[pd.DataFrame] = []
    for name, table in answer.items():
        form = "{0} {1}" if variables[name].is_continuous else "P({0}={1})"
        tables.append(table.rename(columns=lambda column, name=name, form=form: form.format(name, column)))
    return pd.concat(tables, axis=1)


def _table(
    model: SequenceModel, answer: Any, columns: Mapping[str, Any], sequence: str | None, time: str | None
) -> pd.DataFrame:
    """The answer behind the columns that say which step each row is."""
    frame = _frame_of(answer, model.variables)
    marks = [name for name in (sequence, time) if name is not None]
    if marks and set(marks) & set(frame.index.names):  # missing steps were filled in
        return frame.reset_index()
    for place, name in enumerate(marks):
        frame.insert(place, name, list(columns[name]))
    return frame
