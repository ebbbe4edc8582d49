"""The gradient of the likelihood of incomplete rows of numbers, for networks of linear Gaussians."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Floats
from plausible.cpds import LinearGaussianCPD
from plausible.data.evidence_columns import EvidenceColumns
from plausible.data.sources import columns_of
from plausible.data.table import Table, TableLike
from plausible.errors import NotSupported, UnknownVariable
from plausible.learn.incomplete.gaussian_rows import PatternRows
from plausible.models import BayesianNetwork
from plausible.models.compiled_model import checked_weights


@dataclass(frozen=True, slots=True, eq=False)
class GaussianGradient:
    """ℓ(θ) of incomplete rows under a network of linear Gaussians, and its derivatives."""

    network: BayesianNetwork  # Where the gradient was taken
    log_likelihood: float  # Σ_m w_m log p(o[m] | θ), a log-density
    #: Name -> the derivatives by "(intercept)", by the coefficient of each parent, and by "(variance)".
    parameters: Mapping[str, Mapping[str, float]]

    def __repr__(self) -> str:
        return f"<GaussianGradient: log-likelihood {self.log_likelihood:.6g}>"


def gaussian_likelihood_gradient(
    network: BayesianNetwork, data: TableLike, weights: Iterable[float] | None = None
) -> GaussianGradient:
    """dℓ/dθ = Σ_m w_m E[d log p(y | x, θ)/dθ | o[m]] of every linear Gaussian, exactly.

    The expectations need only T = Σ_m w_m E[z zᵀ | o[m]], z = (1, all variables): with r = y - β_0 - Σ β_i x_i,
    dℓ/dβ_i = E[r x_i]/σ² and dℓ/dσ² = (E[r²]/σ² - Σ w)/(2σ²). Cost: O(n³) for each pattern of missing cells, and
    O(n²) for each row.

    Parameters
    ----------
    network
        All variables linear Gaussian, with positive variances.
    data
        Rows of numbers with cells missing, or whole columns.
    weights
        How often each row counts; as the table says where left out.

    Examples
    --------
    >>> net = BayesianNetwork(LinearGaussianCPD("X", 0.0), LinearGaussianCPD("Y", 0.0, {"X": 1.0}))
    >>> gradient = gaussian_likelihood_gradient(net, {"Y": [2.0]})
    >>> round(gradient.parameters["X"]["(intercept)"], 9), round(gradient.parameters["Y"]["X"], 9)
    (1.0, 0.5)
    """
    cpds, names = _gaussians(network), list(network.variables)
    values, counts = _read(network, data, weights)
    rows, means, covariances = PatternRows.of(values), *_joint(cpds, names)
    density = rows.density(means, covariances)
    moments = rows.moments(density, counts[:, None], means, covariances)[0]
    places = {name: 1 + place for place, name in enumerate(names)}
    slopes = {name: _slopes(cpd, places, moments) for name, cpd in cpds.items()}
    return GaussianGradient(network, float(counts @ density.log_density[:, 0]), slopes)


def _joint(cpds: Mapping[str, LinearGaussianCPD], names: list[str]) -> tuple[Floats, Floats]:
    """The mean, (1, n), and the covariance, (1, n, n), of all variables: x = (I - B)⁻¹ (β_0 + noise)."""
    weights = np.zeros((len(names), len(names)))
    for name, cpd in cpds.items():
        weights[names.index(name), [names.index(parent) for parent in cpd.parent_names]] = cpd.coefficients
    spread = np.linalg.inv(np.eye(len(names)) - weights)
    intercepts = np.array([cpds[name].intercept for name in names])
    variances = np.array([cpds[name].variance for name in names])
    return (spread @ intercepts)[None], ((spread * variances) @ spread.T)[None]


def _slopes(cpd: LinearGaussianCPD, places: Mapping[str, int], moments: Floats) -> dict[str, float]:
    """The derivatives by the parameters of one distribution."""
    causes = [0, *(places[parent] for parent in cpd.parent_names)]
    residual = np.zeros(len(moments))
    residual[places[cpd.variable.name]] = 1.0
    residual[causes] -= [cpd.intercept, *cpd.coefficients]
    along = moments @ residual / cpd.variance
    squares = float(residual @ moments @ residual)
    found = {name: float(along[place]) for name, place in zip(("(intercept)", *cpd.parent_names), causes, strict=True)}
    found["(variance)"] = (squares / cpd.variance - float(moments[0, 0])) / (2 * cpd.variance)
    return found


def _gaussians(network: BayesianNetwork) -> dict[str, LinearGaussianCPD]:
    found = {}
    for name, cpd in network.cpds.items():
        if not isinstance(cpd, LinearGaussianCPD) or not cpd.variance:
            raise NotSupported(
                f"{name!r} is no linear Gaussian with a positive variance. For tables and what is made of them see "
                "log_likelihood_gradient."
            )
        found[name] = cpd
    return found


def _read(network: BayesianNetwork, data: TableLike, weights: Iterable[float] | None) -> tuple[Floats, Floats]:
    """A column for each variable, NaN where missing, and weights."""
    given = None if weights is None else list(weights)
    if isinstance(data, Table):
        for name in data.variables:
            if name not in network.variables:
                raise UnknownVariable.named(name, network.variables, "this network, though the data have it")
        numbers, num_rows = dict(zip(data.continuous, data.numbers, strict=True)), data.num_rows
        given = given if given is not None or data.weights is None else data.weights.tolist()
    else:
        read = EvidenceColumns.read(dict(columns_of(data, network.variables)), network.variables, "this network")
        numbers, num_rows = dict(read.numbers), read.num_rows
    columns = [numbers.get(name, np.full(num_rows, np.nan)) for name in network.variables]
    values = np.column_stack(columns) if columns else np.zeros((num_rows, 0))
    return values, checked_weights(given, num_rows)
