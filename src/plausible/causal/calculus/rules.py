"""Interventional quantities P(Y | do(x), w), and the three rules of the do-calculus as steps that can be checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from plausible.base import Result, html_of_print, record
from plausible.causal.queries.observed import (
    CausalLike,
    augmented_graph,
    intervention_name,
    read_causal,
    read_nodes,
    refuse_overlap,
)
from plausible.errors import InvalidArgument
from plausible.graphs import CausalGraph, Independence, SeparationExplanation
from plausible.graphs.nodes import Node, Nodes
from plausible.graphs.text import quote


@dataclass(frozen=True, slots=True, init=False, eq=False)
class Quantity:
    """P(Y | do(x), w): the distribution of outcomes where some nodes are set and others are seen.

    Two quantities are equal if their sets of nodes are. What is set or seen is written in small letters where its name
    is all capitals: it has a value.

    Parameters
    ----------
    outcome
        Y, one node or several; a node that is a tuple itself stands in a list.
    do
        X, the nodes that are set.
    given
        W, the nodes that are seen.

    Examples
    --------
    >>> print(Quantity("C", do="S", given="T"))
    P(C | do(s), t)
    """

    outcome: tuple[Node, ...]
    do: tuple[Node, ...]
    given: tuple[Node, ...]

    def __init__(self, outcome: Nodes, do: Nodes = (), given: Nodes = ()) -> None:
        groups = {"outcome": _several(outcome), "do": _several(do), "given": _several(given)}
        if not groups["outcome"]:
            raise InvalidArgument("A quantity is the distribution of one outcome or more: outcome= is empty.")
        refuse_overlap(groups)
        for name, group in groups.items():
            object.__setattr__(self, name, group)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes: outcomes, then those that are set, then those that are seen."""
        return (*self.outcome, *self.do, *self.given)

    @property
    def is_observational(self) -> bool:
        """Whether nothing is set, so that the quantity can be read off data."""
        return not self.do

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Quantity) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[frozenset[Node], ...]:
        return frozenset(self.outcome), frozenset(self.do), frozenset(self.given)

    def __str__(self) -> str:
        names = {node: quote(node) for node in self.nodes}
        values = {node: value_text(node) for node in (*self.do, *self.given)}
        is_clear = len(set(map(str.lower, names.values()))) == len(names)
        return written(self, names | values if is_clear else names)

    _repr_html_ = html_of_print

    def __repr__(self) -> str:
        return f"<Quantity: {self}>"


def value_text(node: Node) -> str:
    """The text for a value of a node."""
    text = quote(node)
    return text.lower() if text.isupper() else text


def written(quantity: Quantity, texts: Mapping[Node, str]) -> str:
    """The quantity with these texts for its nodes."""
    conditions = [*(f"do({texts[node]})" for node in quantity.do), *(texts[node] for node in quantity.given)]
    outcomes = ", ".join(texts[node] for node in quantity.outcome)
    return f"P({outcomes} | {', '.join(conditions)})" if conditions else f"P({outcomes})"


def sum_sign(texts: Iterable[str]) -> str:
    """The sign of a sum over some values."""
    listed = ", ".join(texts)
    return f"Σ_{listed}" if len(listed) == 1 else f"Σ_{{{listed}}}"


def _several(nodes: Nodes) -> tuple[Node, ...]:
    """One node or several, without repeats."""
    several = nodes if isinstance(nodes, Iterable) and not isinstance(nodes, (str, bytes)) else (nodes,)
    return tuple(dict.fromkeys(several))


#: How a rule is tested: in the graph with intervention nodes, or in one with edges removed. Both say the same.
RuleForm: TypeAlias = Literal["augmented", "classic"]


@record
class RuleStep(Result):
    """One use of a rule: two quantities, and the separation that makes them equal; it is true where it applies."""

    rule: Literal[1, 2, 3]  # 1, 2 or 3
    #: The quantities. Where the rule does not apply, they can differ.
    before: Quantity
    after: Quantity
    separation: Independence  # What has to be separated
    graph: CausalGraph  # Where
    place: str  # The graph in words
    applies: bool  # Whether it is separated there

    @property
    def explanation(self) -> SeparationExplanation:
        """The active trail that forbids the step, or what blocks each trail."""
        return self.graph.explain_separation(self.separation.x, self.separation.y, self.separation.given)

    def __bool__(self) -> bool:
        return self.applies

    def __str__(self) -> str:
        if self.applies:
            return f"{self.before} = {self.after}   [rule {self.rule}: {self.separation} in {self.place}]"
        trails = "".join(f"\n  {trail} is active" for trail in self.explanation.trails)
        claim = f"Rule {self.rule} does not turn {self.before} into {self.after}"
        return f"{claim}: not {self.separation} in {self.place}{trails}"


def rule_1(graph: CausalLike, quantity: Quantity, nodes: Nodes) -> RuleStep:
    """Insert or delete observations: P(y | do(z), x, w) = P(y | do(z), x) if Y ⟂ W | Z, X in G†_Z̄.

    See Pearl (1995), Causal diagrams for empirical research, Biometrika 82; Koller & Friedman (2009), proposition 21.1.

    Parameters
    ----------
    nodes
        W: deleted if the quantity has them as observations, inserted if it does not mention them.

    Examples
    --------
    >>> print(rule_1("S -> T -> C", Quantity("C", given=["T", "S"]), "S"))
    P(C | t, s) = P(C | t)   [rule 1: C ⟂ S | T in G]
    """
    causes, chosen, is_seen = _read(graph, quantity, nodes, ("given", "absent"))
    kept = _without(quantity.given, chosen)
    after = Quantity(quantity.outcome, quantity.do, kept if is_seen else (*quantity.given, *chosen))
    separation = Independence(quantity.outcome, chosen, (*quantity.do, *kept))
    mutilated = causes.without_incoming(quantity.do)
    return _step(1, quantity, after, separation, mutilated, _place("G", quantity.do))


def rule_2(graph: CausalLike, quantity: Quantity, nodes: Nodes, form: RuleForm = "augmented") -> RuleStep:
    """Exchange interventions and observations: P(y | do(z), do(x), w) = P(y | do(z), x, w) if Y ⟂ X̂ | X, Z, W in G†_Z̄.

    X̂ is the intervention node of X. The classic form of the test is Y ⟂ X | Z, W in the graph without the edges into Z
    and out of X. See Pearl (1995), Causal diagrams for empirical research, Biometrika 82; Koller & Friedman (2009),
    proposition 21.2 and exercise 21.1.

    Parameters
    ----------
    graph, quantity
        As for `rule_1`.
    nodes
        X: observed from now on if the quantity sets them, set if it observes them.

    Examples
    --------
    >>> front_door = "S -> T -> C; S <-> C"
    >>> print(rule_2(front_door, Quantity("T", do="S"), "S"))
    P(T | do(s)) = P(T | s)   [rule 2: T ⟂ do(S) | S in G†]
    >>> print(rule_2(front_door, Quantity("C", do="S", given="T"), "S"))
    Rule 2 does not turn P(C | do(s), t) into P(C | t, s): not C ⟂ do(S) | S, T in G†
      C <-> S <- do(S) is active
    """
    causes, chosen, is_set = _read(graph, quantity, nodes, ("do", "given"))
    set_besides, seen_besides = _without(quantity.do, chosen), _without(quantity.given, chosen)
    after = (
        Quantity(quantity.outcome, set_besides, (*seen_besides, *chosen))
        if is_set
        else Quantity(quantity.outcome, (*set_besides, *chosen), seen_besides)
    )
    if _checked(form) == "classic":
        separation = Independence(quantity.outcome, chosen, (*set_besides, *seen_besides))
        cut = causes.without_incoming(set_besides).without_outgoing(chosen)
        place = f"{_place('G', set_besides)} without edges out of {_names(chosen)}"
        return _step(2, quantity, after, separation, cut, place)
    separation = Independence(quantity.outcome, _hats(chosen), (*chosen, *set_besides, *seen_besides))
    cut = read_causal(augmented_graph(causes, chosen, set_besides))
    return _step(2, quantity, after, separation, cut, _place("G†", set_besides))


def rule_3(graph: CausalLike, quantity: Quantity, nodes: Nodes, form: RuleForm = "augmented") -> RuleStep:
    """Insert or delete interventions: P(y | do(z), do(x), w) = P(y | do(z), w) if Y ⟂ X̂ | Z, W in G†_Z̄.

    X̂ is the intervention node of X. The classic form of the test is Y ⟂ X | Z, W in the graph without the edges into
    Z, and into those of X that are no ancestors of W there. See Pearl (1995), Causal diagrams for empirical research,
    Biometrika 82; Koller & Friedman (2009), proposition 21.3.

    Parameters
    ----------
    graph, quantity, form
        As for `rule_2`.
    nodes
        X: deleted if the quantity sets them, inserted if it does not mention them.

    Examples
    --------
    >>> print(rule_3("S -> T -> C; S <-> C", Quantity("C", do=["T", "S"]), "S"))
    P(C | do(t), do(s)) = P(C | do(t))   [rule 3: C ⟂ do(S) | T in G† with T set]
    """
    causes, chosen, is_set = _read(graph, quantity, nodes, ("do", "absent"))
    set_besides = _without(quantity.do, chosen)
    after = Quantity(quantity.outcome, set_besides if is_set else (*quantity.do, *chosen), quantity.given)
    given = (*set_besides, *quantity.given)
    if _checked(form) == "classic":
        mutilated = causes.without_incoming(set_besides)
        above = mutilated.ancestors(quantity.given)
        cut_off = tuple(node for node in chosen if node not in above)
        place = _place("G", set_besides) + (f" without edges into {_names(cut_off)}" if cut_off else "")
        separation = Independence(quantity.outcome, chosen, given)
        return _step(3, quantity, after, separation, mutilated.without_incoming(cut_off), place)
    separation = Independence(quantity.outcome, _hats(chosen), given)
    cut = read_causal(augmented_graph(causes, chosen, set_besides))
    return _step(3, quantity, after, separation, cut, _place("G†", set_besides))


def _step(
    rule: Literal[1, 2, 3], before: Quantity, after: Quantity, separation: Independence, graph: CausalGraph, place: str
) -> RuleStep:
    applies = graph.m_separated(separation.x, separation.y, separation.given)
    return RuleStep(rule, before, after, separation, graph, place, applies)


def _read(
    graph: CausalLike, quantity: Quantity, nodes: Nodes, roles: tuple[str, str]
) -> tuple[CausalGraph, tuple[Node, ...], bool]:
    """The graph, the nodes that a rule is used for, and whether they have the first of two roles in the quantity."""
    causes = read_causal(graph)
    if not isinstance(quantity, Quantity):
        raise InvalidArgument(f"A rule is about a Quantity, such as Quantity('Y', do='X'), not {quantity!r}.")
    read_nodes(causes, quantity.nodes)
    chosen = read_nodes(causes, nodes)
    if not chosen:
        raise InvalidArgument("A rule is about one node or more: nodes= is empty.")
    groups = {"outcome": quantity.outcome, "do": quantity.do, "given": quantity.given}
    found = {next((role for role, group in groups.items() if node in group), "absent") for node in chosen}
    if len(found) > 1 or not found <= set(roles):
        words = {"do": "set", "given": "observed", "absent": "not mentioned", "outcome": "an outcome"}
        allowed = " or ".join(words[role] for role in roles)
        raise InvalidArgument(
            f"This rule is about nodes that are all {allowed} in {quantity}, but {_names(chosen)} "
            f"{'is' if len(chosen) == 1 else 'are'} {' and '.join(words[role] for role in sorted(found))} there."
        )
    return causes, chosen, roles[0] in found


def _checked(form: str) -> str:
    if form not in ("augmented", "classic"):
        raise InvalidArgument(f"form= is 'augmented' or 'classic', not {form!r}.")
    return form


def _without(nodes: tuple[Node, ...], removed: tuple[Node, ...]) -> tuple[Node, ...]:
    return tuple(node for node in nodes if node not in removed)


def _hats(nodes: tuple[Node, ...]) -> list[str]:
    return [intervention_name(node) for node in nodes]


def _names(nodes: tuple[Node, ...]) -> str:
    return ", ".join(map(quote, nodes))


def _place(graph: str, set_nodes: tuple[Node, ...]) -> str:
    return f"{graph} with {_names(set_nodes)} set" if set_nodes else graph
