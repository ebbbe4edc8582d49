"""Steps to come: rows of inputs, filters that are fed row by row, and numbers of dynamic networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.options import read_count
from plausible.base.remedies import Argument
from plausible.cpds import ConditionalGaussianCPD, LinearGaussianCPD
from plausible.data.sequences import Sequences
from plausible.data.sources import columns_of
from plausible.errors import InvalidArgument, NotSupported
from plausible.models.sequences.emissions import Forecast
from plausible.models.sequences.gaussian_emissions import mixture_forecasts
from plausible.models.sequences.template import Lagged, Template, lagged
from plausible.variables import Variable

if TYPE_CHECKING:
    import pandas as pd


def inputs_ahead(inputs: Any, variables: Mapping[str, Variable], steps: int) -> Sequences:
    """The rows of inputs at the steps to come, the same for all sequences."""
    if inputs is None:
        raise InvalidArgument(f"Give the rows to come of the inputs {list(variables)}: ", Argument("inputs"), ".")
    read = Sequences.read(inputs, variables, place="the inputs")
    if read.num_steps != steps:
        raise InvalidArgument(Argument("inputs"), f" has {read.num_steps} rows, and there are {steps} steps.")
    return read


class RowFilter(Protocol):
    """A filter that each row makes a new one of."""

    def update(self, row: Any = None) -> Self:
        """The filter after one more row."""


Filter = TypeVar("Filter", bound=RowFilter)


def rows_ahead(steps: int, inputs: Any) -> list[dict[str, Any] | None]:
    """The rows of steps to come, at which nothing is seen but inputs: columns, with a cell for each step."""
    count = read_count("steps", steps, 1)
    if inputs is None:
        return [None] * count
    columns = {str(name): list(column) for name, column in columns_of(inputs).items()}
    for name, cells in columns.items():
        if len(cells) != count:
            raise InvalidArgument(Argument("inputs"), f" has {len(cells)} rows of {name!r}; there are {count} steps.")
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def filters_ahead(now: Filter, steps: int, inputs: Any) -> list[Filter]:
    """The filter after each of the steps to come."""
    found = []
    for row in rows_ahead(steps, inputs):
        now = now.update(row)
        found.append(now)
    return found


def steps_index(steps: int) -> pd.Index[int]:
    """The numbers of the steps to come."""
    import pandas as pd

    return pd.RangeIndex(1, steps + 1, name="step")


@dataclass(frozen=True, slots=True, eq=False)
class NumberAhead:
    """A number that is Gaussian given variables with states."""

    variable: Variable
    parents: tuple[Lagged, ...]
    means: Floats  # one for each joint state of the parents
    variances: Floats

    @classmethod
    def of(cls, template: Template, variable: Variable) -> NumberAhead:
        """From the distribution of later slices; others than Gaussians with discrete parents are refused."""
        cpd = template.later[variable.name]
        if not isinstance(cpd, (ConditionalGaussianCPD, LinearGaussianCPD)) or any(
            parent.is_continuous for parent in cpd.parents
        ):
            raise NotSupported(
                f"{variable.name!r} depends on {list(cpd.parent_names)} by a {type(cpd).__name__}: forecasts are of "
                "Gaussians whose parents have states. engine=ParticleFilter() draws it, engine=Window() takes what is "
                "known of it as Gaussian."
            )
        names = cpd.discrete_names if isinstance(cpd, ConditionalGaussianCPD) else ()
        numbers = (np.array(part, dtype=np.float64).reshape(-1) for part in (cpd.intercept, cpd.variance))
        return cls(variable, tuple(map(lagged, names)), *numbers)

    @property
    def parent_names(self) -> list[str]:
        """The names of the parents, whichever slice they are of."""
        return [parent.name for parent in self.parents]

    def forecast(self, shares: Floats, level: float) -> Forecast:
        """Where the joint states of the parents have these beliefs, an array over cases and states."""
        told = mixture_forecasts((self.variable,), shares, self.means[:, None], self.variances[:, None], level)
        return told[self.variable.name]
