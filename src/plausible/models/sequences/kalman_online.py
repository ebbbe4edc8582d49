"""A Kalman filter to feed rows to, one by one: a value that each row makes a new one of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import ImpossibleEvidence, InvalidArgument
from plausible.models.sequences.kalman_answers import FORECAST_COLUMNS, observed_variances, with_infinite
from plausible.models.sequences.kalman_runs import filtered
from plausible.models.sequences.linear_answers import LinearAnswers
from plausible.models.sequences.state_estimates import StateEstimates, width_of
from plausible.models.sequences.steps_ahead import filters_ahead, rows_ahead, steps_index
from plausible.models.sequences.system_matrices import triangle_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LinearFilter:
    """What is known of the present state, as rows come in one by one. A value: `update` gives the next one.

    >>> import plausible as pb
    >>> level = pb.models.local_level(level_noise=1.0, observation_noise=1.0)
    >>> after = level.online().update(1.0).update(None).update(2.0)
    >>> after.mean.round(3).tolist(), after.num_steps
    ([1.75], 3)
    """

    model: LinearAnswers
    mean: Floats  # of the last row's state, given all rows so far; of the first state, where there was none
    finite: Floats  # its covariance but for directions that have infinite variance
    diffuse: Floats  # these directions, one a row
    log_likelihood: float = 0.0  # of all rows so far
    num_steps: int = 0  # rows so far

    @classmethod
    def start(cls, model: LinearAnswers) -> LinearFilter:
        """Before the first row."""
        return cls(model, model.initial.mean, model.initial.covariance, model.initial.diffuse)

    @property
    def covariance(self) -> Floats:
        """The covariance of the state, infinite where nothing is known."""
        return with_infinite(self.finite, self.diffuse.T @ self.diffuse)

    @property
    def belief(self) -> StateEstimates:
        """What is known of the last row's state, a mean and a covariance; of the first state where there was no row."""
        return self._estimates([self], None)

    def predict(self, steps: int = 1, *, inputs: Any = None) -> StateEstimates:
        """The states of so many steps to come; `inputs` are their rows of the inputs."""
        return self._estimates(filters_ahead(self, steps, inputs), steps_index(steps))

    def forecast(self, steps: int = 1, *, level: float = 0.9, inputs: Any = None) -> dict[str, pd.DataFrame]:
        """Column -> mean, lower and upper end of what will be observed in so many steps to come."""
        import pandas as pd

        model, rows = self.model, rows_ahead(steps, inputs)
        known = np.array([[(row or {})[name] for name in model.inputs] for row in rows], dtype=np.float64)
        ahead = self.predict(steps, inputs=inputs)
        centers = ahead.mean @ model.observation.T + known.reshape(steps, -1) @ model.observation_input.T
        variances = observed_variances(model.observation, ahead.covariance) + model.observation_noise.diagonal()
        ends = width_of(level) * np.sqrt(variances)
        told = np.stack([centers, centers - ends, centers + ends], axis=-1)
        named = enumerate(model.observations)
        return {name: pd.DataFrame(told[:, place], ahead.index, list(FORECAST_COLUMNS)) for place, name in named}

    def _estimates(self, filters: Sequence[LinearFilter], index: Any) -> StateEstimates:
        means = np.array([each.mean for each in filters])
        return StateEstimates(self.model.states, means, np.array([each.covariance for each in filters]), index)

    def update(self, row: Any = None) -> LinearFilter:
        """The filter after one more row: a mapping, or the value of the only column; `None`: nothing is observed."""
        model = self.model
        sequences = model._read({name: [cell] for name, cell in self._cells(row).items()}, None, None, "refuse")
        observed, system = model._observed(sequences), model._kalman()
        system = system._replace(mean=self.mean.copy(), covariance=self.finite.copy(), diffuse=self.diffuse.copy())
        if self.num_steps:
            system = _moved(system, observed.offsets.sum(axis=0))
        if len(system.noise_root):
            system = system._replace(covariance_root=triangle_of(system.covariance))
        steps = filtered(system, observed)
        if np.isneginf(steps.log_densities[0]):
            raise ImpossibleEvidence(f"The row {row!r} is impossible after the {self.num_steps} rows before it.")
        return replace(
            self,
            mean=steps.means[0],
            finite=steps.covariances[0],
            diffuse=steps.diffuse[0, : steps.ranks[0]],
            log_likelihood=self.log_likelihood + float(steps.log_densities[0]),
            num_steps=self.num_steps + 1,
        )

    def _cells(self, row: Any) -> dict[str, Any]:
        """Name -> cell of one row."""
        if isinstance(row, Mapping):
            return dict(row)
        if hasattr(row, "to_dict"):
            return dict(row.to_dict())
        names = (*self.model.observations, *self.model.inputs)
        if row is None and not self.model.inputs:
            return {self.model.observations[0]: None}
        if len(names) != 1:
            raise InvalidArgument(f"A row is a mapping from columns, {list(names)}, not {row!r}.")
        return {names[0]: row}

    def to_dict(self) -> dict[str, Any]:
        """All but the model, in plain types."""
        return {
            "mean": self.mean.tolist(),
            "covariance": self.finite.tolist(),
            "diffuse": self.diffuse.tolist(),
            "log_likelihood": self.log_likelihood,
            "num_steps": self.num_steps,
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any], model: LinearAnswers) -> LinearFilter:
        """The inverse of `to_dict`."""
        size = len(model.states)
        parts = [np.array(record[name], dtype=np.float64) for name in ("mean", "covariance", "diffuse")]
        return cls(model, parts[0], parts[1], parts[2].reshape(-1, size), record["log_likelihood"], record["num_steps"])

    def __repr__(self) -> str:
        told = dict(zip(self.model.states, self.mean.round(4).tolist(), strict=True))
        return f"<LinearFilter: {self.num_steps} rows, {told}>"


def _moved(system: Any, offset: Floats) -> Any:
    """The start as it is one step later."""
    transition = system.transition[0]
    covariance = transition @ system.covariance @ transition.T + system.transition_noise[0]
    return system._replace(
        mean=transition @ system.mean + offset,
        covariance=(covariance + covariance.T) / 2,
        diffuse=np.ascontiguousarray(system.diffuse @ transition.T),
    )
