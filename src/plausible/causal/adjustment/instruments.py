"""Instruments: variables that move the treatment and reach the outcome by no other way."""

from __future__ import annotations

from plausible.base.records import Result, record
from plausible.causal.adjustment.problem import AdjustmentProblem, Check, open_trail, read_allowed, read_problem
from plausible.causal.queries.observed import CausalLike, read_causal, read_node, read_nodes, refuse_overlap
from plausible.graphs.nodes import Node, Nodes
from plausible.graphs.separator_choice import SeparatorChoice
from plausible.graphs.text import quote
from plausible.graphs.trails import Trail


@record
class Instrument(Result):
    """A variable that is an instrument, and the set that it is one given."""

    node: Node  # Z
    given: frozenset[Node]  # W; empty for an instrument without conditions

    def __str__(self) -> str:
        condition = f" given {', '.join(map(quote, sorted(self.given, key=str)))}" if self.given else ""
        return f"{quote(self.node)}{condition}"


@record
class InstrumentCheck(Result, Check):
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
