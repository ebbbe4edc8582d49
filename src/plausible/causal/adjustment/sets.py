"""Sets to adjust for: whether one is right and why not; one, all, the cheapest, the most precise; and instruments."""

from __future__ import annotations

import math
from collections.abc import Mapping

from plausible.base import Result, record
from plausible.causal.adjustment.problem import (
    USUAL_LIMIT,
    AdjustableGraph,
    AdjustmentProblem,
    Check,
    Criterion,
    causal_nodes,
    listed,
    open_trail,
    read_allowed,
    read_problem,
)
from plausible.causal.expressions.tree import Expression, probability, sum_over
from plausible.causal.queries.observed import CausalLike, read_causal, read_node, read_nodes, refuse_overlap
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.graphs import Edge, Trail
from plausible.graphs.listing import Listing
from plausible.graphs.nodes import Node, Nodes
from plausible.graphs.separator_choice import SeparatorChoice
from plausible.graphs.text import quote


@record
class AdjustmentCheck(Check, Result):
    """Whether P(y | do(x)) = Σ_w P(y | x, w) P(w) in every model of a graph, and if not, why."""

    #: Y, X and W.
    outcome: tuple[Node, ...]
    treatment: tuple[Node, ...]
    given: tuple[Node, ...]
    criterion: Criterion  # "adjustment" or "back-door"
    #: The members of W that may not be adjusted for: for "adjustment" what lies on a causal path or below one, for
    #: "back-door" what lies below a treatment.
    forbidden: tuple[Node, ...]
    #: A trail between X and Y that is not causal and that W leaves open; in a class of graphs, one of some member.
    trail: Trail | None
    #: In a class of graphs, an edge at a treatment that begins a causal path in some members and not in others, or may
    #: hide a latent common cause.
    unclear: Edge | None

    @property
    def expression(self) -> Expression:
        """Σ_w P(y | x, w) P(w), to be printed, written in LaTeX or evaluated; refused if the set is not valid."""
        self.require()
        stratum = probability(self.outcome, (*self.treatment, *self.given))
        return sum_over(self.given, stratum * probability(self.given)) if self.given else stratum

    @property
    def _verdicts(self) -> tuple[str, str]:
        x, y = (", ".join(map(quote, nodes)) for nodes in (self.treatment, self.outcome))
        aim = f"right to adjust for, for the effect of {x} on {y} ({self.criterion} criterion)"
        sets = f"{{{', '.join(map(quote, self.given))}}}"
        return f"{sets} is {aim}", f"{sets} is not {aim}"

    @property
    def _wrong(self) -> list[str]:
        lines = [] if self.unclear is None else [f"{unclear_reason(self.unclear)}: no set will do"]
        place = "below a treatment" if self.criterion == "back-door" else "on or below a causal path"
        lines += [f"{quote(node)} lies {place}" for node in self.forbidden]
        if self.trail is not None:
            lines.append(f"{self.trail} is open and not causal")
            lines += [f"  {junction}" for junction in self.trail.junctions]
        return lines


def unclear_reason(edge: Edge) -> str:
    """Why no set is right in all members of a class where this edge begins what may be a causal path."""
    if edge.is_directed:
        return f"'{edge}' may hide a common cause (it is not visible)"
    return f"'{edge}' leaves open whether a causal path begins there"


def check_adjustment(
    graph: AdjustableGraph, outcome: Nodes, treatment: Nodes, given: Nodes = (), criterion: Criterion = "adjustment"
) -> AdjustmentCheck:
    """Whether adjusting for a set gives the effect, with the reason if it does not.

    A set passes the adjustment criterion if it holds nothing on or below a proper causal path (one that meets the
    treatments only at its start), and blocks all other proper paths; this is necessary and sufficient. Pearl's
    back-door criterion asks more: nothing below a treatment, and every trail that enters a treatment by an arrowhead
    blocked. In a PDAG, MAG or PAG the answer is about all members of the class. That a PAG stands for one is taken for
    granted, here as in all questions about adjustment: `stands_for_class` tells. Linear in the edges; in a PDAG times
    the degree. See Pearl (2009), Causality, section 3.3.1; Shpitser, VanderWeele & Robins (2010), On the validity of
    covariate adjustment, UAI; van der Zander, Liskiewicz & Textor (2019), Separators and adjustment sets in causal
    graphs, Artificial Intelligence 270; Perkovic, Textor, Kalisch & Maathuis (2018), Journal of Machine Learning
    Research 18.

    Parameters
    ----------
    graph
        A DAG, a causal graph, or a PDAG, MAG or PAG that stands for a class.
    given
        W, the set in question.
    criterion
        "adjustment" or "back-door". For several treatments, "back-door" means that W separates all of them from Y once
        the edges out of them are cut (rules 2 and 3 of the do-calculus).

    Examples
    --------
    >>> print(check_adjustment("I -> G -> J; I -> S -> J", outcome="J", treatment="G"))
    {} is not right to adjust for, for the effect of G on J (adjustment criterion):
      G <- I -> S -> J is open and not causal
        I is a fork and is not observed
        S is a chain and is not observed
    >>> print(check_adjustment("I -> G -> J; I -> S -> J", "J", "G", given="S").expression)
    Σ_s P(j | g, s) P(s)
    """
    problem = read_problem(graph, outcome, treatment, criterion)
    members = read_nodes(problem.causes, given)
    refuse_overlap({"outcome": problem.outcome, "treatment": problem.treatment, "given": members})
    return AdjustmentCheck(
        outcome=problem.outcome,
        treatment=problem.treatment,
        given=members,
        criterion=criterion,
        forbidden=tuple(node for node in members if node in problem.forbidden),
        trail=open_trail(problem.cut, problem.treatment, problem.outcome, members),
        unclear=problem.unclear,
    )


def is_adjustment_set(
    graph: AdjustableGraph, outcome: Nodes, treatment: Nodes, given: Nodes = (), criterion: Criterion = "adjustment"
) -> bool:
    """Whether adjusting for a set gives the effect; `check_adjustment` also says why not.

    Parameters are those of `check_adjustment`.

    >>> is_adjustment_set("X <- A -> M <- B -> Y; X -> Y", "Y", "X", given=["M"])
    False
    """
    return check_adjustment(graph, outcome, treatment, given, criterion).is_valid


def adjustment_set(
    graph: AdjustableGraph,
    outcome: Nodes,
    treatment: Nodes,
    *,
    included: Nodes = (),
    allowed: Nodes | None = None,
    criterion: Criterion = "adjustment",
    costs: Mapping[Node, float] | None = None,
) -> frozenset[Node] | None:
    """A set to adjust for, none of whose members can be spared; `None` if there is none.

    Linear in the edges of the moral graph; with costs, a maximum flow. See van der Zander, Liskiewicz & Textor (2019),
    Separators and adjustment sets in causal graphs, Artificial Intelligence 270.

    Parameters
    ----------
    graph, outcome, treatment
        As for `check_adjustment`.
    included
        Nodes that the set must contain; minimal then means that none of the others can be spared.
    allowed
        Nodes from which the set must be taken, such as those that are observed; by default all.
    criterion
        "adjustment", which misses no set, or "back-door".
    costs
        Node -> what observing it costs, not negative; one for each node left out. With it the set is one of least total
        cost; with `costs={}`, one with the fewest members.

    Examples
    --------
    >>> graph = "Z1 -> X; Z1 -> A -> Y; Z2 -> A; Z2 -> B -> X; X -> Y"
    >>> sorted(adjustment_set(graph, outcome="Y", treatment="X"))
    ['B', 'Z1']
    >>> sorted(adjustment_set(graph, "Y", "X", costs={}))
    ['A']
    """
    problem = read_problem(graph, outcome, treatment, criterion)
    choice = _choice(problem, included, allowed)
    if costs is not None:
        for node, cost in costs.items():
            if node not in problem.causes:
                raise UnknownVariable.named(node, problem.causes.nodes, "this graph, though costs= names it")
            if not 0 <= cost < math.inf:
                raise InvalidArgument(f"costs= gives {node!r} the cost {cost!r}; costs are finite and not negative.")
    if choice is None:
        return None
    return choice.one() if costs is None else choice.cheapest(costs)


def adjustment_sets(
    graph: AdjustableGraph,
    outcome: Nodes,
    treatment: Nodes,
    *,
    included: Nodes = (),
    allowed: Nodes | None = None,
    criterion: Criterion = "adjustment",
    limit: int | None = USUAL_LIMIT,
) -> Listing[frozenset[Node]]:
    """All minimal sets to adjust for, each once; O(nodes x edges) between two of them.

    Parameters
    ----------
    graph, outcome, treatment, included, allowed, criterion
        As for `adjustment_set`.
    limit
        Stop after this many, with a warning if the usual limit leaves sets out; `None` for all, of which there can be
        exponentially many.

    Examples
    --------
    >>> adjustment_sets("X <- A -> B -> Y; X <- C -> Y; X -> Y", outcome="Y", treatment="X")
    [{'A', 'C'}, {'B', 'C'}]
    """
    choice = _choice(read_problem(graph, outcome, treatment, criterion), included, allowed)
    return listed(lambda: iter(()) if choice is None else choice.all(), limit)


def optimal_adjustment_set(
    graph: AdjustableGraph, outcome: Nodes, treatment: Nodes, *, allowed: Nodes | None = None
) -> frozenset[Node] | None:
    """The set with the least asymptotic variance of all: the parents of the causal paths that may be adjusted for.

    O = pa(cn) minus the forbidden nodes, with cn the nodes after X on proper causal paths to Y. No other set gives an
    adjusted estimate with less asymptotic variance, in linear models by least squares and otherwise by efficient
    estimators. `None` if no set will do, or if a member of O is not allowed: a best set need not exist then, nor where
    the treatment has no causal path to the outcome. Linear in the edges. See Henckel, Perkovic & Maathuis (2022),
    Graphical criteria for efficient total effect estimation via adjustment in causal linear models, Journal of the
    Royal Statistical Society B 84; Rotnitzky & Smucler (2020), Efficient adjustment sets for population average causal
    treatment effect estimation, Journal of Machine Learning Research 21.

    Parameters
    ----------
    graph
        A DAG, or a PDAG that stands for a class: its members agree on the set.
    outcome, treatment, allowed
        As for `adjustment_set`.

    Examples
    --------
    >>> sorted(optimal_adjustment_set("P -> A -> X -> M -> Y; A -> B -> Y; R -> M", outcome="Y", treatment="X"))
    ['B', 'R']
    """
    problem = read_problem(graph, outcome, treatment)
    latent = next((edge for edge in problem.causes.edges if edge.is_bidirected), None)
    if latent is not None:
        raise NotSupported(
            f"With latent causes, as in '{latent}', no set need be best. Take one of adjustment_sets(...) and "
            "compare the standard errors."
        )
    between = causal_nodes(problem.causes, problem.outcome, problem.treatment)
    parents = {parent for node in between for parent in problem.causes.parents(node)}
    members = frozenset(parents) - problem.forbidden - frozenset(problem.treatment)
    _, free = read_allowed(problem.causes, _roles(problem), (), allowed)
    is_right = bool(between) and problem.unclear is None and members <= free and problem.separates(members)
    return members if is_right else None


def _choice(problem: AdjustmentProblem, included: Nodes, allowed: Nodes | None) -> SeparatorChoice | None:
    """The sets that will do, unless it is clear at once that none does."""
    needed, free = read_allowed(problem.causes, _roles(problem), included, allowed)
    if problem.unclear is not None or problem.forbidden.intersection(needed):
        return None
    return SeparatorChoice(problem.cut.to_dag(), problem.treatment, problem.outcome, needed, free - problem.forbidden)


def _roles(problem: AdjustmentProblem) -> dict[str, tuple[Node, ...]]:
    return {"outcome": problem.outcome, "treatment": problem.treatment}


@record
class Instrument(Result):
    """A variable that is an instrument, and the set that it is one given."""

    node: Node  # Z
    given: frozenset[Node]  # W; empty for an instrument without conditions

    def __str__(self) -> str:
        condition = f" given {', '.join(map(quote, sorted(self.given, key=str)))}" if self.given else ""
        return f"{quote(self.node)}{condition}"


@record
class InstrumentCheck(Check, Result):
    """Whether a variable is an instrument given a set, and if not, why."""

    #: Z and W.
    instrument: Node
    given: tuple[Node, ...]
    #: Y and X.
    outcome: Node
    treatment: Node
    moves_treatment: bool  # Whether Z and X are connected given W
    trail: Trail | None  # An open trail from Z to Y that does not use the effect of X
    forbidden: tuple[Node, ...]  # Members of W, or Z, that lie on a causal path from X to Y or below one

    @property
    def _verdicts(self) -> tuple[str, str]:
        name = str(Instrument(self.instrument, frozenset(self.given)))
        aim = f"an instrument for the effect of {quote(self.treatment)} on {quote(self.outcome)}"
        return f"{name} is {aim}", f"{name} is not {aim}"

    @property
    def _wrong(self) -> list[str]:
        lines = [f"{quote(node)} lies on or below a causal path" for node in self.forbidden]
        lines += [] if self.moves_treatment else [f"it tells nothing about {quote(self.treatment)}"]
        return lines if self.trail is None else [*lines, f"{self.trail} is open without the effect"]


def check_instrument(
    graph: CausalLike, outcome: Node, treatment: Node, instrument: Node, given: Nodes = ()
) -> InstrumentCheck:
    """Whether Z is an instrument for the total effect of X on Y given W, with the reason if it is not.

    In the graph without the first edges of the directed paths from X to Y, W separates Z from Y but not from X, and
    neither Z nor W lies on or below these paths. In linear models the effect is then cov(Z, Y | W) / cov(Z, X | W);
    where `X -> Y` is the only such path, this is the usual definition. Linear in the edges. See Brito & Pearl (2002),
    Generalized instrumental variables, UAI.

    Parameters
    ----------
    given
        W, a node or several; none by default.

    Examples
    --------
    >>> print(check_instrument("Z -> X -> Y; X <-> Y", outcome="Y", treatment="X", instrument="Z"))
    Z is an instrument for the effect of X on Y.
    >>> print(check_instrument("W -> Z -> X -> Y; X <-> Y; W -> Y", outcome="Y", treatment="X", instrument="Z"))
    Z is not an instrument for the effect of X on Y:
      Z <- W -> Y is open without the effect
    """
    problem = _read(graph, outcome, treatment)
    (z,), w = read_node(problem.causes, instrument, "instrument"), read_nodes(problem.causes, given)
    refuse_overlap({"outcome": problem.outcome, "treatment": problem.treatment, "instrument": (z,), "given": w})
    return InstrumentCheck(
        instrument=z,
        given=w,
        outcome=problem.outcome[0],
        treatment=problem.treatment[0],
        moves_treatment=not problem.cut.m_separated(z, problem.treatment, w),
        trail=open_trail(problem.cut, z, problem.outcome, w),
        forbidden=tuple(node for node in (z, *w) if node in problem.forbidden),
    )


def instruments(
    graph: CausalLike, outcome: Node, treatment: Node, *, allowed: Nodes | None = None
) -> tuple[Instrument, ...]:
    """The instruments for an effect, each with a set that it is one given: the empty set where it will do.

    For each candidate the separator from the outcome that is closest to the outcome is tried, among the ancestors of
    both. If any variable is an instrument given any set, then some variable is found here; whether a particular
    variable is one given some set beyond these ancestors is NP-hard to say. Linear in the moral graph for each
    variable. See van der Zander, Textor & Liskiewicz (2015), Efficiently finding conditional instruments for causal
    inference, IJCAI.

    Parameters
    ----------
    graph, outcome, treatment
        As for `check_instrument`.
    allowed
        Nodes from which instruments and sets are taken; by default all.

    Examples
    --------
    >>> print(*instruments("W -> Z -> X -> Y; X <-> Y; W -> Y; V -> X", outcome="Y", treatment="X"), sep="; ")
    Z given W; V
    """
    problem = _read(graph, outcome, treatment)
    roles = {"outcome": problem.outcome, "treatment": problem.treatment}
    _, free = read_allowed(problem.causes, roles, (), allowed)
    free, dag, found = free - problem.forbidden, problem.cut.to_dag(), []
    for node in (node for node in problem.causes.nodes if node in free):
        # The closest separator is the empty set wherever that will do.
        given = SeparatorChoice(dag, problem.outcome, [node], (), free - {node}).one()
        if given is not None and not problem.cut.m_separated(node, problem.treatment, given):
            found.append(Instrument(node, given))
    return tuple(found)


def _read(graph: CausalLike, outcome: Node, treatment: Node) -> AdjustmentProblem:
    causes = read_causal(graph)
    return read_problem(causes, read_node(causes, outcome, "outcome"), read_node(causes, treatment, "treatment"))
