"""Forecasts of the numbers of a dynamic network: mixtures of Gaussians, one for each state of what they hang on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Floats
from plausible.cpds import ConditionalGaussianCPD, LinearGaussianCPD
from plausible.errors import NotSupported
from plausible.models.sequences.emissions import Forecast
from plausible.models.sequences.gaussian_emissions import mixture_forecasts
from plausible.models.sequences.template import Lagged, Template, lagged
from plausible.variables import Variable


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
                "Gaussians whose parents have states. Ask the network of all steps for its moments: "
                f'model.unroll(T).moments("{variable.name}[t]", evidence).'
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
