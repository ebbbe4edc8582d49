"""What may be assumed beyond the graph: response types that do not occur, and limits on linear quantities."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Flags
from plausible.base.display import html_of_print
from plausible.base.remedies import Argument, Call, Remedy
from plausible.causal.functional.responses import ResponseVariable
from plausible.causal.partial.linear_query import LinearQuery
from plausible.errors import InvalidArgument
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.nodes import Node


class TypeAssumption(ABC):
    """Response types of one variable that do not occur."""

    __slots__ = ()

    #: The variable whose types they are.
    variable: str
    #: The direct cause that they are about.
    cause: str

    @abstractmethod
    def allows(self, response: ResponseVariable) -> Flags:
        """Whether each type may occur, in order."""


def check_edge(assumption: TypeAssumption, graph: CausalGraph, latent: Sequence[Node] = ()) -> None:
    """Refuse an assumption about an edge that the graph over the observed variables does not have."""
    variable, cause = assumption.variable, assumption.cause
    for name in (variable, cause):
        if name in latent:
            raise InvalidArgument(f"{assumption}: {name!r} is not observed, and assumptions are about what is.")
    causes = graph.parents(variable)
    is_reversed = cause in graph and variable in graph.parents(cause)
    _check_cause(variable, cause, causes, [_reversed(assumption)] if is_reversed else ())


def _reversed(assumption: TypeAssumption) -> Remedy:
    turned = Argument("variable", assumption.cause), Argument("cause", assumption.variable)
    return Remedy("turn it round, as the edge goes the other way: ", Call(type(assumption).__name__, *turned))


def _check_cause(variable: str, cause: str, causes: Sequence[Node], remedies: Iterable[Remedy] = ()) -> None:
    """Refuse a cause that is none of a variable's direct ones."""
    if cause not in causes:
        raise InvalidArgument(
            f"{cause!r} is no direct cause of {variable!r} in the graph, so that nothing can be assumed about this "
            f"effect; the direct causes are {list(causes)}.",
            remedies=remedies,
        )


def _along_cause(response: ResponseVariable, cause: str) -> NDArray[Any]:
    """Types × ... × states of the cause: the position of the effect's state."""
    names = [parent.name for parent in response.parents]
    _check_cause(response.variable.name, cause, names)
    table = response.types.reshape(-1, *(parent.num_states for parent in response.parents))
    return np.moveaxis(table, 1 + names.index(cause), -1)


@final
@dataclass(frozen=True, slots=True)
class Monotone(TypeAssumption):
    """No unit answers a higher state of a direct cause by a lower state of the effect, or the reverse: no defiers.

    States are ordered as the variables list them; other direct causes are held at any states.

    Examples
    --------
    >>> from plausible.variables import Variable
    >>> takes = ResponseVariable(Variable("T", 2), [Variable("A", 2)])
    >>> [t for t, allowed in zip(takes.noise.states, Monotone("T", "A").allows(takes)) if allowed]
    [(0, 0), (0, 1), (1, 1)]
    """

    variable: str  # The effect, which comes first: `Monotone("T", "A")` says that A never lowers T
    cause: str  # One of its parents
    #: Whether higher states of the cause never raise the effect, instead of never lowering it.
    is_decreasing: bool = False

    def allows(self, response: ResponseVariable) -> Flags:
        """Whether each type may occur, in order."""
        steps = np.diff(_along_cause(response, self.cause), axis=-1)
        follows = steps <= 0 if self.is_decreasing else steps >= 0
        return np.asarray(follows.reshape(len(response.types), -1).all(axis=1))

    def __str__(self) -> str:
        return f"{self.variable} is {'decreasing' if self.is_decreasing else 'increasing'} in {self.cause}"

    _repr_html_ = html_of_print


@final
@dataclass(frozen=True, slots=True)
class NoDirectEffect(TypeAssumption):
    """An edge of the graph carries nothing: the exclusion restriction of an instrument, for one edge.

    Examples
    --------
    >>> from plausible.variables import Variable
    >>> fares = ResponseVariable(Variable("O", 2), [Variable("A", 2), Variable("T", 2)])
    >>> int(NoDirectEffect("O", "A").allows(fares).sum()), len(fares.types)
    (4, 16)
    """

    variable: str  # The effect
    cause: str  # One of its parents, whose state makes no difference while the other parents keep theirs

    def allows(self, response: ResponseVariable) -> Flags:
        """Whether each type may occur, in order."""
        steps = np.diff(_along_cause(response, self.cause), axis=-1)
        return np.asarray((steps == 0).reshape(len(response.types), -1).all(axis=1))

    def __str__(self) -> str:
        return f"no direct effect of {self.cause} on {self.variable}"

    _repr_html_ = html_of_print


@final
@dataclass(frozen=True, slots=True)
class Limit:
    """lower ≤ query ≤ upper, for any query that is linear in the response types: at most 5 % defiers, say.

    Examples
    --------
    >>> from plausible.causal.partial.linear_query import probability_of
    >>> print(Limit(probability_of({"Y": 1}, do={"X": 0}), upper=0.1))
    -inf <= P(Y[X=0]=1) <= 0.1
    """

    query: LinearQuery  # What is limited
    #: Where it must lie.
    lower: float = -np.inf
    upper: float = np.inf

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise InvalidArgument(f"No number lies between {self.lower!r} and {self.upper!r}; swap lower= and upper=.")

    def __str__(self) -> str:
        return f"{self.lower:g} <= {self.query} <= {self.upper:g}"

    _repr_html_ = html_of_print


#: What `bounds` accepts as an assumption.
Assumption: TypeAlias = TypeAssumption | Limit
#: One assumption or several.
AssumptionsLike: TypeAlias = Assumption | Iterable[Assumption]


def read_assumptions(assumptions: AssumptionsLike) -> list[Assumption]:
    """The assumptions as a list, once they are found to be some.

    >>> read_assumptions(Monotone("T", "A"))
    [Monotone(variable='T', cause='A', is_decreasing=False)]
    """
    if isinstance(assumptions, str) or not isinstance(assumptions, Iterable):
        assumptions = [assumptions]
    listed = list(assumptions)
    for assumption in listed:
        if not isinstance(assumption, (TypeAssumption, Limit)):
            raise InvalidArgument(f"An assumption is Monotone, NoDirectEffect or Limit, not {assumption!r}.")
    return listed
