"""What is known of the states of a linear dynamical system, step by step: means, covariances, intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.options import check_number
from plausible.base.pictured import chart_by
from plausible.base.records import Result, counted, record

if TYPE_CHECKING:
    import pandas as pd

    from plausible.base.pictured import Axes, Chart


def width_of(level: float) -> float:
    """How many standard deviations an interval goes to each side to have the probability `level`.

    >>> round(width_of(0.95), 2)
    1.96
    """
    from scipy.special import ndtri

    check_number("level", level, above=0, below=1)
    return float(ndtri((1 + level) / 2))


@record(eq=False)
class StateEstimates(Result):
    """N(mean, covariance) of the states of each step, in the order of the rows that were given."""

    _told: ClassVar[tuple[str, ...]] = ("states", "mean", "covariance")

    states: tuple[str, ...]
    mean: Floats  # [step, state]
    covariance: Floats  # [step, state, state]; infinite where nothing is known yet
    index: Any  # of the rows

    @property
    def deviation(self) -> Floats:
        """The standard deviation of each state, an array over steps and states."""
        return np.asarray(np.sqrt(np.maximum(np.diagonal(self.covariance, axis1=1, axis2=2), 0.0)))

    def interval(self, level: float = 0.9) -> pd.DataFrame:
        """For each state the ends of an interval that it is in with probability `level`, half of the rest on each side.

        Columns are pairs of a state and "lower" or "upper".
        """
        width = width_of(level) * self.deviation
        return self._frame({"lower": self.mean - width, "upper": self.mean + width})

    def to_frame(self) -> pd.DataFrame:
        """A row for each step, columns (state, "mean") and (state, "deviation")."""
        return self._frame({"mean": self.mean, "deviation": self.deviation})

    def _frame(self, parts: dict[str, Floats]) -> pd.DataFrame:
        import pandas as pd

        values = np.stack(list(parts.values()), axis=2).reshape(len(self.mean), len(parts) * self.mean.shape[1])
        columns = pd.MultiIndex.from_product([list(self.states), list(parts)], names=["state", None])
        return pd.DataFrame(values, index=self.index, columns=columns)

    def __len__(self) -> int:
        return len(self.mean)

    def plot(self, ax: Axes | None = None, *, level: float = 0.9) -> Chart:
        """Draw the means in bands of probability `level`; it needs matplotlib (the extra `plot`)."""
        return chart_by("plot_bands", self, ax, level=level)

    def __str__(self) -> str:
        return f"{counted(len(self.mean), 'step')} of {', '.join(self.states)}\n{self.to_frame()}"


@record(eq=False)
class SteadyState(Result):
    """What the filter's covariances come to when everything is observed at every step."""

    covariance: Floats  # of the states after an observation
    predicted_covariance: Floats  # before it
    gain: Floats  # [state, observed]: what a surprise changes in the mean
    innovation_covariance: Floats  # of one-step forecasts
    num_steps: int  # from the first step of a sequence on

    def __str__(self) -> str:
        return f"steady after {counted(self.num_steps, 'step')}; the gain is\n{self.gain}"


@record(eq=False)
class Innovations(Result):
    """What was observed less what was forecast of it from the step before: if the model fits, noise."""

    _told: ClassVar[tuple[str, ...]] = ("observations", "values", "standardized")

    observations: tuple[str, ...]
    values: Floats  # [step, observed], NaN where missing or where nothing was known
    #: Made independent, with variance one: each number given the earlier ones of its step, too.
    standardized: Floats
    index: Any  # of the rows

    def to_frame(self) -> pd.DataFrame:
        """A row for each row; columns (column, "innovation") and (column, "standardized")."""
        import pandas as pd

        values = np.stack([self.values, self.standardized], axis=2).reshape(len(self.values), -1)
        columns = pd.MultiIndex.from_product([list(self.observations), ["innovation", "standardized"]])
        return pd.DataFrame(values, index=self.index, columns=columns)

    def diagnostics(self, lags: int = 10) -> pd.DataFrame:
        """Tests of the standardised innovations, a row for each column: small p-values speak against the model.

        mean: its deviation from zero, in standard errors. Ljung-Box: no correlation up to so many lags (of rows in the
        order given). Jarque-Bera: normal. heteroscedasticity: the last third varies as much as the first.
        """
        import pandas as pd

        table = {
            name: _tests(column, lags) for name, column in zip(self.observations, self.standardized.T, strict=True)
        }
        return pd.DataFrame.from_dict(table, orient="index")

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw the standardised innovations; it needs matplotlib (the extra `plot`)."""
        return chart_by("plot_innovations", self, ax)

    def __str__(self) -> str:
        return f"innovations of {', '.join(self.observations)}\n{self.diagnostics()}"


def _tests(column: Floats, lags: int) -> dict[str, float]:
    from scipy.stats import chi2, f

    errors = column[~np.isnan(column)]
    size = len(errors)
    if size < 4:
        return dict.fromkeys(("mean", "Ljung-Box p", "Jarque-Bera p", "heteroscedasticity p"), np.nan)
    centered = errors - errors.mean()
    variance = float(centered @ centered) / size
    most = min(lags, size - 1)
    correlations = np.array([float(centered[lag:] @ centered[:-lag]) for lag in range(1, most + 1)]) / (variance * size)
    box = size * (size + 2) * float((correlations**2 / (size - np.arange(1, most + 1))).sum())
    skewness, kurtosis = float((centered**3).mean()) / variance**1.5, float((centered**4).mean()) / variance**2
    bera = size * (skewness**2 / 6 + (kurtosis - 3) ** 2 / 24)
    third = max(size // 3, 1)
    ratio = float((errors[-third:] ** 2).sum() / (errors[:third] ** 2).sum())
    return {
        "mean": float(errors.mean() * np.sqrt(size)),
        "Ljung-Box p": float(chi2.sf(box, most)),
        "Jarque-Bera p": float(chi2.sf(bera, 2)),
        "heteroscedasticity p": float(2 * min(f.sf(ratio, third, third), f.cdf(ratio, third, third))),
    }


def in_rows_order(sequences: Any, *arrays: Floats) -> tuple[list[Floats], Any]:
    """Arrays over steps in the order of the rows that were given, and the index of these."""
    order = sequences.series(np.arange(sequences.num_steps))
    return [array[order.to_numpy()] for array in arrays], order.index
