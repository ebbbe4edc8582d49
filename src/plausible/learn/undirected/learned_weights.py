"""What is told of learned weights, whatever they are the weights of: how sure they are, and how near to the best."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.records import TextTable, html_of_print
from plausible.errors import counted
from plausible.learn.undirected.duality import duality_gap
from plausible.learn.undirected.objectives import Objective, SteeredObjective
from plausible.learn.undirected.other_steps import information_matrix, quotient_inverse
from plausible.learn.undirected.partition import is_of_moderate_size
from plausible.learn.undirected.penalized import Climb
from plausible.learn.undirected.recession import Recession
from plausible.learn.undirected.sample import Sample
from plausible.search.ascent import AscentState
from plausible.search.run import HasRun, Run

if TYPE_CHECKING:
    import pandas as pd

#: A printed fit has so many weights, and their errors where a matrix of all weights takes no more numbers than this.
_MOST_SHOWN, _SMALL_MATRIX = 20, 10_000


class LearnedWeights(HasRun):
    """A base of results that are weights of features, climbed to together with a prior."""

    __slots__ = ()

    _told: ClassVar[tuple[str, ...]] = (
        *("objective", "kind", "weights", "moment_gap", "duality_gap", "diverging", "has_maximum"),
        *HasRun._told,
    )
    _repr_html_ = html_of_print

    if TYPE_CHECKING:  # fields of subclasses
        weights: Mapping[str, float]
        objective: float
        kind: str
        run: Run[AscentState]
        _climb: Climb[Objective]
        _data: Sample
        _recession: Recession

        def _row_variance(self) -> Floats:
            """Σ_m w_m g_m g_mᵀ of the gradients of rows."""

        def _data_told(self) -> float:
            """The log-likelihood of the data, where it is known without further work."""

    @property
    def moment_gap(self) -> float:
        """The largest difference between a mean of a feature in the data and in the model, prior minded.

        It is a share of how far the values of the feature lie apart, or where a prior pulls harder than all rows do, of
        what makes that pull one: 2 √(precision / rows).
        """
        return self._climb.moment_gap(self.run.state.gradient)

    @property
    def duality_gap(self) -> float:
        """By how much at most the objective is short of its best: a total over rows.

        It is a bound wherever the climb stopped, as large as the objective where nothing better is proved. Nan where
        there may be several maxima, or an engine tells log Z. It takes an inference for each place of each feature.
        """
        if isinstance(self._climb.objective, SteeredObjective):
            return float(getattr(self.run.state, "gap", math.nan))
        return duality_gap(self._climb, self.run.state.point)

    @property
    def diverging(self) -> Mapping[str, float]:
        """A combination of weights along which the objective rises for ever, though each alone may have a best.

        Name -> its share; empty where none was found. It is looked for when it is first asked for: of the likelihood by
        a clique tree, of complete rows or published means, and of the pseudolikelihood.
        """
        return self._recession.weights

    @property
    def has_maximum(self) -> bool | None:
        """Whether the best weights are finite, but for those in `infinite`; None where that is not known."""
        return self._recession.has_maximum

    def information(self) -> Floats:
        """Minus the Hessian of objective and prior at the weights: M Cov[f; f] for the likelihood of complete rows."""
        weights = self.run.state.point
        return information_matrix(self._climb.objective, weights) + np.diag(self._climb.penalty.curvature(weights))

    def covariance(self) -> Floats:
        """The estimated covariance of the weights: the inverse information, on the weights that the data determine.

        For the pseudolikelihood and other composite objectives the sandwich H⁻¹ J H⁻¹ with the variance J of the rows'
        gradients. Weights that only matter together with others (a table has one too many) share their variance.
        """
        inverse = quotient_inverse(self.information(), self._climb.units)
        if not self._climb.objective.is_own:
            return inverse
        return np.asarray(inverse @ self._row_variance() @ inverse)

    def standard_errors(self) -> dict[str, float]:
        """The estimated standard error of each weight; nan for those at infinity, or on the way there."""
        spread, endless = np.sqrt(np.maximum(np.diag(self.covariance()), 0.0)), self.diverging
        return {
            name: float(error) if math.isfinite(weight) and name not in endless else math.nan
            for (name, weight), error in zip(self.weights.items(), spread, strict=True)
        }

    def to_frame(self) -> pd.DataFrame:
        """A row for each weight: its name, its value, and its standard error where the objective has a curvature."""
        import pandas as pd

        columns = {"weight": list(self.weights), "value": list(self.weights.values())}
        if not isinstance(self._climb.objective, SteeredObjective):
            columns["standard error"] = list(self.standard_errors().values())
        return pd.DataFrame(columns)

    def __str__(self) -> str:
        return "\n".join([*self._headlines(), str(self._weight_table())])

    def _headlines(self) -> Iterable[str]:
        """What a statistician looks at first."""
        told = "" if self.kind == "exact" else f" ({self.kind})"
        data = self._data_told()
        likelihood = "" if math.isnan(data) else f"log-likelihood {data:.6g}, "
        ended = f"{self.stopped_by} after {counted(self.num_steps, 'step')}"
        yield f"{likelihood}objective {self.objective:.6g}{told}, {ended}, moment gap {self.moment_gap:.2g}"
        if self.stopped_by == "stuck" and self._data.engine is not None and self.kind != "exact":
            yield (
                "By what the engine tells no step leads higher, though the slope is not zero: its log Z jumps, or does "
                "not settle, from here on. Try a stronger prior, or TreeReweightedBP(), whose bound has one maximum."
            )
        if endless := self.diverging:
            largest = sorted(endless, key=lambda name: -abs(endless[name]))[:5]
            shares = ", ".join(f"{name} {endless[name]:+.3g}" for name in largest)
            yield f"The likelihood rises for ever along {shares}: a prior gives finite weights."
        elif self._recession.was_cut_short:
            yield "Whether all weights have a finite best took too long to find out: a prior gives finite weights."

    def _weight_table(self) -> TextTable:
        names = sorted(self.weights, key=lambda name: -abs(self.weights[name]))[:_MOST_SHOWN]
        has_errors = len(self.weights) ** 2 <= _SMALL_MATRIX and not isinstance(self._climb.objective, SteeredObjective)
        has_errors = has_errors and is_of_moderate_size(self._data.design)
        errors = self.standard_errors() if has_errors else {}
        header = ("weight", "value", "standard error") if errors else ("weight", "value")
        rows = [(name, f"{self.weights[name]:.4g}", *([f"{errors[name]:.3g}"] if errors else [])) for name in names]
        return TextTable(header, tuple(rows), 1, len(self.weights) - len(names))
