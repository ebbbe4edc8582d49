"""What is believed about the rows of tables before any data: pseudo-counts, which add to counts.

A row θ of a table has the Dirichlet density ∝ Π_x θ_x^(α_x - 1); all rows are independent. After counts N it is the
Dirichlet density of α + N, so that α_x is the number of cases in state x which the prior is worth (Spiegelhalter &
Lauritzen 1990).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Floats
from plausible.base.options import by_label, check_number, read_named_option
from plausible.cpds.reading import state_index
from plausible.errors import InvalidArgument, UnknownVariable, suggestion
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
class BDeu:
    """A uniform prior worth α cases, spread over all cells: α_{x|u} = α / (number of cells) (Buntine 1991).

    >>> BDeu(10).pseudo_counts(Variable("grass", 2), [Variable("rain", 2)])
    array([[2.5, 2.5],
           [2.5, 2.5]])
    """

    equivalent_sample_size: float = 10.0

    def __post_init__(self) -> None:
        check_number("equivalent_sample_size", self.equivalent_sample_size, above=0)

    def pseudo_counts(self, child: Variable, parents: Sequence[Variable]) -> Floats:
        """α, an axis for each parent, then one for the child."""
        shape = [variable.num_states for variable in (*parents, child)]
        return np.full(shape, self.equivalent_sample_size / math.prod(shape))


@dataclass(frozen=True, slots=True)
class BDe:
    """A prior network worth α cases: α_{x|u} = α P'(x, u) (Heckerman, Geiger & Chickering 1995).

    P' has at least the variables of the tables; its graph may be different.

    >>> from plausible.cpds import TableCPD
    >>> rain = BayesianNetwork(TableCPD("rain", [0.75, 0.25]))
    >>> BDe(rain, 8).pseudo_counts(rain.variables["rain"], [])
    array([6., 2.])
    """

    network: BayesianNetwork
    equivalent_sample_size: float = 10.0

    def __post_init__(self) -> None:
        check_number("equivalent_sample_size", self.equivalent_sample_size, above=0)

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
    for name in prior if isinstance(prior, Mapping) else ():
        if name not in names:
            raise UnknownVariable.named(name, names, "this graph, though prior= names it")
