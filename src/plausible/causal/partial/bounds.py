"""Sharp bounds on causal and counterfactual quantities that the observed distribution does not determine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from plausible.base import Call, Floats, Remedy, Result, chart_by, record
from plausible.causal.functional.model import FunctionalModel
from plausible.causal.functional.responses import ResponseVariable
from plausible.causal.partial.district import Observed, Polytope, SourceLike, read_source
from plausible.causal.partial.linear_form import LinearForm, NotLinear, Ratio, ratio_of
from plausible.causal.partial.linear_query import (
    Assumption,
    AssumptionsLike,
    Limit,
    LinearQuery,
    TypeAssumption,
    check_edge,
    read_assumptions,
)
from plausible.causal.partial.systems import ROUNDING, Contradictions, Members, Systems, least_total
from plausible.causal.queries.observed import CausalLike, read_causal
from plausible.errors import ImpossibleEvidence, InvalidArgument, ModelContradicted, NotSupported
from plausible.factors import Factor
from plausible.graphs.causal_graph import latent_projection
from plausible.graphs.nodes import Node

if TYPE_CHECKING:
    from plausible.base.pictured import Axes, Chart

_INFEASIBLE = 2


class LimitRow(NamedTuple):
    """lower × denominator ≤ numerator ≤ upper × denominator."""

    numerator: LinearForm
    denominator: LinearForm
    lower: float
    upper: float
    text: str


class Extremum(NamedTuple):
    """An end, and for each district a distribution of the types that may occur which attains it."""

    value: float
    types: Mapping[Members, Floats]


@dataclass(frozen=True, slots=True, eq=False)
class BoundsProgram:
    """Polytopes of independent districts, and limits.

    Numerator and denominator are both made homogeneous by one more unknown t (Charnes & Cooper 1962): over y = t ν,
    the ratio is linear where the denominator is fixed to one. A plain linear form has the denominator t.
    """

    polytopes: Mapping[Members, Polytope]  # Those of all districts that matter.
    limits: Sequence[LimitRow] = ()  # What else must hold.

    def ends(self, numerator: LinearForm, denominator: LinearForm) -> tuple[Extremum, Extremum]:
        """The least and the greatest value of numerator / denominator."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, vstack

        costs, (equal, upper) = self._row(numerator), self._constraints()
        equal = vstack([equal, csr_array(self._row(denominator)[None, :])], format="csr")
        sides = np.append(np.zeros(equal.shape[0] - 1), 1.0)
        starts = np.cumsum([len(polytope.alive) for polytope in self.polytopes.values()])
        extrema = []
        for sign in (1.0, -1.0):
            rows = {"A_ub": upper, "b_ub": np.zeros(upper.shape[0]), "A_eq": equal, "b_eq": sides}
            found = linprog(sign * costs, **rows, bounds=(0, None), method="highs")
            if found.status == _INFEASIBLE:
                if missed := self.missed_limits():
                    texts = "; ".join(limit.text for limit in self.limits)
                    raise ModelContradicted(
                        f"What is observed contradicts the assumptions {texts}: no response types satisfy them, and "
                        f"the nearest miss them by {missed:.4g} in total. Loosen one of them.",
                        missed,
                    )
                raise ImpossibleEvidence(
                    "The evidence has probability zero under all response types that show the data."
                )
            if found.status != 0 or found.x is None:
                raise NotSupported(f"The linear program of the bounds ended without an answer: {found.message}")
            parts = [np.maximum(part, 0.0) for part in np.split(found.x, starts)[:-1]]
            types = {members: part / part.sum() for members, part in zip(self.polytopes, parts, strict=True)}
            extrema.append(Extremum(float(costs @ found.x), types))
        return extrema[0], extrema[1]

    def _constraints(self) -> tuple[Any, Any]:
        """Rows that are zero and rows that are at most zero, over (y of each district, t)."""
        from scipy.sparse import csr_array, vstack

        empty = csr_array((0, self._size))
        equal, bands = [empty], [empty]
        for place, polytope in enumerate(self.polytopes.values()):
            matrix, is_equal = polytope.live_matrix, polytope.lower == polytope.upper
            equal.append(self._placed(matrix[np.flatnonzero(is_equal)], place, -polytope.lower[is_equal]))
            if not is_equal.all():
                rows = matrix[np.flatnonzero(~is_equal)]
                bands.append(self._placed(rows, place, -polytope.upper[~is_equal]))
                bands.append(self._placed(-rows, place, polytope.lower[~is_equal]))
        limits = [csr_array(row[None, :]) for row in self._limit_rows()]
        return vstack(equal, format="csr"), vstack([*bands, *limits], format="csr")

    def _placed(self, rows: Any, place: int, last: Floats) -> Any:
        """Rows over the types of one district as rows over all."""
        from scipy.sparse import csr_array, hstack

        sizes = [len(polytope.alive) for polytope in self.polytopes.values()]
        parts = [rows if i == place else csr_array((rows.shape[0], size)) for i, size in enumerate(sizes)]
        return hstack([*parts, csr_array(last[:, None])], format="csr")

    def _limit_rows(self) -> list[Floats]:
        """Each limit as rows that are at most zero."""
        rows = []
        for limit in self.limits:
            over, under = self._row(limit.numerator), self._row(limit.denominator)
            if limit.upper < np.inf:
                rows.append(over - limit.upper * under)
            if limit.lower > -np.inf:
                rows.append(limit.lower * under - over)
        return rows

    def missed_limits(self) -> float:
        """The least total by which types that show what is observed miss the limits; zero where some satisfy them."""
        from scipy.sparse import csr_array, eye_array, hstack, vstack

        if not self.limits:
            return 0.0
        equal, upper = self._constraints()
        first_limit = upper.shape[0] - len(self._limit_rows())
        slack = -eye_array(upper.shape[0], format="csr")[:, first_limit:]
        rows: Any = hstack([upper, slack], format="csr")
        scale = np.zeros((1, rows.shape[1]))
        scale[0, self._size - 1] = 1.0
        whole: Any = vstack([hstack([equal, csr_array((equal.shape[0], slack.shape[1]))]), csr_array(scale)])
        sides = np.append(np.zeros(equal.shape[0]), 1.0)
        costs = np.concatenate([np.zeros(self._size), np.ones(slack.shape[1])])
        return least_total("linear program of the limits", costs, (rows, np.zeros(rows.shape[0])), (whole, sides))

    @property
    def _size(self) -> int:
        return 1 + sum(len(polytope.alive) for polytope in self.polytopes.values())

    def _row(self, form: LinearForm) -> Floats:
        parts = [form.vectors.get(members, np.zeros(len(p.alive))) for members, p in self.polytopes.items()]
        return np.concatenate([*parts, [form.constant]])


End = Literal["lower", "upper"]


@record(eq=False)
class Bounds(Result):
    """Where a quantity lies, and the models that attain the ends."""

    _also = ("width", "is_identified", "latent", "num_types", "num_constraints", "rank")

    query: LinearQuery  # What was asked
    #: The ends.
    lower: float
    upper: float
    #: Whether each end is attained by a model of the graph: where latent causes act on pairs of a larger district only,
    #: not every joint distribution of its types can be, and the bounds are valid but may be too wide. (A clique of
    #: `<->` counts as one latent cause of all its variables.)
    is_sharp: bool
    #: By how much, in total, observed data had to be moved to something that the graph can show; zero where they fit.
    violation: float
    confidence: float | None  # The level at which sampling noise is allowed for; `None` where it is not
    _systems: Systems = field(repr=False)
    _program: BoundsProgram = field(repr=False)
    _ends: Mapping[str, Extremum] = field(repr=False)

    @property
    def width(self) -> float:
        """upper - lower."""
        return self.upper - self.lower

    @property
    def is_identified(self) -> bool:
        """Whether the ends are one number."""
        return self.width < ROUNDING

    @property
    def latent(self) -> tuple[Node, ...]:
        """The nodes of the graph that are not observed, and so were projected out."""
        return self._systems.latent

    @property
    def num_types(self) -> int:
        """The number of joint response types, of all districts that matter."""
        return sum(polytope.district.num_types for polytope in self._program.polytopes.values())

    @property
    def num_constraints(self) -> int:
        """The number of linear constraints that what is observed puts on them."""
        return sum(polytope.matrix.shape[0] for polytope in self._program.polytopes.values())

    @property
    def rank(self) -> int:
        """The rank of these constraints."""
        return sum(polytope.rank for polytope in self._program.polytopes.values())

    def responses(self, end: End) -> tuple[Factor, ...]:
        """The joint distribution of each district's response variables that attains an end."""
        found = self._end(end)
        return tuple(_response_table(self._program, members, found) for members in self._program.polytopes)

    def model(self, end: End) -> FunctionalModel:
        """A functional model of the whole graph that shows what is observed and attains an end."""
        found = self._end(end)
        responses: dict[str, ResponseVariable] = {}
        noise: list[Factor] = []
        districts = dict.fromkeys(self._systems.members(node) for node in self._systems.graph.nodes)
        for members in districts:
            program, extremum = self._program, found
            if members not in program.polytopes:
                program = BoundsProgram({members: self._systems.polytope(members)})
                extremum, _ = program.ends(LinearForm(0.0), LinearForm(1.0))
            noise.append(_response_table(program, members, extremum))
            responses |= {r.variable.name: r for r in program.polytopes[members].district.responses}
        return FunctionalModel([responses[str(node)] for node in self._systems.graph.nodes], noise)

    def _end(self, end: End) -> Extremum:
        if end not in self._ends:
            raise InvalidArgument(f"An end is 'lower' or 'upper', not {end!r}.")
        return self._ends[end]

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw where the quantity lies; it needs matplotlib (the extra `plot`)."""
        return chart_by("plot_intervals", {"bounds": self}, ax, str(self.query))

    def __str__(self) -> str:
        lines = [self._range()]
        if self.violation > 0:
            lines.append(f"What is observed was moved by {self.violation:.3g} in total to what the graph can show.")
        if self.latent:
            lines.append(f"Not observed, and so taken to be latent: {', '.join(map(str, self.latent))}.")
        return "\n".join(lines)

    def _range(self) -> str:
        if self.is_identified:
            return f"{self.query} = {_shown(self.lower)}"
        return f"{_shown(self.lower)} <= {self.query} <= {_shown(self.upper)}"


def _shown(value: float) -> str:
    return f"{round(value, 9) + 0.0:.6g}"


def bounds(
    graph: CausalLike,
    query: LinearQuery,
    source: SourceLike,
    *,
    assumptions: AssumptionsLike = (),
    contradictions: Literal["raise", "project", "test"] | None = None,
    confidence: float | None = None,
) -> Bounds:
    """The least and the greatest value that a quantity can have, given the graph and what is observed.

    The variables of a district, which latent causes join, have response types with an unknown joint distribution ν.
    What is observed puts one linear equation on it for each joint state of the district and of its parents,

        Σ ν(types that answer the parents by this state) = Q[C](c | pa) = Π P(x | predecessors),

    and the query is linear in ν; so two linear programs give the ends. Districts are independent, and only those that
    the query or a limit touches matter. A condition whose probability is not known makes the query a ratio, which is
    bounded exactly, too. Independences of the graph are taken for granted. Raises `ModelContradicted` where no types
    show what is observed, `NotLinear` where the query multiplies unknowns of several districts or adds conditional
    probabilities with unknown conditions, and `TooLarge` for a district with too many types: Π k^m over its variables,
    with k states and m assignments to parents each. See Balke & Pearl (1994), Counterfactual probabilities:
    computational methods, bounds and applications. Koller & Friedman (2009), section 21.5.

    Parameters
    ----------
    graph
        A causal graph over discrete variables; `<->` where latent causes act on two of them. Nodes that are not
        observed are latent, too, and projected out.
    query
        What to bound: see `probability_of`, `average_causal_effect`, `interventional_mean` and `type_probability`.
    source
        The observed distribution: a joint `Factor`, a model, or data.
    assumptions
        What else is known: `Monotone`, `NoDirectEffect`, `Limit`; one or several.
    contradictions
        Where no types show what is observed: "raise", the default for distributions, or "project" it to the nearest
        that some types show, and report the violation. "test", the default for data, projects what sampling noise
        explains, and raises where everything within a confidence region is contradicted, as `falsification` does; at
        the level 0.95, or that of `confidence`. (A distribution has no noise: there it raises.)
    confidence
        Allow for sampling noise of data: the bounds then hold over all distributions within a confidence region, so
        that they contain the truth with this probability or more.

    Examples
    --------
    A trial in which 39 % of those who were assigned a drug didn't take it:

    >>> from plausible.causal.partial.linear_query import average_causal_effect
    >>> shares = [[[0.919, 0.081], [0.0, 0.0]], [[0.315, 0.073], [0.139, 0.473]]]
    >>> trial = Factor({"A": 2, "T": 2, "O": 2}, np.array(shares) / 2)
    >>> effect = average_causal_effect({"O": 1}, {"T": 1}, {"T": 0})
    >>> found = bounds("A -> T -> O; T <-> O", effect, trial)
    >>> print(found)
    0.392 <= P(O[T=1]=1) - P(O[T=0]=1) <= 0.78
    >>> found.num_types, found.num_constraints, found.rank
    (16, 8, 7)
    """
    check_order(graph, query, source)
    listed = read_assumptions(assumptions)
    systems = read_systems(graph, read_source(source), listed, contradictions, confidence)
    return solved(query, systems, [one for one in listed if isinstance(one, Limit)])


def read_systems(
    graph: CausalLike,
    observed: Observed,
    assumptions: Iterable[Assumption],
    contradictions: str | None = None,
    confidence: float | None = None,
) -> Systems:
    """The districts that a question is about, from its arguments."""
    causal = read_causal(graph)
    latent = tuple(node for node in causal.nodes if node not in observed.variables)
    if latent:
        causal = latent_projection(causal, observed=[node for node in causal.nodes if node not in latent])
    types = tuple(one for one in assumptions if isinstance(one, TypeAssumption))
    for assumption in types:
        check_edge(assumption, causal, latent)
    default = Contradictions.TEST if observed.is_sample else Contradictions.RAISE
    if contradictions is not None and contradictions not in list(Contradictions):
        raise InvalidArgument(f"contradictions= is 'raise', 'project' or 'test', not {contradictions!r}.")
    chosen = default if contradictions in (None, "test") else Contradictions(contradictions)
    return Systems(causal, observed, types, chosen, confidence, latent)


def check_order(graph: object, query: object, source: object) -> None:
    """Refuse arguments in another order than graph, query, source."""
    if not isinstance(query, LinearQuery) and isinstance(source, LinearQuery):
        raise InvalidArgument("The query and what is observed are swapped: write bounds(graph, query, source).")
    if isinstance(graph, LinearQuery):
        raise InvalidArgument("The query stands where the graph belongs: write bounds(graph, query, source).")


def solved(query: LinearQuery, systems: Systems, limits: Iterable[Limit] = ()) -> Bounds:
    """The bounds over the types of some districts."""
    if not isinstance(query, LinearQuery):
        raise InvalidArgument(f"A query is made by probability_of(...) and its kin, not {query!r}.")
    asked = ratio_of(query, systems)
    program = limited_program([asked], systems, limits)
    least, greatest = program.ends(*asked)
    return Bounds(
        query=query,
        lower=min(least.value, greatest.value),
        upper=max(least.value, greatest.value),
        is_sharp=all(polytope.district.is_complete for polytope in program.polytopes.values()),
        violation=systems.violation(list(program.polytopes)),
        confidence=systems.confidence,
        _systems=systems,
        _program=program,
        _ends={"lower": least, "upper": greatest},
    )


def limited_program(asked: Iterable[Ratio], systems: Systems, limits: Iterable[Limit]) -> BoundsProgram:
    """The program over the types of all districts that questions and limits touch."""
    rows = [LimitRow(*ratio_of(limit.query, systems), limit.lower, limit.upper, str(limit)) for limit in limits]
    forms = [*(form for ratio in asked for form in ratio), *(form for row in rows for form in row[:2])]
    touched = tuple(dict.fromkeys(members for form in forms for members in form.vectors))
    if systems.confidence is not None and len(touched) > 1:
        names = " and ".join(str([str(name) for name in members]) for members in touched)
        raise NotLinear(
            f"A confidence region is one of a single district, but {names} matter.",
            remedies=[Remedy("use ", Call("bootstrap_bounds"))],
        )
    return BoundsProgram({members: systems.polytope(members) for members in touched}, rows)


def _response_table(program: BoundsProgram, members: Members, extremum: Extremum) -> Factor:
    polytope = program.polytopes[members]
    types = np.zeros(polytope.district.num_types)
    types[polytope.alive] = extremum.types[members]
    scope = [response.noise for response in polytope.district.responses]
    return Factor(scope, types.reshape(polytope.district.shape))
