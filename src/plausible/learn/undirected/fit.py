"""What learning a log-linear model hands back: the network, the weights, and how good they are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from plausible.base.arrays import Floats
from plausible.data.table import Table, TableLike
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, NotSupported, suggestion
from plausible.learn.undirected.labelled_rows import LabelledRows
from plausible.learn.undirected.learned_weights import LearnedWeights
from plausible.learn.undirected.objectives import Objective, ObjectiveMethod, places_of
from plausible.learn.undirected.penalized import Climb
from plausible.learn.undirected.recession import Recession
from plausible.learn.undirected.sample import Sample
from plausible.models import MarkovNetwork
from plausible.search.ascent import AscentState
from plausible.search.run import Run

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class MarkovFit(LearnedWeights):
    """A Markov network whose weights were learned, and how that went."""

    _told = ("log_likelihood", "infinite", *LearnedWeights._told)

    network: MarkovNetwork  # The learned network
    weights: Mapping[str, float]  # By name; infinite ones are the limit that the data ask for
    log_likelihood: float  # Of the data, a total over rows; nan where log Z was not computed
    objective: float  # What was climbed, with the logarithm of the prior: a total over rows
    kind: str  # Whether that is "exact", a "lower bound" or "upper bound" on it, or an "approximation"
    infinite: Mapping[str, float]  # The weights for which the likelihood has no finite best: name -> inf or -inf
    num_inferences: int  # How many inferences a step took
    #: The climb, from which `resume=` goes on: "converged" where the gradient vanished, "stuck" where no step leads
    #: higher, or a limit.
    run: Run[AscentState]
    _climb: Climb[Objective] = field(repr=False)
    _data: Sample = field(repr=False)
    _recession: Recession = field(repr=False)
    _method: ObjectiveMethod = field(repr=False)

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

    def _repr_html_(self) -> str:
        return self.network._repr_html_()

    def _data_told(self) -> float:
        return self.log_likelihood

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
