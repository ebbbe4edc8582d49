"""What learning a log-linear model hands back: the network, the weights, and how good they are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.records import TextTable
from plausible.data.table import Table, TableLike
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, NotSupported, counted, suggestion
from plausible.learn.undirected.climbing import Climb, information_matrix
from plausible.learn.undirected.labelled_rows import LabelledRows
from plausible.learn.undirected.objectives import ObjectiveMethod, Sample, places_of
from plausible.models import MarkovNetwork
from plausible.search.ascent import AscentState
from plausible.search.run import HasRun, Run

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class MarkovFit(HasRun):
    """A Markov network whose weights were learned, and how that went."""

    _told = ("log_likelihood", "objective", "kind", "weights", "moment_gap", "duality_gap", "infinite", *HasRun._told)

    network: MarkovNetwork  # The learned network
    weights: Mapping[str, float]  # By name; infinite ones are the limit that the data ask for
    log_likelihood: float  # Of the data, a total over rows; nan where log Z was not computed
    objective: float  # What was climbed, with the logarithm of the prior: a total over rows
    kind: str  # Whether that is "exact", a "lower bound" or "upper bound" on it, or an "approximation"
    moment_gap: float  # The largest difference between a mean of a feature in the data and in the model, prior minded
    #: -ℓ/M less the entropy of the model: zero where moments match, and then no distribution with these moments has
    #: more entropy; on the way there, and with a prior, it is no bound. Nan where log Z was not computed exactly.
    duality_gap: float
    infinite: Mapping[str, float]  # The weights for which the likelihood has no finite best: name -> inf or -inf
    num_inferences: int  # How many inferences a step took
    #: The climb, from which `resume=` goes on: "converged" where the gradient vanished, "stuck" where no step leads
    #: higher, or a limit.
    run: Run[AscentState]
    _climb: Climb = field(repr=False)
    _data: Sample = field(repr=False)
    _method: ObjectiveMethod = field(repr=False)

    def information(self) -> Floats:
        """Minus the Hessian of objective and prior at the weights: M Cov[f; f] for the likelihood of complete rows."""
        weights = self.run.state.point
        return information_matrix(self._climb.objective, weights) + np.diag(self._climb.penalty.curvature(weights))

    def covariance(self) -> Floats:
        """The estimated covariance of the weights: the inverse information, on the weights that the data determine.

        For the pseudolikelihood and other composite objectives the sandwich H⁻¹ J H⁻¹ with the variance J of the rows'
        gradients. Weights that only matter together with others (a table has one too many) share their variance.
        """
        inverse = np.linalg.pinv(self.information(), rcond=1e-10, hermitian=True)
        if not self._climb.objective.is_own:
            return np.asarray(inverse)
        return np.asarray(inverse @ self._row_variance() @ inverse)

    def _row_variance(self) -> Floats:
        """Σ_m w_m g_m g_mᵀ of the gradients of rows: by objectives of single rows."""
        gradients, weights = _gradients_of_rows(self._data, self._method, self.run.state.point)
        centred = gradients - weights @ gradients / weights.sum()
        return np.asarray((centred * weights[:, None]).T @ centred)

    def margins(self, data: TableLike) -> Floats:
        """log P(targets | all else) of each row less that of the best other targets, as margins were learned of.

        All variables where another objective was climbed. Infinite where there are no others.
        """
        design = self._data.design
        targets = getattr(self._method, "targets", None) or list(design.variables)
        table = Table.read(data, design.variables)
        codes = np.stack([table.column(name) for name in design.variables], axis=1).astype(np.int32)
        if (codes < 0).any():
            raise NotSupported(f"Row {int(np.argmax((codes < 0).any(axis=1)))} has missing cells, so it has no margin.")
        places = places_of(targets, design, "targets")
        return LabelledRows.read(self._data, codes, np.ones(len(codes)), places).rivals(self.run.state.point)[0]

    def standard_errors(self) -> dict[str, float]:
        """The estimated standard error of each weight; nan for those at infinity."""
        spread = np.sqrt(np.maximum(np.diag(self.covariance()), 0.0))
        return {
            name: math.nan if name in self.infinite else float(error)
            for name, error in zip(self.weights, spread, strict=True)
        }

    def dimension(self) -> int:
        """How many weights are free, those at infinity not counted as such."""
        return self._data.design.dimension()

    def bic(self) -> float:
        """ℓ - dimension/2 · log M."""
        return self.log_likelihood - 0.5 * self.dimension() * math.log(self._data.total)

    def laplace(self) -> float:
        """The Laplace approximation of log P(data | features): needs a prior that is strictly concave and smooth.

        ℓ(θ) + log P(θ) + K/2 · log 2π - log |A|/2 at the best weights θ, with A the information (Koller & Friedman
        2009, §20.7.3.2).
        """
        penalty = self._climb.penalty
        if not (penalty.is_smooth and penalty.is_strict):
            raise NotSupported("A Laplace score needs a prior on every weight that is smooth, such as GaussianPrior.")
        _, log_volume = np.linalg.slogdet(self.information())
        point = self.run.state.point
        value = self._climb.objective.at(point)[0] + penalty.log_density(point)
        return float(value + 0.5 * point.size * math.log(2 * math.pi) - 0.5 * log_volume)

    def surface(self, weights: Mapping[str, Sequence[float]]) -> pd.DataFrame:
        """The objective, without the prior, on a grid of one or two weights, all others as learned.

        Parameters
        ----------
        weights
            One or two names, each with the values to look at.

        Returns
        -------
        pandas.DataFrame
            A row for each value of the first, a column for each value of the second weight.
        """
        import pandas as pd

        names = list(self.weights)
        if not 1 <= len(weights) <= 2:
            raise InvalidArgument(f"A surface is over one weight or two, not {len(weights)}.")
        for name in weights:
            if name not in names:
                raise InvalidArgument(f"{name!r} is no weight of this fit.{suggestion(name, names)}")
        places = [names.index(name) for name in weights]
        values = [list(map(float, grid)) for grid in weights.values()] + [[0.0]] * (2 - len(places))
        point, rows = self.run.state.point.copy(), list[list[float]]()
        for first in values[0]:
            rows.append([])
            for second in values[1]:
                point[places] = [first, second][: len(places)]
                rows[-1].append(self._climb.objective.at(point)[0])
        columns = pd.Index(values[1], name=[*weights][1]) if len(places) == 2 else ["objective"]
        return pd.DataFrame(rows, index=pd.Index(values[0], name=next(iter(weights))), columns=columns)

    def to_frame(self) -> pd.DataFrame:
        """A row for each weight."""
        import pandas as pd

        return pd.DataFrame({"weight": list(self.weights), "value": list(self.weights.values())})

    def _repr_html_(self) -> str:
        return self.network._repr_html_()

    def __str__(self) -> str:
        ended = f"{self.stopped_by} after {counted(self.num_steps, 'step')}"
        told = "" if self.kind == "exact" else f" ({self.kind})"
        head = f"log-likelihood {self.log_likelihood:.6g}, objective {self.objective:.6g}{told}, {ended}"
        largest = sorted(self.weights, key=lambda name: -abs(self.weights[name]))[:20]
        table = TextTable(("weight", "value"), tuple((name, f"{self.weights[name]:.4g}") for name in largest), 1)
        return f"{head}\n{table}"

    def __repr__(self) -> str:
        return f"<MarkovFit: {str(self).splitlines()[0]}>"


def _gradients_of_rows(data: Sample, method: ObjectiveMethod, weights: Floats) -> tuple[Floats, Floats]:
    """The gradient of the objective of each different row by itself, and how often the row occurs."""
    if data.statistics is None:
        raise NotSupported("The spread of this objective's weights is told by rows, of which there are none.")
    table = data.statistics.table.select(data.design.variables)
    stacked = np.stack([table.column(name) for name in data.design.variables], axis=1)
    _, firsts, inverse = np.unique(stacked, axis=0, return_index=True, return_inverse=True)
    times = np.bincount(inverse.reshape(-1), table.row_weights, minlength=len(firsts)).astype(np.float64)
    gradients = []
    for first in firsts.tolist():
        one = Sample.of(data.design, TableStatistics(table.take([first]).weighted(None)), data.engine, data.budget)
        gradients.append(method.on(one).at(weights)[1])
    return np.array(gradients), times
