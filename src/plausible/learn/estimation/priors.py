"""What is believed about the rows of tables before any data, as pseudo-counts, which add to counts; and what after.

A row θ of a table has the Dirichlet density ∝ Π_x θ_x^(α_x - 1); all rows are independent. After counts N it is the
Dirichlet density of α + N, so that α_x is the number of cases in state x which the prior is worth (Spiegelhalter &
Lauritzen 1990).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from plausible.base import Checked, Flags, Floats, by_label, read_named_option, real
from plausible.cpds.reading import state_index
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable, suggestion
from plausible.models import BayesianNetwork
from plausible.variables import Variable


@runtime_checkable
class Prior(Protocol):
    """Anything that gives pseudo-counts for a family."""

    def pseudo_counts(self, child: Variable, parents: Sequence[Variable]) -> Floats:
        """α, an axis for each parent, then one for the child."""


#: One prior for all tables, itself or by name, such as "bdeu:10"; a prior for each variable; or none: `None`, "none".
PriorLike: TypeAlias = Prior | str | Mapping[str, Prior | str] | None


@dataclass(frozen=True, slots=True, eq=False)
class Dirichlet:
    """A Dirichlet prior: the same pseudo-counts for each row, or a whole table of them.

    `counts` are one number for all cells; a number for each state of the child, in order or by state; or an array with
    an axis for each parent and one for the child. If all are zero, there is no prior.

    >>> Dirichlet({"wet": 3, "dry": 1}).pseudo_counts(Variable("grass", ["dry", "wet"]), [Variable("rain", 2)])
    array([[1., 3.],
           [1., 3.]])
    """

    counts: npt.ArrayLike | Mapping[Any, float] = 1.0

    def pseudo_counts(self, child: Variable, parents: Sequence[Variable]) -> Floats:
        """α, an axis for each parent, then one for the child."""
        shape = tuple(variable.num_states for variable in (*parents, child))
        given = by_label(self.counts)
        if isinstance(given, Mapping):
            by_state, given = given, [0.0] * child.num_states
            for state, count in by_state.items():
                given[state_index(child, state, f"The pseudo-counts of {child.name!r}")] = count
        try:
            counts = np.broadcast_to(np.asarray(given, dtype=np.float64), shape)
        except (TypeError, ValueError):
            raise InvalidArgument(
                f"The pseudo-counts of {child.name!r} need the shape {shape} (parents, then child), or that of a row, "
                f"but are {np.shape(np.asarray(given, dtype=object))}."
            ) from None
        if not (np.isfinite(counts).all() and (counts >= 0).all()):
            raise InvalidArgument(f"The pseudo-counts of {child.name!r} must be finite and not negative.")
        return counts


@dataclass(frozen=True, slots=True)
class K2:
    """A prior of one case in each cell: all rows of probabilities are equally likely (Cooper & Herskovits 1992).

    >>> K2().pseudo_counts(Variable("coin", 2), [])
    array([1., 1.])
    """

    def pseudo_counts(self, child: Variable, parents: Sequence[Variable]) -> Floats:
        """α, an axis for each parent, then one for the child."""
        return np.ones([variable.num_states for variable in (*parents, child)])


@dataclass(frozen=True, slots=True)
class BDeu(Checked, equivalent_sample_size=real(above=0)):
    """A uniform prior worth α cases, spread over all cells: α_{x|u} = α / (number of cells) (Buntine 1991).

    >>> BDeu(10).pseudo_counts(Variable("grass", 2), [Variable("rain", 2)])
    array([[2.5, 2.5],
           [2.5, 2.5]])
    """

    equivalent_sample_size: float = 10.0

    def pseudo_counts(self, child: Variable, parents: Sequence[Variable]) -> Floats:
        """α, an axis for each parent, then one for the child."""
        shape = [variable.num_states for variable in (*parents, child)]
        return np.full(shape, self.equivalent_sample_size / math.prod(shape))


@dataclass(frozen=True, slots=True)
class BDe(Checked, equivalent_sample_size=real(above=0)):
    """A prior network worth α cases: α_{x|u} = α P'(x, u) (Heckerman, Geiger & Chickering 1995).

    P' has at least the variables of the tables; its graph may be different.

    >>> from plausible.cpds import TableCPD
    >>> rain = BayesianNetwork(TableCPD("rain", [0.75, 0.25]))
    >>> BDe(rain, 8).pseudo_counts(rain.variables["rain"], [])
    array([6., 2.])
    """

    network: BayesianNetwork
    equivalent_sample_size: float = 10.0

    def pseudo_counts(self, child: Variable, parents: Sequence[Variable]) -> Floats:
        """α, an axis for each parent, then one for the child."""
        family = (*parents, child)
        for variable in family:
            if self.network.variables.get(variable.name, variable) != variable:
                raise InvalidArgument(
                    f"{variable.name!r} has the states {list(variable.states)} in the data, but others in the prior "
                    f"network: {list(self.network.variables[variable.name].states)}. Read the data with its variables=."
                )
        joint = self.network.query([variable.name for variable in family])
        return self.equivalent_sample_size * joint.values


#: What doors take that make tables and are given no prior: it rules nothing out and hardly says more.
LIGHT_PRIOR: Final = BDeu(1.0)
#: What doors take that need pseudo-counts in every cell and are given no prior.
FLAT_PRIOR: Final = K2()

#: Those that go by name; True where a number may stand after a colon.
_NAMED: Mapping[str, tuple[Callable[..., Prior], bool]] = MappingProxyType(
    {"k2": (K2, False), "bdeu": (BDeu, True), "dirichlet": (Dirichlet, True)}
)


def is_no_prior(prior: PriorLike) -> bool:
    """Whether there is none: `None`, or its name, "none"."""
    return prior is None or (isinstance(prior, str) and read_named_option(prior)[0] == "none")


def read_prior(prior: Prior | str) -> Prior | None:
    """A prior, or the one of this name: "k2", "bdeu", "bdeu:10", "dirichlet", "dirichlet:0.5"; `None` for "none"."""
    if is_no_prior(prior):
        return None
    if isinstance(prior, str):
        name, number = read_named_option(prior)
        if name not in _NAMED:
            raise InvalidArgument(f"{prior!r} is no prior.{suggestion(name, _NAMED)} Or give one, such as BDeu(10).")
        make, takes_number = _NAMED[name]
        if number is None:
            return make()
        if not takes_number:
            raise InvalidArgument(f"{prior!r}: {name} has no number; write {name!r}.")
        return make(number)
    if not isinstance(prior, Prior):
        raise InvalidArgument(
            f"A prior is Dirichlet(1), BDeu(10), BDe(network, 10) or K2(), or a name, such as 'bdeu:10', not {prior!r}."
        )
    return prior


def pseudo_counts(prior: PriorLike, child: Variable, parents: Sequence[Variable]) -> Floats:
    """α of one family under a prior, the prior of its variable, or none: then zero."""
    chosen = prior.get(child.name) if isinstance(prior, Mapping) else prior
    read = None if chosen is None else read_prior(chosen)
    if read is None:
        return np.zeros([variable.num_states for variable in (*parents, child)])
    return read.pseudo_counts(child, parents)


def refuse_unknown(prior: PriorLike, names: Sequence[str]) -> None:
    """Refuse a mapping of priors that names what is not there."""
    UnknownVariable.check_all(prior if isinstance(prior, Mapping) else (), names, "this graph, though prior= names it")


_LARGE = 10.0  # From here on Stirling's series with the terms below is exact up to rounding

_SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)  # B_{2k} / (2k (2k - 1)), of x^(1 - 2k)


def stirling_rest(values: ArrayLike) -> Floats:
    """ln Γ(x) - x ln x + x, which grows as the logarithm of x only; x > 0.

    >>> float(stirling_rest(1.0)), round(float(stirling_rest(1e15)), 6)
    (1.0, -16.35045)
    """
    from scipy.special import gammaln

    x = np.asarray(values, dtype=np.float64)
    small, large = np.minimum(x, _LARGE), np.maximum(x, _LARGE)
    inverse = 1.0 / large
    square, series = inverse * inverse, np.asarray(_SERIES[-1])
    for coefficient in _SERIES[-2::-1]:
        series = series * square + coefficient
    beyond = 0.5 * (math.log(2 * math.pi) - np.log(large)) + inverse * series
    return np.asarray(np.where(x < _LARGE, gammaln(small) - small * np.log(small) + small, beyond))


def log_rising(starts: ArrayLike, steps: ArrayLike) -> Floats:
    """ln Γ(a + n) - ln Γ(a), the logarithm of a (a + 1) ... (a + n - 1); n ≥ 0 need not be whole.

    ln Γ itself is a ln a large, and its last digit then more than the difference.
    """
    a, n = np.asarray(starts, dtype=np.float64), np.asarray(steps, dtype=np.float64)
    rest = stirling_rest(a + n) - stirling_rest(a)
    return np.asarray(rest + a * np.log1p(n / a) + n * np.log(a + n) - n)


#: Which table stands for a posterior: its mean, its mode (MAP), or that of greatest likelihood.
Estimate: TypeAlias = Literal["mean", "map", "mle"]
_ESTIMATES = {"mean": "mean", "map": "mode", "mle": "frequencies"}

#: What becomes of a row of a table for whose parents' states there are no cases.
Unseen: TypeAlias = Literal["uniform", "error", "prior"]


class Interval(NamedTuple):
    """The ends of intervals, one for each entry of a table."""

    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class FamilyPosterior:
    """Independent Dirichlet distributions of the rows of P(child | parents), with the parameters α + N.

    All arrays have an axis for each parent, then one for the child. Rows with α + N = 0 are not identified: their mean
    is taken to be uniform, and they may be anything.

    >>> coin = FamilyPosterior(Variable("coin", ["heads", "tails"]), (), np.array([1.0, 1.0]), np.array([7.0, 1.0]))
    >>> coin.mean, coin.mode
    (array([0.8, 0.2]), array([0.875, 0.125]))
    >>> coin.interval(0.9).low.round(3)
    array([0.571, 0.041])
    """

    child: Variable
    parents: tuple[Variable, ...]
    prior: Floats  # α, pseudo-counts
    counts: Floats  # N, counts; not whole where rows were weighted or forgotten

    @cached_property
    def parameters(self) -> Floats:
        """α + N."""
        return self.prior + self.counts

    @cached_property
    def strength(self) -> Floats:
        """Σ_x (α_x + N_x) of each row: how many cases it rests on; the child's axis has length one."""
        return np.asarray(self.parameters.sum(axis=-1, keepdims=True))

    @cached_property
    def unidentified(self) -> Flags:
        """The rows that neither the data nor the prior say anything about; an axis for each parent."""
        return np.asarray(self.strength[..., 0] <= 0)

    @cached_property
    def unseen(self) -> Flags:
        """The rows that the data say nothing about; an axis for each parent."""
        return np.asarray(self.counts.sum(axis=-1) <= 0)

    @cached_property
    def mean(self) -> Floats:
        """(α_x + N_x) / Σ (α + N): also the probability that the next case is in state x."""
        return _normalized(self.parameters)

    @cached_property
    def mode(self) -> Floats:
        """(α_x + N_x - 1) / Σ (α + N - 1), the most probable row; entries with α + N < 1 are then zero.

        The mean, where all are. Rows without a prior have a flat one: their mode is that of the likelihood.
        """
        peaks = np.maximum(self.parameters - 1.0, 0.0)
        modes = np.where(peaks.sum(axis=-1, keepdims=True) > 0, _normalized(peaks), self.mean)
        return np.where(self.prior.any(axis=-1, keepdims=True), modes, self.frequencies)

    @cached_property
    def frequencies(self) -> Floats:
        """N_x / Σ N: the row of greatest likelihood; uniform where nothing was counted."""
        return _normalized(self.counts)

    def of(self, estimate: Estimate) -> Floats:
        """The table that stands for the posterior: its "mean", its mode ("map"), or the frequencies ("mle")."""
        if estimate not in _ESTIMATES:
            raise InvalidArgument(f"estimate= is 'mean', 'map' or 'mle', not {estimate!r}.")
        table: Floats = getattr(self, _ESTIMATES[estimate])
        return table

    def filled(self, estimate: Estimate, unseen: Unseen) -> tuple[Floats, Flags]:
        """The table by an estimate, uniform or as the prior says where it has no cases; and the rows that are open."""
        table = self.of(estimate)
        if estimate != "mle":
            return table, self.unidentified
        if unseen != "prior":
            return table, self.unseen
        return np.where(self.unseen[..., None], self.mean, table), self.unidentified

    @cached_property
    def variance(self) -> Floats:
        """m (1 - m) / (Σ (α + N) + 1), where m is the mean; NaN in rows that are not identified."""
        variance = self.mean * (1.0 - self.mean) / (self.strength + 1.0)
        return np.where(self.unidentified[..., None], np.nan, variance)

    @cached_property
    def standard_deviation(self) -> Floats:
        """The root of the variance."""
        return np.sqrt(self.variance)

    @cached_property
    def standard_error(self) -> Floats:
        """√(p (1 - p) / N(u)), of the frequency p as an estimate: asymptotically Normal. NaN in rows without cases.

        N(u) = N P(u), so that it falls as 1/√N, and is large in contexts that are rare.
        """
        cases = self.counts.sum(axis=-1, keepdims=True)
        variance = self.frequencies * (1.0 - self.frequencies) / np.where(cases > 0, cases, np.nan)
        return np.sqrt(variance)

    def interval(self, level: float = 0.95) -> Interval:
        """The credible interval of each entry: quantiles of Beta(α_x + N_x, Σ_{others}), as much above as below.

        [0, 1] where a row is not identified; a single point where an entry is certain.
        """
        from scipy.special import betaincinv

        if not 0 < level < 1:
            raise InvalidArgument(f"The level of an interval is between 0 and 1, such as 0.95, not {level!r}.")
        mine, others = self.parameters, self.strength - self.parameters
        is_open = (mine > 0) & (others > 0)
        tails = ((1 - level) / 2, (1 + level) / 2)
        low, high = (betaincinv(np.where(is_open, mine, 1), np.where(is_open, others, 1), tail) for tail in tails)
        certain = self.unidentified[..., None]
        ends = ((low, 0.0), (high, 1.0))
        inside = [np.where(is_open, end, np.where(certain, limit, self.mean)) for end, limit in ends]
        return Interval(*(end.astype(np.float64) for end in inside))

    def sample(self, generator: np.random.Generator, num_tables: int = 1) -> Floats:
        """Tables drawn from the posterior: independent Gamma(α_x + N_x, 1) over their sum; a new axis comes first.

        Entries with α + N = 0 are zero; rows that are not identified are drawn uniformly from all distributions.
        """
        shapes = np.where(self.unidentified[..., None], 1.0, self.parameters)
        # log Gamma(a) = log Gamma(a + 1) + log(U) / a, which is right where a is so small that Gamma(a) is zero.
        size = (num_tables, *shapes.shape)
        small = np.full(size, -np.inf)
        np.divide(np.log(1.0 - generator.random(size)), shapes, out=small, where=shapes > 0)
        logs = np.log(generator.standard_gamma(shapes + 1.0, size)) + small
        weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=-1, keepdims=True))

    @property
    def log_marginal_likelihood(self) -> float:
        """log ∫ P(counted cases | θ) P(θ) dθ = Σ_u [log Γ(α_u)/Γ(α_u + N_u) + Σ_x log Γ(α_xu + N_xu)/Γ(α_xu)]."""
        if ((self.prior <= 0) & (self.counts > 0)).any():
            raise NotSupported(
                f"{self.child.name!r} has cases where the prior rules them out, or no prior at all: the marginal "
                "likelihood needs one, such as prior=K2()."
            )
        seen, rows = self.counts > 0, ~self.unseen
        cells = log_rising(self.prior[seen], self.counts[seen])
        in_rows = log_rising(self.prior.sum(axis=-1)[rows], self.counts.sum(axis=-1)[rows])
        return float(cells.sum() - in_rows.sum())

    def variance_along(self, slopes: Floats) -> float:
        """The variance of Σ slope · θ: Σ over rows of [Σ m g² - (Σ m g)²] / (Σ (α + N) + 1).

        Rows that are not identified count with the variance of a row drawn uniformly from all distributions.
        """
        strength = np.where(self.unidentified, self.child.num_states, self.strength[..., 0])
        centre = (self.mean * slopes).sum(axis=-1, keepdims=True)
        spread = (self.mean * (slopes - centre) ** 2).sum(axis=-1)
        return float((spread / (strength + 1.0)).sum())


def _normalized(weights: Floats) -> Floats:
    """Rows over their sums; uniform where the sum is zero."""
    totals = weights.sum(axis=-1, keepdims=True)
    uniform = np.full(weights.shape, 1.0 / weights.shape[-1])
    return np.asarray(np.divide(weights, totals, out=uniform, where=totals > 0))
