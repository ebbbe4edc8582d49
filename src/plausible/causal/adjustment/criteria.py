"""Is a set right to adjust for? If not, what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass

from plausible.base.display import html_of_print
from plausible.causal.adjustment.problem import AdjustableGraph, Criterion, read_problem
from plausible.causal.expressions.tree import Expression, probability, sum_over
from plausible.causal.queries.arguments import read_nodes, refuse_overlap
from plausible.errors import InvalidArgument
from plausible.graphs.marks import Edge
from plausible.graphs.nodes import Node, Nodes
from plausible.graphs.text import quote
from plausible.graphs.trails import Trail

__all__ = ["AdjustmentCheck", "check_adjustment", "is_adjustment_set", "unclear_reason"]


@dataclass(frozen=True, slots=True)
class AdjustmentCheck:
    """Whether P(y | do(x)) = Σ_w P(y | x, w) P(w) in every model of a graph, and if not, why.

    Attributes
    ----------
    outcome, treatment, given
        Y, X and W.
    criterion
        "adjustment" or "back-door".
    forbidden
        The members of W that may not be adjusted for: for "adjustment" what lies on a causal path or below one, for
        "back-door" what lies below a treatment.
    trail
        A trail between X and Y that is not causal and that W leaves open; in a class of graphs, one of some member.
    unclear
        In a class of graphs, an edge at a treatment that begins a causal path in some members and not in others, or
        may hide a latent common cause.
    """

    outcome: tuple[Node, ...]
    treatment: tuple[Node, ...]
    given: tuple[Node, ...]
    criterion: Criterion
    forbidden: tuple[Node, ...]
    trail: Trail | None
    unclear: Edge | None

    @property
    def is_valid(self) -> bool:
        """Whether nothing is wrong with the set."""
        return not self.forbidden and self.trail is None and self.unclear is None

    @property
    def expression(self) -> Expression:
        """Σ_w P(y | x, w) P(w), to be printed, written in LaTeX or evaluated; refused if the set is not valid."""
        if not self.is_valid:
            raise InvalidArgument(str(self))
        stratum = probability(self.outcome, (*self.treatment, *self.given))
        return sum_over(self.given, stratum * probability(self.given)) if self.given else stratum

    def __str__(self) -> str:
        effect = f"the effect of {_listed(self.treatment)} on {_listed(self.outcome)}"
        sets = f"{{{', '.join(map(quote, self.given))}}}"
        if self.is_valid:
            return f"{sets} is right to adjust for, for {effect} ({self.criterion} criterion)."
        lines = [f"{sets} is not right to adjust for, for {effect} ({self.criterion} criterion):"]
        if self.unclear is not None:
            lines.append(f"  {unclear_reason(self.unclear)}: no set will do")
        place = "below a treatment" if self.criterion == "back-door" else "on or below a causal path"
        lines += [f"  {quote(node)} lies {place}" for node in self.forbidden]
        if self.trail is not None:
            lines.append(f"  {self.trail} is open and not causal")
            lines += [f"    {junction}" for junction in self.trail.junctions]
        return "\n".join(lines)

    __repr__ = __str__

    _repr_html_ = html_of_print


def unclear_reason(edge: Edge) -> str:
    """Why no set is right in all members of a class where this edge begins what may be a causal path.

    >>> print(unclear_reason(Edge.of("A", "o->", "B")))
    'A o-> B' leaves open whether a causal path begins there
    >>> print(unclear_reason(Edge.of("A", "->", "B")))
    'A -> B' may hide a common cause (it is not visible)
    """
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
    the degree.

    Parameters
    ----------
    graph
        A DAG, a causal graph, or a PDAG, MAG or PAG that stands for a class.
    outcome, treatment
        Y and X, a node or several each.
    given
        W, the set in question.
    criterion
        "adjustment" or "back-door". For several treatments, "back-door" means that W separates all of them from Y once
        the edges out of them are cut (rules 2 and 3 of the do-calculus).

    References
    ----------
    Pearl (2009), Causality, section 3.3.1; Shpitser, VanderWeele & Robins (2010), On the validity of covariate
    adjustment, UAI; van der Zander, Liskiewicz & Textor (2019), Separators and adjustment sets in causal graphs,
    Artificial Intelligence 270; Perkovic, Textor, Kalisch & Maathuis (2018), Journal of Machine Learning Research 18.

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
    trail = None
    if not problem.separates(members):
        trail = problem.cut.explain_separation(problem.treatment, problem.outcome, members, limit=1).trails[0]
    return AdjustmentCheck(
        outcome=problem.outcome,
        treatment=problem.treatment,
        given=members,
        criterion=criterion,
        forbidden=tuple(node for node in members if node in problem.forbidden),
        trail=trail,
        unclear=problem.unclear,
    )


def is_adjustment_set(
    graph: AdjustableGraph, outcome: Nodes, treatment: Nodes, given: Nodes = (), criterion: Criterion = "adjustment"
) -> bool:
    """Whether adjusting for a set gives the effect; `check_adjustment` also says why not.

    Parameters
    ----------
    graph, outcome, treatment, given, criterion
        As for `check_adjustment`.

    Examples
    --------
    >>> is_adjustment_set("X <- A -> M <- B -> Y; X -> Y", "Y", "X", given=["M"])
    False
    """
    return check_adjustment(graph, outcome, treatment, given, criterion).is_valid


def _listed(nodes: tuple[Node, ...]) -> str:
    return ", ".join(map(quote, nodes))
