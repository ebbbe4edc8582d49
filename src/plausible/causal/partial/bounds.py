"""Sharp bounds on causal and counterfactual quantities that the observed distribution does not determine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from plausible.base.display import html_of_print
from plausible.base.remedies import Call, Remedy
from plausible.causal.functional.model import FunctionalModel
from plausible.causal.functional.responses import ResponseVariable
from plausible.causal.partial.district import Observed, SourceLike, read_source
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
from plausible.causal.partial.program import BoundsProgram, Extremum, LimitRow
from plausible.causal.partial.systems import ROUNDING, Contradictions, Members, Systems
from plausible.causal.queries.observed import CausalLike, read_causal
from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.graphs.causal_graph import latent_projection
from plausible.graphs.nodes import Node

End = Literal["lower", "upper"]


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """Where a quantity lies, and the models that attain the ends."""

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

    def __str__(self) -> str:
        lines = [self._range()]
        if self.violation > 0:
            lines.append(f"What is observed was moved by {self.violation:.3g} in total to what the graph can show.")
        if self.latent:
            lines.append(f"Not observed, and so taken to be latent: {', '.join(map(str, self.latent))}.")
        return "\n".join(lines)

    _repr_html_ = html_of_print

    def _range(self) -> str:
        if self.is_identified:
            return f"{self.query} = {_shown(self.lower)}"
        return f"{_shown(self.lower)} <= {self.query} <= {_shown(self.upper)}"

    def __repr__(self) -> str:
        return f"<Bounds: {self._range()}{f', moved by {self.violation:.3g}' if self.violation > 0 else ''}>"


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
    bounded exactly, too. Independences of the graph are taken for granted. The unknowns are the joint types of the
    districts that matter, the equations the states of them and their parents. Raises `ModelContradicted`: no response
    types show what is observed; see `contradictions`. Raises `NotLinear`: the query multiplies unknowns of several
    districts, or adds conditional probabilities with unknown conditions. Raises `TooLarge`: A district has too many
    types: Π k^m over its variables, with k states and m assignments to parents each. See Balke & Pearl (1994),
    Counterfactual probabilities: computational methods, bounds and applications. Koller & Friedman (2009), section
    21.5.

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

    >>> from plausible.causal.partial.linear_query import average_causal_effect, probability_of
    >>> shares = [[[0.919, 0.081], [0.0, 0.0]], [[0.315, 0.073], [0.139, 0.473]]]
    >>> trial = Factor({"A": 2, "T": 2, "O": 2}, np.array(shares) / 2)
    >>> effect = average_causal_effect({"O": 1}, {"T": 1}, {"T": 0})
    >>> found = bounds("A -> T -> O; T <-> O", effect, trial)
    >>> print(found)
    0.392 <= P(O[T=1]=1) - P(O[T=0]=1) <= 0.78
    >>> found.num_types, found.num_constraints, found.rank
    (16, 8, 7)

    Of those who took it and got well, how many would not have without?

    >>> print(bounds("A -> T -> O; T <-> O", probability_of({"O": 0}, do={"T": 0}, evidence={"T": 1, "O": 1}), trial))
    0.983087 <= P(O[T=0]=0 | T=1, O=1) <= 1
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
