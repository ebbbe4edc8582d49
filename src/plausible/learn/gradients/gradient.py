"""The exact gradient of the log-likelihood of incomplete data, in every form in which it is used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from plausible.base import Floats
from plausible.cpds import LinearGaussianCPD, TableCPD
from plausible.data.columns import EvidenceColumns
from plausible.data.sources import columns_of
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.learn.gradients.space import ObservedLikelihood, Tables, coordinates_of, tables_of
from plausible.learn.incomplete.gaussian_rows import PatternRows
from plausible.models import BayesianNetwork
from plausible.models.compiled_model import checked_weights


@dataclass(frozen=True, slots=True, eq=False)
class LikelihoodGradient:
    """ℓ(θ) of incomplete data, and its derivatives; made by `log_likelihood_gradient`."""

    network: BayesianNetwork  # Where the gradient was taken
    log_likelihood: float  # ℓ(θ) = Σ_m w_m log P(o[m] | θ)
    expected_counts: Tables  # Name -> M[u, x] = Σ_m w_m P(x, u | o[m]), an axis for each parent, then one for the child
    entries: Tables  # Name -> dℓ/dP(x | u), each entry changed by itself: M[u, x] / P(x | u), none negative

    def projected(self, name: str) -> Floats:
        """The part of the gradient along which rows keep their sum: dℓ/dP(x | u) less its mean over x."""
        entries = self._of(self.entries, name)
        return np.asarray(entries - entries.mean(axis=-1, keepdims=True))

    def softmax(self, name: str) -> Floats:
        """dℓ/dλ_{x|u} = M[u, x] - P(x | u) M[u], for P(x | u) = exp λ_{x|u} / Σ_y exp λ_{y|u}."""
        counts = self._of(self.expected_counts, name)
        table = self.network.cpd(name).to_factor().values
        return np.asarray(counts - table * counts.sum(axis=-1, keepdims=True))

    def single_parameter(self, name: str) -> Floats:
        """dℓ/dθ_u of a variable with two states, P(second | u) = θ_u and P(first | u) = 1 - θ_u."""
        entries = self._of(self.entries, name)
        if entries.shape[-1] != 2:
            raise InvalidArgument(f"{name!r} has {entries.shape[-1]} states; a single parameter needs two.")
        return np.asarray(entries[..., 1] - entries[..., 0])

    def parameters(self, name: str) -> dict[str, Floats]:
        """The gradient of "(leak)" or "(intercept)", and the parents; of "rows" of tables and trees: the chain rule."""
        cpd = self.network.cpd(name)
        return coordinates_of(cpd).parameters(cpd, self._of(self.entries, name))

    def shared(self, names: Iterable[str]) -> Floats:
        """dℓ/dP(x | u) of a table that several variables share: the sum of theirs."""
        listed = [self._of(self.entries, name) for name in names]
        if len({entries.shape for entries in listed}) != 1:
            raise InvalidArgument(f"Tables of the shapes {[entries.shape for entries in listed]} can't be shared.")
        return np.asarray(sum(listed[1:], listed[0]))

    @property
    def residual(self) -> float:
        """The largest |P(x | u) M[u] - M[u, x]| of all tables: zero exactly where EM stands still."""
        names = [name for name, cpd in self.network.cpds.items() if cpd.kind == "table"]
        return max((float(np.abs(self.softmax(name)).max()) for name in names), default=0.0)

    def after_projected_step(self, size: float) -> BayesianNetwork:
        """The network of tables after θ + size · projected gradient, the step cut short where an entry meets zero.

        Entries that are zero and would fall stay zero, and their rows are projected without them.
        """
        if not size >= 0:
            raise InvalidArgument(f"The size of a step is not negative, as {size!r} is.")
        tables, directions = tables_of(self.network), {}
        for name, cpd in self.network.cpds.items():
            if cpd.kind != "table":
                raise NotSupported(f"A projected step is one of tables, but {name!r} is a {cpd.kind}: to_table().")
            directions[name] = _feasible(tables[name], np.asarray(self.entries[name]))
        longest = [float((tables[n][d < 0] / -d[d < 0]).min(initial=np.inf)) for n, d in directions.items()]
        cpds, length = [], min([size, *longest])
        for name, cpd in self.network.cpds.items():
            table = np.maximum(tables[name] + length * directions[name], 0.0)
            cpds.append(TableCPD(cpd.variable, table / table.sum(axis=-1, keepdims=True), cpd.parents))
        return BayesianNetwork(cpds)

    def _of(self, tables: Tables, name: str) -> Floats:
        UnknownVariable.check(name, tables, "this network")
        return tables[name]

    def __repr__(self) -> str:
        return f"<LikelihoodGradient: log-likelihood {self.log_likelihood:.6g}, residual {self.residual:.3g}>"


def log_likelihood_gradient(
    network: BayesianNetwork, data: TableLike, weights: Iterable[float] | None = None
) -> LikelihoodGradient:
    """ℓ(θ) = Σ_m w_m log P(o[m] | θ) and dℓ/dP(x | u) = Σ_m w_m P(x, u | o[m]) / P(x | u), exactly.

    Where P(x | u) is zero, the derivative is that of the product of all other terms: nothing is divided. One pass of
    the different rows through a clique tree gives all families (Koller & Friedman 2009, theorem 19.2 and algorithm
    19.1); a table with zeros takes another one.

    Parameters
    ----------
    network
        Discrete; distributions of any kind whose table has at most 2^18 entries.
    data
        Rows with cells missing, or whole columns. An impossible row is an error: its logarithm has no gradient.
    weights
        How often each row counts; as the table says where left out.

    Examples
    --------
    >>> coin = BayesianNetwork(TableCPD("A", [0.5, 0.5]), TableCPD("B", [[0.5, 0.5], [0.0, 1.0]], ["A"]))
    >>> gradient = log_likelihood_gradient(coin, {"B": [1, 1, 0]})
    >>> gradient.entries["B"].round(3)
    array([[2.   , 1.333],
           [2.   , 1.333]])
    >>> gradient.softmax("A").round(3)
    array([ 0.167, -0.167])
    """
    likelihood = ObservedLikelihood.of(network, data, weights)
    tables = tables_of(network)
    log_rows, counts = likelihood.counts(tables)
    likelihood.refuse_impossible(log_rows)
    entries = {}
    for name, table in tables.items():
        if (table > 0).all():
            entries[name] = counts[name] / table
            continue
        without = {**tables, name: np.ones(table.shape)}  # the product of the other tables
        with np.errstate(over="ignore"):
            shares = likelihood.weights * np.exp(likelihood.log_rows(without) - log_rows)
        entries[name] = likelihood.counts(without, weights=shares)[1][name]
    for table in (*counts.values(), *entries.values()):
        table.setflags(write=False)
    total = float(likelihood.weights @ log_rows)
    return LikelihoodGradient(network, total, MappingProxyType(counts), MappingProxyType(entries))


def _feasible(table: Floats, entries: Floats) -> Floats:
    """The gradient projected on rows that keep their sum and on entries that stay above zero."""
    free = np.ones(table.shape, dtype=bool)
    for _ in range(table.shape[-1]):
        mean = (entries * free).sum(axis=-1, keepdims=True) / np.maximum(free.sum(axis=-1, keepdims=True), 1)
        direction = np.where(free, entries - mean, 0.0)
        falling = free & (table <= 0) & (direction < 0)
        if not falling.any():
            break
        free &= ~falling
    return direction


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
    O(n²) for each row. All variables are linear Gaussian, with positive variances; cells or whole columns may be
    missing; rows count as often as `weights` say, or the table.

    >>> net = BayesianNetwork(LinearGaussianCPD("X", 0.0), LinearGaussianCPD("Y", 0.0, {"X": 1.0}))
    >>> gradient = gaussian_likelihood_gradient(net, {"Y": [2.0]})
    >>> round(gradient.parameters["X"]["(intercept)"], 9), round(gradient.parameters["Y"]["X"], 9)
    (1.0, 0.5)
    """
    cpds, names = {}, list(network.variables)
    for name, cpd in network.cpds.items():
        if not isinstance(cpd, LinearGaussianCPD) or not cpd.variance:
            raise NotSupported(
                f"{name!r} is no linear Gaussian with a positive variance. For tables and what is made of them see "
                "log_likelihood_gradient."
            )
        cpds[name] = cpd
    values, counts = _read(network, data, weights)
    # the mean and the covariance of all variables: x = (I - B)⁻¹ (β_0 + noise)
    slopes = np.zeros((len(names), len(names)))
    for name, cpd in cpds.items():
        slopes[names.index(name), [names.index(parent) for parent in cpd.parent_names]] = cpd.coefficients
    spread = np.linalg.inv(np.eye(len(names)) - slopes)
    means = (spread @ np.array([cpds[name].intercept for name in names]))[None]
    covariances = ((spread * np.array([cpds[name].variance for name in names])) @ spread.T)[None]
    rows = PatternRows.of(values)
    density = rows.density(means, covariances)
    moments = rows.moments(density, counts[:, None], means, covariances)[0]
    places = {name: 1 + place for place, name in enumerate(names)}
    derivatives = {name: _slopes(cpd, places, moments) for name, cpd in cpds.items()}
    return GaussianGradient(network, float(counts @ density.log_density[:, 0]), derivatives)


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


def _read(network: BayesianNetwork, data: TableLike, weights: Iterable[float] | None) -> tuple[Floats, Floats]:
    """A column for each variable, NaN where missing, and weights."""
    given = None if weights is None else list(weights)
    if isinstance(data, Table):
        UnknownVariable.check_all(data.variables, network.variables, "this network, though the data have it")
        numbers, num_rows = dict(zip(data.continuous, data.numbers, strict=True)), data.num_rows
        given = given if given is not None or data.weights is None else data.weights.tolist()
    else:
        read = EvidenceColumns.read(dict(columns_of(data, network.variables)), network.variables, "this network")
        numbers, num_rows = dict(read.numbers), read.num_rows
    columns = [numbers.get(name, np.full(num_rows, np.nan)) for name in network.variables]
    values = np.column_stack(columns) if columns else np.zeros((num_rows, 0))
    return values, checked_weights(given, num_rows)
