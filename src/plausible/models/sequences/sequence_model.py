"""What all models in time have in common: rows are read once, and their likelihood comes step by step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.frozen import Frozen
from plausible.base.hints import SEQUENCE_HINTS, Hinted
from plausible.base.options import Seed
from plausible.base.pictured import html_with_picture
from plausible.base.records import TextTable
from plausible.data.sequences import Sequences, SequencesLike
from plausible.errors import ImpossibleEvidence
from plausible.models.shown_parts import title_of
from plausible.variables import Variable

if TYPE_CHECKING:
    import pandas as pd

    from plausible.base.pictured import Picture


class SequenceModel(Frozen, Hinted, ABC):
    """A model of sequences of any lengths, in which each step is a row.

    Methods take rows as `rows`: a table in which each row is a step, or a list of such tables, each of them a sequence.
    Where the model observes only one variable, a list of its values will do, or a list of such lists. Missing cells are
    not observed; a cell may be a collection of states or a `likelihood`. `sequence=` and `time=` name the columns that
    say which sequence a row belongs to and when it comes in it. Where times lack a step, `gaps=` says what to do:
    "refuse" the rows, "fill" in a step at which nothing is observed, or "ignore" it.

    Answers have the order and the index of the rows. What is known at the first step before its observation is the
    model's initial distribution.
    """

    __slots__ = ()

    _hints = SEQUENCE_HINTS

    #: The name of the kind of model in files.
    kind: ClassVar[str]

    @property
    @abstractmethod
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable, of all columns that rows may have."""

    @abstractmethod
    def to_record(self) -> dict[str, Any]:
        """What makes the model, as plain lists, numbers and texts, for files."""

    @classmethod
    @abstractmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """The inverse of `to_record`."""

    def _shown(self) -> Sequence[TextTable]:
        """The tables that `print` shows below the line that tells the model."""
        return ()

    def __str__(self) -> str:
        return "\n\n".join([title_of(self), *map(str, self._shown())])

    @abstractmethod
    def picture(self) -> Picture:
        """What depends on what, or where states lead: a notebook shows it, `save("model.svg")` writes it."""

    def _repr_svg_(self) -> str:
        return self.picture().svg

    def _repr_html_(self) -> str:
        return html_with_picture(self.picture(), title_of(self), "".join(table.to_html() for table in self._shown()))

    @property
    def _place(self) -> str:
        """What errors call the model."""
        return f"this {type(self).__name__}"

    def _read(self, rows: SequencesLike, sequence: str | None, time: str | None, gaps: str) -> Sequences:
        """The rows as every question needs them."""
        return Sequences.read(rows, self.variables, sequence=sequence, time=time, gaps=gaps, place=self._place)

    @abstractmethod
    def _step_log_likelihoods(self, sequences: Sequences) -> Floats:
        """log p(o_t | o_1 ... o_t-1) of each step; -inf at the first step that is impossible, and NaN after it."""

    @abstractmethod
    def filter(
        self, rows: SequencesLike, *, sequence: str | None = None, time: str | None = None, gaps: str = "refuse"
    ) -> Any:
        """What is known of hidden variables at each step, given the rows up to it."""

    @abstractmethod
    def smooth(
        self, rows: SequencesLike, *, sequence: str | None = None, time: str | None = None, gaps: str = "refuse"
    ) -> Any:
        """What is known of hidden variables at each step, given all rows of its sequence."""

    @abstractmethod
    def predict(
        self,
        rows: SequencesLike,
        steps: int = 1,
        *,
        sequence: str | None = None,
        time: str | None = None,
        gaps: str = "refuse",
    ) -> Any:
        """What is known of hidden variables in so many steps after the last row of each sequence."""

    @abstractmethod
    def forecast(
        self,
        rows: SequencesLike,
        steps: int = 1,
        *,
        level: float = 0.9,
        sequence: str | None = None,
        time: str | None = None,
        gaps: str = "refuse",
    ) -> Any:
        """What will be observed in so many steps after the last row of each sequence; numbers with intervals."""

    @abstractmethod
    def mpe(
        self, rows: SequencesLike, *, sequence: str | None = None, time: str | None = None, gaps: str = "refuse"
    ) -> Any:
        """The most probable course of the hidden variables, with its `.log_probability`."""

    @abstractmethod
    def sample(self, length: int, seed: Seed = None, *, sequences: int = 1) -> pd.DataFrame:
        """Draw sequences of a length: hidden variables and observations, one row a step."""

    def log_likelihood(
        self, rows: SequencesLike, *, sequence: str | None = None, time: str | None = None, gaps: str = "refuse"
    ) -> float:
        """log P(rows), of all sequences together; -inf where they are impossible."""
        return float(self.log_likelihoods(rows, sequence=sequence, time=time, gaps=gaps).sum())

    def log_likelihoods(
        self, rows: SequencesLike, *, sequence: str | None = None, time: str | None = None, gaps: str = "refuse"
    ) -> pd.Series[float]:
        """log P(rows) of each sequence."""
        sequences = self._read(rows, sequence, time, gaps)
        steps = self._step_log_likelihoods(sequences)
        found, full = np.zeros(sequences.num_sequences), np.diff(sequences.starts) > 0
        firsts = sequences.starts[:-1][full]
        if len(firsts):
            found[full] = np.add.reduceat(np.where(np.isfinite(steps), steps, 0.0), firsts)
            found[full] = np.where(np.logical_or.reduceat(np.isneginf(steps), firsts), -np.inf, found[full])
        return sequences.each_sequence(found, "log_likelihood")

    def step_log_likelihoods(
        self, rows: SequencesLike, *, sequence: str | None = None, time: str | None = None, gaps: str = "refuse"
    ) -> pd.Series[float]:
        """log P(row | the rows before it in its sequence) of each step: how surprising each one is.

        It is -inf at the first step that is impossible, and NaN at those after it.
        """
        sequences = self._read(rows, sequence, time, gaps)
        return sequences.series(self._step_log_likelihoods(sequences), "log_likelihood")


def refuse_impossible(sequences: Sequences, step_log_likelihoods: Floats) -> None:
    """The error for the first step that what came before it rules out, where there is one."""
    is_impossible = np.isneginf(step_log_likelihoods)
    if is_impossible.any():
        step = int(np.argmax(is_impossible))
        observed: dict[str, Any] = {name: cell_of(sequences, name, step) for name in sequences.variables}
        told = ", ".join(f"{name}={value!r}" for name, value in observed.items() if value is not None)
        raise ImpossibleEvidence(
            f"The observations have probability zero from {sequences.where(step)} on: after the steps before it, "
            f"{told} is impossible under the model. Look at its zeros, or learn it with a prior that leaves none."
        )


def cell_of(sequences: Sequences, name: str, step: int) -> Any:
    """What was observed of a variable at a step; None where nothing was."""
    variable, cell = sequences.variables[name], sequences.columns[name][step]
    if variable.is_continuous:
        return None if np.isnan(cell) else float(cell)
    if cell >= 0:
        return variable.states[cell]
    soft = sequences.soft.get(name)
    open_to = [] if soft is None else soft.weights[soft.steps == step]
    return (
        [state for state, weight in zip(variable.states, open_to[0], strict=True) if weight] if len(open_to) else None
    )
