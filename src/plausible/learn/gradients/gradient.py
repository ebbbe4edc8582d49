"""The exact gradient of the log-likelihood of incomplete data, in every form in which it is used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from plausible.base.arrays import Floats
from plausible.cpds import TableCPD
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.learn.gradients.observed import ObservedLikelihood, Tables, tables_of
from plausible.learn.gradients.space import coordinates_of
from plausible.models import BayesianNetwork


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
        """The gradient of the parameters of a noisy-or, a logistic distribution or a tree, by the chain rule.

        By the names that these print: "(leak)" or "(intercept)", and the parents; "rows" of tables and of leaves.
        """
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
        """The largest |P(x | u) M[u] - M[u, x]| of all tables: zero exactly where EM stands still.

        This is the condition of a stationary point under the constraint that rows sum to one, by Lagrange multipliers.
        """
        names = [name for name, cpd in self.network.cpds.items() if cpd.kind == "table"]
        return max((float(np.abs(self.softmax(name)).max()) for name in names), default=0.0)

    def after_projected_step(self, size: float) -> BayesianNetwork:
        """The network of tables after θ + size · projected gradient, the step cut short where an entry meets zero.

        Entries that are zero and would fall stay zero, and their rows are projected without them.

        Parameters
        ----------
        size
            The learning rate η, not negative.
        """
        if not size >= 0:
            raise InvalidArgument(f"The size of a step is not negative, as {size!r} is.")
        tables, directions = tables_of(self.network), {}
        for name, cpd in self.network.cpds.items():
            if cpd.kind != "table":
                raise NotSupported(f"A projected step is one of tables, but {name!r} is a {cpd.kind}: to_table().")
            directions[name] = _feasible(tables[name], np.asarray(self.entries[name]))
        length = min([size, *(_longest(tables[name], directions[name]) for name in tables)])
        return BayesianNetwork(
            TableCPD(cpd.variable, _on_simplex(tables[name] + length * directions[name]), cpd.parents)
            for name, cpd in self.network.cpds.items()
        )

    def _of(self, tables: Tables, name: str) -> Floats:
        if name not in tables:
            raise UnknownVariable.named(name, tables, "this network")
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
    entries = entry_gradients(likelihood, tables, log_rows, counts)
    total = float(likelihood.weights @ log_rows)
    return LikelihoodGradient(network, total, _read_only(counts), _read_only(entries))


def entry_gradients(
    likelihood: ObservedLikelihood, tables: Tables, log_rows: Floats, counts: Tables
) -> dict[str, Floats]:
    """dℓ/dP(x | u) of all entries, by expected counts, or where there are zeros by the product of the other tables."""
    entries = {}
    for name, table in tables.items():
        if (table > 0).all():
            entries[name] = counts[name] / table
            continue
        without = {**tables, name: np.ones(table.shape)}
        log_others = likelihood.log_rows(without)
        with np.errstate(over="ignore"):
            weights = likelihood.weights * np.exp(log_others - log_rows)
        entries[name] = likelihood.counts(without, weights=weights)[1][name]
    return entries


def _read_only(tables: Mapping[str, Floats]) -> Tables:
    for table in tables.values():
        table.setflags(write=False)
    return MappingProxyType(dict(tables))


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


def _longest(table: Floats, direction: Floats) -> float:
    """The longest step that keeps all entries."""
    falling = direction < 0
    return float((table[falling] / -direction[falling]).min(initial=np.inf))


def _on_simplex(table: Floats) -> Floats:
    """Rounding taken away."""
    table = np.maximum(table, 0.0)
    return np.asarray(table / table.sum(axis=-1, keepdims=True))
