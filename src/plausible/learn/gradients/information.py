"""The curvature of the log-likelihood of incomplete data: what it tells about estimates, and which it leaves open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from plausible.base import SMALLEST, Codes, Floats, Positions, Result, record
from plausible.cpds import CPD, TreeCPD
from plausible.cpds.reading import place_text
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument, NotSupported, TooLarge, counted
from plausible.factors.definite import pivoted_root
from plausible.learn.estimation.families import ParameterKnowledge
from plausible.learn.estimation.priors import PriorLike
from plausible.learn.gradients.coordinates import RowCoordinates
from plausible.learn.gradients.space import ObservedLikelihood, ParameterSpace, Tables, tables_of
from plausible.models import BayesianNetwork

#: More runs of a row through the clique tree are refused: this is about a minute of work on a network like ALARM.
_MOST_RUNS = 4_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """The entries of all tables that are not zero, numbered one table after the other."""

    places: dict[str, Positions]  # name -> the positions of its entries in its flat table
    parts: dict[str, slice]  # name -> the numbers that these have

    @classmethod
    def of(cls, tables: Tables) -> Entries:
        """Those of some tables."""
        places = {name: np.flatnonzero(table) for name, table in tables.items()}
        ends = np.cumsum([0, *(len(found) for found in places.values())]).tolist()
        return cls(places, {name: slice(*ends[i : i + 2]) for i, name in enumerate(places)})

    def __len__(self) -> int:
        return sum(map(len, self.places.values()))

    def taken(self, tables: Tables) -> Floats:
        """The numbers at the entries, from arrays in the shape of the tables."""
        return np.concatenate([np.empty(0), *(np.ravel(tables[name])[at] for name, at in self.places.items())])


@dataclass(frozen=True, slots=True, eq=False)
class FreeParameters:
    """All states but the last possible one of each row of a table, of each leaf of a tree, of each shared row."""

    labels: tuple[str, ...]  # "P(X=x | U=u)" for each
    slopes: Floats  # dθ_entry / dparameter, a row for each entry; rows of fixed distributions are zero

    @classmethod
    def of(cls, space: ParameterSpace, entries: Entries) -> FreeParameters:
        """Those of a network of tables and trees."""
        labels: list[str] = []
        columns: list[Floats] = []
        for block in space.blocks:
            coordinates = block.coordinates
            if not isinstance(coordinates, RowCoordinates):
                origin = coordinates.origin
                raise NotSupported(
                    f"The {origin.kind} distribution of {origin.variable.name!r} is not linear in its parameters: "
                    "curvature is had of tables and trees. Make it a table by to_table(), or fix it."
                )
            for row, values in enumerate(coordinates.rows):
                kept = np.flatnonzero(values).tolist()
                for state in kept[:-1]:
                    labels.append(_label(coordinates.origin, row, state))
                    moved = np.zeros((len(coordinates.places), coordinates.rows.shape[1]))
                    moved[coordinates.places == row, state] = 1.0  # the entries that a parameter is
                    moved[coordinates.places == row, kept[-1]] = -1.0  # and those that make room for it
                    columns.append(np.zeros(len(entries)))
                    for user in block.users:
                        columns[-1][entries.parts[user]] = moved.ravel()[entries.places[user]]
        slopes = np.column_stack(columns) if columns else np.zeros((len(entries), 0))
        return cls(tuple(labels), slopes)


def _label(cpd: CPD, row: int, state: int) -> str:
    event = f"{cpd.variable.name}={cpd.variable.states[state]}"
    if not cpd.parents:
        return f"P({event})"
    if isinstance(cpd, TreeCPD):
        return f"P({event} | {str(cpd.contexts()[row]).partition(':')[0]})"
    sizes = [parent.num_states for parent in cpd.parents]
    return f"P({event} | {place_text(cpd.parents, tuple(int(i) for i in np.unravel_index(row, sizes)))})"


def entry_posteriors(likelihood: ObservedLikelihood, tables: Tables, entries: Entries) -> Floats:
    """P(x, u | o[m]) for each different row and each entry that is not zero. A run for each row and entry.

    Each entry is put into the rows as if it had been observed: P(x, u | o) = P(x, u, o) / P(o).
    """
    num_runs = len(likelihood.rows) * len(entries)
    if num_runs > _MOST_RUNS:
        raise TooLarge(
            f"The curvature of {len(entries)} entries over {len(likelihood.rows)} different rows needs {num_runs} "
            f"runs of a row, more than {_MOST_RUNS}. Fix some distributions by knowledge=, or take fewer rows."
        )
    log_rows = likelihood.log_rows(tables)
    likelihood.refuse_impossible(log_rows)
    posteriors = np.zeros((len(likelihood.rows), len(entries)))
    for name, part in entries.parts.items():
        given = [_observed(likelihood, name, int(place)) for place in entries.places[name]]
        logs = likelihood.log_rows(tables, np.concatenate([rows for rows, _ in given]))
        starts = np.cumsum([0, *(len(rows) for rows, _ in given)])
        for number, (_, agreeing) in enumerate(given):
            found = logs[starts[number] : starts[number + 1]] - log_rows[agreeing]
            posteriors[agreeing, part.start + number] = np.exp(found)
    return posteriors


def pair_counts(likelihood: ObservedLikelihood, tables: Tables, entries: Entries, posteriors: Floats) -> Floats:
    """Σ_m w_m P(x_i, u_i, x_j, u_j | o[m]) for all pairs of entries of different families; zero within a family.

    Two entries of one family are never used together, and one entry only once: P(o) is linear in it.
    """
    counts = np.zeros((len(entries), len(entries)))
    for name, part in entries.parts.items():
        for number, place in enumerate(entries.places[name].tolist(), part.start):
            rows, agreeing = _observed(likelihood, name, place)
            weights = likelihood.weights[agreeing] * posteriors[agreeing, number]
            counts[number] = entries.taken(likelihood.counts(tables, rows, weights)[1])
        counts[part, part] = 0.0
    return counts


def _observed(likelihood: ObservedLikelihood, name: str, place: int) -> tuple[Codes, Positions]:
    """The rows that agree with an entry of a family, with its states put in, and which rows these are."""
    scope, order = likelihood.families[name], list(likelihood.compiled.tree.variables)
    columns = [order.index(variable.name) for variable in scope]
    states = np.array(np.unravel_index(place, [variable.num_states for variable in scope]))
    cells = likelihood.rows[:, columns]
    agreeing = np.flatnonzero(((cells == states) | (cells < 0)).all(axis=1))
    rows = likelihood.rows[agreeing].copy()
    rows[:, columns] = states
    return rows, agreeing


#: Eigenvalues below this, of a matrix with a unit diagonal, count as zero.
_FLAT = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class LikelihoodHessian:
    """d²ℓ / dθ_i dθ_j by the entries of tables, each changed by itself; made by `log_likelihood_hessian`."""

    #: Name -> the number of each entry in the matrix, in the shape of its table; -1 where the entry is zero.
    numbers: Mapping[str, Positions]
    matrix: Floats  # The second derivatives of entries that are not zero

    def block(self, first: str, second: str) -> Floats:
        """The part of two variables: axes of the first one's table, then of the second's; NaN at zero entries."""
        one, two = self.numbers[first], self.numbers[second]
        part = self.matrix[np.ix_(one.ravel(), two.ravel())].copy() if self.matrix.size else np.zeros((one.size, 0))
        part[one.ravel() < 0] = np.nan
        part[:, two.ravel() < 0] = np.nan
        return part.reshape(*one.shape, *two.shape)


def log_likelihood_hessian(
    network: BayesianNetwork, data: TableLike, weights: Iterable[float] | None = None
) -> LikelihoodHessian:
    """d²ℓ/dθ_i dθ_j = Σ_m w_m [P(e_i, e_j | o[m]) - P(e_i | o[m]) P(e_j | o[m])] / (θ_i θ_j), for entries e = (x, u).

    The joint term is zero for two entries of one family and for an entry with itself, as P(o) is linear in each:
    the diagonal is -Σ w (P(e | o) / θ)². (Koller & Friedman 2009, exercise 19.9, prints the joint term there, too.)
    Cost: a run for each different row and entry, since pairs of families share no clique.
    The derivatives are of the tables of a discrete network, whatever distributions are made of; data and weights are as
    for `log_likelihood_gradient`.

    >>> from plausible.cpds import TableCPD
    >>> net = BayesianNetwork(TableCPD("A", [0.5, 0.5]), TableCPD("B", [[0.5, 0.5], [0.25, 0.75]], ["A"]))
    >>> log_likelihood_hessian(net, {"B": [0]}).block("A", "A").round(3)
    array([[-1.778, -0.889],
           [-0.889, -0.444]])
    """
    likelihood = ObservedLikelihood.of(network, data, weights)
    tables = tables_of(network)
    entries = Entries.of(tables)
    numbers = {}
    for name, table in tables.items():
        found = np.full(table.size, -1, dtype=np.intp)
        found[entries.places[name]] = np.arange(entries.parts[name].start, entries.parts[name].stop)
        numbers[name] = found.reshape(table.shape)
    return LikelihoodHessian(MappingProxyType(numbers), _hessian(likelihood, tables, entries))


def _hessian(likelihood: ObservedLikelihood, tables: Mapping[str, Floats], entries: Entries) -> Floats:
    posteriors = entry_posteriors(likelihood, tables, entries)
    joints = pair_counts(likelihood, tables, entries, posteriors)
    products = posteriors.T @ (likelihood.weights[:, None] * posteriors)
    theta = entries.taken(tables)
    found = (joints - products) / theta[:, None] / theta
    return np.asarray((found + found.T) / 2)


@dataclass(frozen=True, slots=True, eq=False)
class ObservedInformation:
    """How sharply incomplete data determine the parameters of a network; made by `observed_information`."""

    labels: tuple[str, ...]  # The free parameters, "P(X=x | U=u)": all states but the last possible one of each row
    #: -d²(ℓ + log prior) / dθ_i dθ_j of these.
    matrix: Floats
    #: How many directions have a curvature: the effective dimension, where this is less than the number of labels.
    rank: int
    is_maximum: bool  # Whether no direction curves upwards
    #: The inverse of the matrix within the directions that have a curvature; of all, where there is no flat one.
    covariance: Floats
    #: Name -> the standard error of each entry of its table: infinite where the data leave it open, NaN for entries
    #: that are zero, where normal theory fails, and of all where the point is no maximum.
    standard_errors: Mapping[str, Floats]

    def __repr__(self) -> str:
        return f"<ObservedInformation: {counted(len(self.labels), 'parameter')}, rank {self.rank}>"


def observed_information(
    network: BayesianNetwork,
    data: TableLike,
    prior: PriorLike = None,
    *,
    weights: Iterable[float] | None = None,
    knowledge: ParameterKnowledge | None = None,
) -> ObservedInformation:
    """-d²ℓ/dθ² in free parameters at a network, and standard errors from its inverse; at a maximum of ℓ it is sound.

    Entries of tables are linear in the free parameters, so that the matrix is -CᵀHC with H that of
    `log_likelihood_hessian`. Cost: a run for each different row and entry.

    Parameters
    ----------
    network
        Of tables and trees, such as the result of `learn_by_gradient`.
    data
        The rows that it was learned from.
    prior, weights
        Those that it was learned with; the curvature (α - 1)/θ² of the prior is added.
    knowledge
        Fixed CPDs, which have no error, and tied tables.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> coin = BayesianNetwork(TableCPD("coin", [0.25, 0.75]))
    >>> observed_information(coin, {"coin": [0] * 25 + [1] * 75}).standard_errors["coin"].round(4)
    array([0.0433, 0.0433])
    """
    space = ParameterSpace.of(network, knowledge)
    likelihood = ObservedLikelihood.of(space.network, data, weights)
    tables = tables_of(space.network)
    entries = Entries.of(tables)
    free = FreeParameters.of(space, entries)
    hessian = _hessian(likelihood, tables, entries)
    pulls = {name: np.zeros(table.shape) for name, table in tables.items()} | dict(space.log_prior_weights(prior))
    hessian[np.diag_indices(len(entries))] -= entries.taken(pulls) / entries.taken(tables) ** 2
    matrix = -free.slopes.T @ hessian @ free.slopes
    rank, is_maximum, covariance, flat = _inverse(matrix)
    errors = np.full(len(entries), np.nan)
    if is_maximum:  # infinite where a flat direction moves an entry
        variances = np.einsum("ei,ij,ej->e", free.slopes, covariance, free.slopes)
        sizes = np.linalg.norm(flat, axis=0) if flat.size else np.ones(flat.shape[1])
        is_open = (np.abs(free.slopes @ flat) > 1e-6 * sizes).any(axis=1)
        errors = np.where(is_open, np.inf, np.sqrt(np.maximum(variances, 0.0)))
    shaped = {}
    for name, table in tables.items():
        found = np.full(table.size, np.nan)
        found[entries.places[name]] = errors[entries.parts[name]]
        shaped[name] = found.reshape(table.shape)
    return ObservedInformation(free.labels, matrix, rank, is_maximum, covariance, MappingProxyType(shaped))


def _inverse(matrix: Floats) -> tuple[int, bool, Floats, Floats]:
    """Rank, whether nothing curves upwards, the inverse where there is curvature, a basis of where there is none."""
    # parameters differ in scale as 1/θ², so that the diagonal is made one first
    diagonal = np.abs(np.diag(matrix))
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = np.linalg.eigh(matrix / scale[:, None] / scale)
    largest = np.abs(values).max(initial=0.0)
    curved = np.abs(values) > _FLAT * max(largest, SMALLEST)
    inverse = (vectors[:, curved] / values[curved]) @ vectors[:, curved].T / scale[:, None] / scale
    flat = vectors[:, ~curved] / scale[:, None]
    return int(curved.sum()), bool((values > -_FLAT * max(largest, SMALLEST)).all()), inverse, flat


#: Numbers below this, where the largest is one, count as zero.
_NOTHING = 1e-6


@record(eq=False)
class Identifiability(Result):
    """What incomplete data can tell of the parameters near a network; made by `identifiability`."""

    labels: tuple[str, ...]  # The free parameters, "P(X=x | U=u)": all states but the last possible one of each row
    #: The rank of the derivatives of log P(o[m]): how many parameters the rows can tell. Smaller than the number of
    #: labels where the likelihood is flat; the dimension that a BIC score should charge for.
    effective_dimension: int
    #: A basis of the changes of parameters that no row notices: label -> change, those of zero left out. It is the
    #: reduced echelon form, by the labels that move most: each direction alone moves one of them, by one.
    flat_directions: tuple[Mapping[str, float], ...]

    @property
    def is_identified(self) -> bool:
        """Whether every change of parameters changes the likelihood of some row, near this network."""
        return not self.flat_directions

    @property
    def unidentified(self) -> tuple[str, ...]:
        """The parameters that some flat direction moves."""
        moved = {label for direction in self.flat_directions for label in direction}
        return tuple(label for label in self.labels if label in moved)

    def __str__(self) -> str:
        head = f"{self.effective_dimension} of {len(self.labels)} free parameters are told by the data"
        flat = (direction.items() for direction in self.flat_directions)
        changes = [", ".join(f"{change:+.3g} {label}" for label, change in direction) for direction in flat]
        return "\n".join([f"{head}{'; flat directions:' if changes else '.'}", *(f"  {text}" for text in changes)])


def identifiability(
    network: BayesianNetwork,
    data: TableLike,
    *,
    knowledge: ParameterKnowledge | None = None,
    tolerance: float = 1e-8,
) -> Identifiability:
    """The rank of d log P(o[m]) / dθ over the rows: the effective dimension, and the directions that are flat.

    With hidden variables this is often less than the number of free parameters: infinitely many networks then have
    the greatest likelihood (Geiger, Heckerman & Meek 1996). The answer holds near the network given: at a special one,
    such as a hidden variable whose states are alike, the rank is lower than at nearly all others, so that a network
    with random parameters tells the dimension of the model. Cost: a run for each different row and entry.

    Parameters
    ----------
    network
        Of tables and trees; entries that are zero are held.
    data
        The rows to be explained; which values they have matters, how often does not.
    knowledge, tolerance
        Fixed CPDs and tied tables; singular values below this share of the largest count as zero.

    Examples
    --------
    A hidden cause of one test: only P(test) is told, one number of three.

    >>> from plausible.cpds import TableCPD
    >>> net = BayesianNetwork(TableCPD("C", [0.4, 0.6]), TableCPD("T", [[0.9, 0.1], [0.2, 0.8]], ["C"]))
    >>> found = identifiability(net, {"T": [0, 1]})
    >>> found.effective_dimension, found.unidentified
    (1, ('P(C=0)', 'P(T=0 | C=0)', 'P(T=0 | C=1)'))
    """
    if not 0 < tolerance < 1:
        raise InvalidArgument(f"The tolerance is a small positive share, not {tolerance!r}.")
    space = ParameterSpace.of(network, knowledge)
    likelihood = ObservedLikelihood.of(space.network, data)
    tables = tables_of(space.network)
    entries = Entries.of(tables)
    free = FreeParameters.of(space, entries)
    scores = (entry_posteriors(likelihood, tables, entries) / entries.taken(tables)) @ free.slopes
    rank, flat = 0, np.eye(scores.shape[1])
    if scores.size:  # an orthonormal basis of what the scores map to zero
        sizes = np.linalg.norm(scores, axis=0)
        sizes = np.where(sizes > 0, sizes, 1.0)  # parameters differ in scale as 1/θ
        _, values, right = np.linalg.svd(scores / sizes)
        rank = int((values > tolerance * max(values.max(), SMALLEST)).sum())
        flat = right[rank:] / sizes
    directions = tuple(
        {label: float(change) for label, change in zip(free.labels, row, strict=True) if abs(change) > _NOTHING}
        for row in _reduced(flat)
    )
    return Identifiability(free.labels, rank, directions)


def _reduced(basis: Floats) -> Floats:
    """The reduced echelon form of a space: each row alone has the number one in a column of its own.

    The columns are those that matter most in the space, each beyond those before it, and the first among equals. So it
    is the same whichever basis is given, and a factorisation may give any.
    """
    directions = np.linalg.qr(basis.T)[0]
    root, pivots = pivoted_root(directions @ directions.T, _NOTHING)
    columns = sorted(pivots)
    return np.asarray(np.linalg.solve(root[columns].T, root.T), dtype=np.float64)
