"""A filter of a dynamic network to feed rows to, one by one: a value that each row makes a new one of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.records import plain
from plausible.data.sequences import Sequences, SequencesLike
from plausible.errors import ImpossibleEvidence, InvalidArgument, UnknownVariable
from plausible.inference.budget import Budget
from plausible.models.sequences.observations import StepEvidence
from plausible.models.sequences.slice_passes import SlicePasses
from plausible.models.sequences.slice_program import SliceProgram
from plausible.models.sequences.steps_ahead import filters_ahead, steps_index
from plausible.models.sequences.template import Template
from plausible.variables import State, Variable

if TYPE_CHECKING:
    import pandas as pd


class FilteredNetwork(Protocol):
    """What an online filter needs of its network."""

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable of a slice."""

    @property
    def _template(self) -> Template: ...

    def _read(self, rows: SequencesLike, sequence: str | None, time: str | None, gaps: str) -> Sequences: ...

    def _programs(
        self, evidence: StepEvidence, budget: Budget | None, *, observed: tuple[str, ...] | None
    ) -> list[SliceProgram]: ...

    def _columns(self) -> list[tuple[Variable, int, int]]: ...


def _nothing() -> Floats:
    return np.zeros(0)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DynamicFilter:
    """What is known of the present slice, as rows come in one by one. A value: `update` gives the next one.

    >>> import plausible as pb
    >>> walk = pb.DynamicBayesianNetwork(
    ...     [pb.TableCPD("X", [0.5, 0.5])],
    ...     [pb.TableCPD("X", [[0.9, 0.1], [0.2, 0.8]], ["X[-1]"]), pb.TableCPD("Y", [[0.7, 0.3], [0.1, 0.9]], ["X"])],
    ... )
    >>> after = walk.online().update({"Y": 1}).update()
    >>> after, round(after.probability("X", 0), 4)
    (<DynamicFilter: 2 rows, log-likelihood -0.510826>, 0.375)
    """

    model: FilteredNetwork
    message: Floats = field(
        default_factory=_nothing
    )  # what the last slice hands on to the next: P(interface | rows so far)
    marginals: Floats = field(default_factory=_nothing)  # of the last slice's discrete variables, side by side
    log_likelihood: float = 0.0  # of all rows so far
    num_steps: int = 0  # rows so far
    recent: tuple[Mapping[str, Any], ...] = ()  # numbers and inputs of the last rows, as far back as slices look

    def update(self, row: Any = None) -> DynamicFilter:
        """The filter after one more row: a mapping from variables to what is seen of them; the others are not."""
        model, template, cells = self.model, self.model._template, self._cells(row)
        evidence = self._evidence(cells)
        observed = tuple(name for name in template.variables if name not in template.continuous)
        program = model._programs(evidence, None, observed=observed)[min(self.num_steps, template.num_first)]
        found = SlicePasses.run([program], evidence, lambda passes: passes.advanced(self.message))
        if found.log_likelihood == -np.inf:
            raise ImpossibleEvidence(f"The row {row!r} is impossible after the {self.num_steps} rows before it.")
        back = template.reach
        kept = {name: plain(cells.get(name)) for name in (*template.inputs, *sorted(template.continuous))}
        return replace(
            self,
            message=found.message,
            marginals=found.marginals,
            log_likelihood=self.log_likelihood + found.log_likelihood,
            num_steps=self.num_steps + 1,
            recent=(*self.recent, kept)[-back:] if back and kept else (),
        )

    def _evidence(self, cells: Mapping[str, Any]) -> StepEvidence:
        """The row at the end of those that it looks back on."""
        template = self.model._template
        now = self.model._read(
            {name: [cells.get(name)] for name in (*template.variables, *cells)}, None, None, "refuse"
        )
        StepEvidence.of(template, now).check()
        names = template.variables
        rows = {name: [*(past.get(name) for past in self.recent), cells.get(name)] for name in names}
        return StepEvidence.of(template, self.model._read(rows, None, None, "refuse"))

    def _cells(self, row: Any) -> dict[str, Any]:
        """Name -> cell of one row."""
        if row is None:
            return {}
        if isinstance(row, Mapping):
            return dict(row)
        if hasattr(row, "to_dict"):
            return dict(row.to_dict())
        names = list(self.model.variables)
        if len(names) != 1:
            raise InvalidArgument(f"A row is a mapping from variables such as {names[0]!r}, not {row!r}.")
        return {names[0]: row}

    @property
    def beliefs(self) -> dict[str, pd.Series[float]]:
        """Name -> what is known of each discrete variable at the last row; nothing before the first row."""
        import pandas as pd

        if not self.num_steps:
            return {}
        return {
            variable.name: pd.Series(self.marginals[start:end], pd.Index(list(variable.states), name=variable.name))
            for variable, start, end in self.model._columns()
        }

    def predict(self, steps: int = 1, *, inputs: Any = None) -> dict[str, pd.DataFrame]:
        """Name -> each discrete variable in so many steps to come; `inputs` are their rows of the network's inputs."""
        import pandas as pd

        beliefs = [now.beliefs for now in filters_ahead(self, steps, inputs)]
        return {
            name: pd.DataFrame([own[name].to_numpy() for own in beliefs], steps_index(steps), list(told.index))
            for name, told in beliefs[0].items()
        }

    def probability(self, name: str, state: State) -> float:
        """The belief of a state of a variable at the last row."""
        for variable, start, _ in self.model._columns():
            if variable.name == name and self.num_steps:
                return float(self.marginals[start + variable.index(state)])
        if not self.num_steps:
            raise InvalidArgument("No row has come in yet: beliefs are those of the last row.")
        raise UnknownVariable.named(name, self.beliefs, "the discrete variables of this filter")

    def to_dict(self) -> dict[str, Any]:
        """All but the model, in plain types."""
        return {
            "message": self.message.tolist(),
            "marginals": self.marginals.tolist(),
            "log_likelihood": self.log_likelihood,
            "num_steps": self.num_steps,
            "recent": [dict(cells) for cells in self.recent],
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any], model: FilteredNetwork) -> DynamicFilter:
        """The inverse of `to_dict`."""
        message, marginals = (np.array(record[name], dtype=np.float64) for name in ("message", "marginals"))
        recent = tuple(map(dict, record["recent"]))
        return cls(model, message, marginals, record["log_likelihood"], record["num_steps"], recent)

    def __repr__(self) -> str:
        return f"<DynamicFilter: {self.num_steps} rows, log-likelihood {self.log_likelihood:.6g}>"
