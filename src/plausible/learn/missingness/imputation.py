"""Filling missing cells: once, or several times so that differences show what they leave open."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from plausible.base import Result, Seed, chart_by, generator_of, record
from plausible.data.columns import with_values
from plausible.data.sources import columns_of, open_columns
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, UnknownVariable, counted, suggestion
from plausible.graphs.graph_input import read_dag
from plausible.learn.estimation.priors import FLAT_PRIOR, PriorLike
from plausible.learn.learned_parameters import fit_parameters, learn_parameters
from plausible.learn.missingness.cells import Mask, fill_cells, missing_cells
from plausible.learn.missingness.fillers import (
    by_best_completion,
    by_default,
    by_draw,
    by_hot_deck,
    by_mean,
    by_median,
    by_most_probable,
    by_uniform,
    from_column,
    network_table,
)
from plausible.models import BayesianNetwork
from plausible.search.run import Stops, iterate
from plausible.variables import Variable

if TYPE_CHECKING:
    from plausible.base.pictured import Axes, Chart

ByColumn: TypeAlias = Literal["default", "most-frequent", "mean", "median", "random", "uniform", "hot-deck"]
ByNetwork: TypeAlias = Literal["most-probable", "most-probable-completion", "draw"]
ImputationMethod: TypeAlias = Literal[ByColumn, ByNetwork]


@dataclass(frozen=True, slots=True, eq=False)
class Imputed:
    """Data with cells filled, and which these are."""

    data: Any  # The same kind of table as was given: its index, its order of columns, its types, its observed cells
    filled: Mapping[str, Mask]  # Name -> the cells that were missing and are now filled; complete columns are left out
    method: str  # How they were filled
    #: Name -> how many of its cells are still missing: the method has nothing to say of them, as a network of variables
    #: that it does not know, or a column of itself that has no value at all.
    left: Mapping[str, int]

    @property
    def num_filled(self) -> int:
        """How many cells were filled."""
        return sum(int(mask.sum()) for mask in self.filled.values())

    def __repr__(self) -> str:
        left = f", {sum(self.left.values())} cells of {', '.join(self.left)} left" if self.left else ""
        return f"<Imputed: {self.num_filled} cells of {counted(len(self.filled), 'variable')}, {self.method}{left}>"


def impute(
    data: TableLike,
    method: ImputationMethod | None = None,
    *,
    network: BayesianNetwork | None = None,
    values: Any = None,
    seed: Seed = None,
    variables: Mapping[str, Variable] | None = None,
) -> Imputed:
    """Fill missing cells once.

    A table filled once looks surer than it is: what is learned from it leans towards the filling rule, and its
    intervals are too short. `multiple_imputation` tells how much; `pb.learn.em` needs no filling.

    Parameters
    ----------
    data
        A frame, columns, or a `Table`; the same kind comes back.
    method
        "default" (with `values=`); by the column alone, "most-frequent" (the mean, for numbers), "mean" or "median" of
        numbers (for states the most frequent), "random" (a value of the column), "uniform" (any state); by other rows,
        "hot-deck"; by a network, each cell's "most-probable" state (the mean, for numbers), each row's
        "most-probable-completion", or a "draw" from the joint distribution of all missing cells of the row. Where left
        out, "most-probable" with a network, else "most-frequent". Rows count by their weights.
    network
        A network of the columns; those that it does not know stay as they are, see `Imputed.left`.
    values
        The default: one value for all, or name -> value.
    variables
        As for `Table.read`, where there is no network.

    Examples
    --------
    >>> impute({"x": ["a", "b", None, "b"], "y": [1.5, None, 3.0, 4.5]}).data
    {'x': ['a', 'b', 'b', 'b'], 'y': [1.5, 3.0, 3.0, 4.5]}
    >>> from plausible.cpds import TableCPD
    >>> net = BayesianNetwork(TableCPD("A", [0.6, 0.4]), TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"]))
    >>> impute({"A": [None, 0], "B": [1, None]}, network=net).data
    {'A': [1, 0], 'B': [1, 0]}
    """
    chosen = method or ("most-frequent" if network is None else "most-probable")
    if chosen not in get_args(ImputationMethod):
        hint = suggestion(chosen, get_args(ImputationMethod))
        raise InvalidArgument(f"method={chosen!r} is no way to fill cells.{hint}")
    if chosen == "default" and values is None:
        raise InvalidArgument("method='default' needs values=: one for all, or name -> value.")
    generator = generator_of(seed)
    if chosen in get_args(ByNetwork):
        if network is None:
            raise InvalidArgument("This method fills cells by what a network says of them: give network=.")
        table = network_table(data, network)
        if chosen == "draw":
            filled = by_draw(table, network, generator)
        else:
            filled = (by_most_probable if chosen == "most-probable" else by_best_completion)(table, network)
    else:
        known = variables or {}  # without the columns that have no value and of which no states are known
        read = data if isinstance(data, Table) else with_values(columns_of(data, known), known)
        fillers: dict[str, Callable[[Table], Table]] = {
            "default": partial(by_default, values=values),
            "most-frequent": by_mean,
            "mean": by_mean,
            "median": by_median,
            "random": partial(from_column, generator=generator),
            "uniform": partial(by_uniform, generator=generator),
            "hot-deck": partial(by_hot_deck, generator=generator),
        }
        table = Table.read(read, known)
        if chosen == "mean" and table.missing and not set(table.missing).intersection(table.continuous):
            raise InvalidArgument(
                f"{next(iter(table.missing))!r} has states, of which there is no mean, and no number is missing: "
                "method='most-frequent' fills states; variables=[Variable(name)] reads numbers as such."
            )
        filled = fillers[chosen](table)
    completed = fill_cells(data, filled)
    left = {name: int(mask.sum()) for name, mask in missing_cells(completed).items() if mask.any()}
    return Imputed(completed, newly_filled(data, completed), chosen, MappingProxyType(left))


def newly_filled(before: TableLike, after: Any) -> Mapping[str, Mask]:
    """Name -> the cells that are missing before and not after."""
    still = missing_cells(after)
    filled = {name: mask & ~still[name] for name, mask in missing_cells(before).items()}
    return MappingProxyType({name: mask for name, mask in filled.items() if mask.any()})


@record
class PooledEstimate(Result):
    """An estimate from several completed tables."""

    estimate: float  # The mean of the estimates
    within: float  # The mean of their variances: what would be left if nothing were missing
    between: float  # The variance between them: what missing cells add
    degrees_of_freedom: float  # Of the t distribution of (estimate - truth) / √total_variance
    interval: tuple[float, float]  # The ends of where the truth lies, at the level asked for
    copies: int  # From how many tables

    @property
    def total_variance(self) -> float:
        """within + (1 + 1/m) between."""
        return self.within + (1 + 1 / self.copies) * self.between

    @property
    def missing_share(self) -> float:
        """The share of the variance that is due to missing cells."""
        return 1 - self.within / self.total_variance if self.total_variance > 0 else 0.0

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw the estimate with its interval; it needs matplotlib (the extra `plot`)."""
        return chart_by("plot_intervals", {"pooled": self}, ax, f"Estimate from {self.copies} completed tables")

    def __str__(self) -> str:
        low, high = self.interval
        share = f"missing cells make {self.missing_share:.0%} of it"
        return f"{self.estimate:.4g}, between {low:.4g} and {high:.4g}; {share}"


def pool_estimates(
    estimates: Sequence[float] | NDArray[Any],
    variances: Sequence[float] | NDArray[Any],
    *,
    complete_degrees: float = math.inf,
    level: float = 0.95,
) -> PooledEstimate:
    """Pool the estimates that m completed tables give: T = W + (1 + 1/m) B (Rubin 1987).

    The degrees of freedom are (m - 1)(1 + W / ((1 + 1/m) B))², and fewer for small tables (Barnard & Rubin 1999).

    Each table gives an estimate and its squared standard error; `complete_degrees` are those that the estimate would
    have from complete data, and `level` is that of the interval.

    >>> pooled = pool_estimates([1.0, 1.2, 1.1], [0.04, 0.05, 0.03])
    >>> round(pooled.total_variance, 4), round(pooled.degrees_of_freedom, 1)
    (0.0533, 32.0)
    """
    from scipy.special import stdtrit

    found, squared = np.asarray(estimates, dtype=np.float64), np.asarray(variances, dtype=np.float64)
    if found.ndim != 1 or len(found) < 2 or squared.shape != found.shape:
        raise InvalidArgument("Give an estimate and a variance from each of two tables or more.")
    if not (np.isfinite(found).all() and np.all(squared >= 0)):
        raise InvalidArgument("Estimates are finite numbers, and their variances are not negative.")
    if not 0 < level < 1:
        raise InvalidArgument(f"level= is between 0 and 1, not {level!r}.")
    within, between = float(squared.mean()), float(found.var(ddof=1))
    extra, degrees = (1 + 1 / len(found)) * between, complete_degrees
    if extra:
        share = extra / (within + extra)
        degrees = (len(found) - 1) / share**2
        if not math.isinf(complete_degrees):
            seen = (complete_degrees + 1) / (complete_degrees + 3) * complete_degrees * (1 - share)
            degrees = degrees * seen / (degrees + seen)
    center, spread = float(found.mean()), math.sqrt(within + extra)
    # With more degrees of freedom the t distribution is the normal one; infinitely many give NaN.
    half = float(stdtrit(min(degrees, 1e12), (1 + level) / 2)) * spread
    return PooledEstimate(center, within, between, degrees, (center - half, center + half), len(found))


@dataclass(frozen=True, slots=True, eq=False)
class AugmentationState:
    """Where data augmentation is."""

    observed: Table  # The rows with their missing cells
    completed: Table  # The same rows, completed
    network: BayesianNetwork  # The parameters that were drawn last
    num_steps: int = 0  # How many steps were made


@dataclass(frozen=True, slots=True, eq=False)
class MultipleImputation:
    """Completed tables."""

    copies: tuple[Any, ...]  # Each the same kind of table as was given
    networks: tuple[BayesianNetwork, ...]  # The network that each was drawn from
    filled: Mapping[str, Mask]  # Name -> the cells that were missing
    stopped_by: str = ""  # Empty where all copies were made, else "interrupted" or "time limit"

    def pool(
        self, estimate: Callable[[Any], tuple[float, float]], *, complete_degrees: float = np.inf, level: float = 0.95
    ) -> PooledEstimate:
        """What a function that gives an estimate and its variance makes of all copies, by Rubin's rules."""
        found = [estimate(copy) for copy in self.copies]
        if any(not isinstance(answer, (tuple, list, np.ndarray)) or len(answer) != 2 for answer in found):
            raise InvalidArgument(
                f"The function gives {found[0]!r}; it should give two numbers, an estimate and the square of its "
                "standard error."
            )
        values, variances = zip(*found, strict=True) if found else ((), ())
        return pool_estimates(values, variances, complete_degrees=complete_degrees, level=level)

    def __repr__(self) -> str:
        return f"<MultipleImputation: {len(self.copies)} copies{', ' * bool(self.stopped_by)}{self.stopped_by}>"


def multiple_imputation(
    data: TableLike,
    graph: object,
    copies: int = 5,
    *,
    prior: PriorLike | None = None,
    keep_parameters: bool = False,
    burn_in: int = 20,
    thin: int = 5,
    seed: Seed = None,
    progress: Callable[[AugmentationState], object] | None = None,
    time_limit: float | None = None,
) -> MultipleImputation:
    """Complete a table several times, each time with parameters drawn anew.

    Data augmentation (Tanner & Wong 1987) draws in turn the parameters given the completed rows and the missing cells
    given the parameters; its copies come from P(missing | observed), with the uncertainty of the parameters. Tables
    have Dirichlet posteriors; with numbers in the network, parameters are those of a bootstrap sample of the completed
    rows, which is right for many rows only. Missing cells are taken to be ignorable (MAR).

    Parameters
    ----------
    data
        A frame, columns, or a `Table`; the same kind comes back.
    graph
        A DAG or arrow text over the columns, or a network, which says which states there are and where to start.
    prior
        Of the tables; by default one case for each cell (K2).
    keep_parameters
        Draw from the network as it is, which must then be one: right where its parameters are known.
    burn_in, thin
        Steps before the first copy, and from one copy to the next.

    Examples
    --------
    >>> rows = {"x": ["a", "b"] * 30, "y": ["c", "d", None] * 20}
    >>> result = multiple_imputation(rows, "x -> y", copies=4, seed=0)
    >>> def share(copy):
    ...     found = copy["y"].count("c") / 60
    ...     return found, found * (1 - found) / 60
    >>> pooled = result.pool(share)
    >>> pooled.between > 0, round(pooled.estimate, 1)
    (True, 0.5)
    """
    if copies < 1 or burn_in < 0 or thin < 1:
        raise InvalidArgument("copies= and thin= are at least 1, and burn_in= is not negative.")
    if keep_parameters and not isinstance(graph, BayesianNetwork):
        raise InvalidArgument("keep_parameters=True needs a network with parameters, not a graph.")
    generator = generator_of(seed)
    first, num_steps = augmentation_init(data, graph, generator), burn_in + 1 + thin * (copies - 1)
    if keep_parameters:
        drawn = (by_draw(first.observed, first.network, generator) for _ in range(copies))
        return _imputed(data, [(fill_cells(data, completed), first.network) for completed in drawn])
    made: list[tuple[Any, BayesianNetwork]] = []

    def step(state: AugmentationState) -> AugmentationState:
        after = augmentation_step(state, generator, prior)
        if state.num_steps >= burn_in and (state.num_steps - burn_in) % thin == 0:
            made.append((fill_cells(data, after.completed), after.network))
        return after

    run = iterate(step, first, Stops(0.0, num_steps, time_limit, progress))
    return _imputed(data, made, "" if run.num_steps == num_steps else run.stopped_by)


def _imputed(data: TableLike, made: Sequence[tuple[Any, BayesianNetwork]], stopped_by: str = "") -> MultipleImputation:
    copies, networks = tuple(copy for copy, _ in made), tuple(network for _, network in made)
    return MultipleImputation(copies, networks, newly_filled(data, copies[0]) if copies else {}, stopped_by)


def augmentation_init(data: TableLike, graph: object, generator: np.random.Generator) -> AugmentationState:
    """Rows completed for a start: by a draw from the network, or, with a graph alone, from each column."""
    if isinstance(graph, BayesianNetwork):
        observed = _picklable(network_table(data, graph))
        return AugmentationState(observed, by_draw(observed, graph, generator), graph)
    names = [str(node) for node in read_dag(graph).nodes]
    opened = data if isinstance(data, Table) else open_columns(data)
    columns = opened.variables if isinstance(opened, Table) else opened.names
    if absent := [name for name in names if name not in columns]:
        raise UnknownVariable.named(absent[0], columns, "the data; give a network, where it is hidden")
    observed = opened.select(names) if isinstance(opened, Table) else Table.read(opened.read(names))
    observed = _picklable(observed)
    hidden = [name for name, number in observed.missing.items() if number == observed.num_rows]
    for name in hidden:
        if observed.variables[name].is_continuous:
            raise InvalidArgument(f"{name!r} is a number that no row has: give a network, which says what it may be.")
    completed = by_uniform(observed, generator) if hidden else from_column(observed, generator)
    return AugmentationState(observed, completed, learn_parameters(graph, completed, FLAT_PRIOR, unseen="uniform"))


def augmentation_step(
    state: AugmentationState, generator: np.random.Generator, prior: PriorLike | None = None
) -> AugmentationState:
    """Draw the parameters given the completed rows, and then the missing cells given these."""
    rows, network = state.completed, state.network
    if rows.continuous:
        rows = rows.take(generator.integers(rows.num_rows, size=rows.num_rows))
    fit = fit_parameters(network, rows, FLAT_PRIOR if prior is None else prior)
    drawn = fit.network if rows.continuous else fit.posterior.sample(1, generator)[0]
    return AugmentationState(state.observed, by_draw(state.observed, drawn, generator), drawn, state.num_steps + 1)


def _picklable(table: Table) -> Table:
    """The table with mappings that can be pickled."""
    return replace(table, variables=dict(table.variables), interventions=dict(table.interventions))
