"""Deriving an effect by do-calculus, and effects that need no derivation."""

from __future__ import annotations

from plausible.base import Result, record
from plausible.causal.calculus.rules import Quantity, RuleStep, rule_1, rule_2, rule_3
from plausible.causal.calculus.search import Derivation, DerivationSpace, Masks, ProbabilityStep, search
from plausible.causal.identification.question import MaskGraph
from plausible.causal.queries.observed import CausalLike, augmented_graph, intervention_name, read_causal, read_nodes
from plausible.errors import InvalidArgument
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.nodes import Node, Nodes


@record
class DerivationSearch(Result):
    """What a search for a derivation has found."""

    quantity: Quantity  # What was to be derived
    #: An adjustment, or the one with the fewest steps, as far as was looked; `None` where there is none.
    derivation: Derivation | None
    #: Whether every quantity that the steps can lead to was looked at. Where it is false and nothing was found, a limit
    #: ended the search, and nothing is known about the quantity.
    is_exhausted: bool
    num_quantities: int  # How many different quantities were met

    @property
    def found(self) -> bool:
        """Whether there is a derivation."""
        return self.derivation is not None

    def __str__(self) -> str:
        if self.derivation is not None:
            return str(self.derivation)
        if self.is_exhausted:
            return (
                f"No derivation of {self.quantity}: none of the {self.num_quantities} quantities that these steps lead "
                "to gets it free of interventions."
            )
        return (
            f"No derivation of {self.quantity} among the first {self.num_quantities} quantities: the limit ended the "
            "search, which does not show that there is none. Give a greater max_quantities= or time_limit=, or ask a "
            "complete algorithm."
        )


def derive(
    graph: CausalLike,
    outcome: Nodes,
    treatment: Nodes,
    given: Nodes = (),
    *,
    max_quantities: int = 20_000,
    time_limit: float = 60.0,
) -> DerivationSearch:
    """Search for a derivation of P(Y | do(x), w) by the rules of the do-calculus and the laws of probability.

    Steps are rules 1 to 3, one node at a time, conditioning on further nodes, P(y) = Σ_w P(y | w) P(w), the chain rule
    and P(y | w) = P(y, w) / P(w). Where a set to adjust for will do, which is quickly found in graphs of any size, the
    derivation is that of the adjustment; else, the one with the fewest steps. Each step comes with its separation. The
    search is for small graphs and for reading: n ancestors of the nodes asked about make up to 4^n quantities. Whether
    an effect is identified is decided in polynomial time by other means. See Pearl (1995), Causal diagrams for
    empirical research, Biometrika 82; Koller & Friedman (2009), box 21.A.

    Parameters
    ----------
    graph
        A DAG, all of whose nodes are observed, or a causal graph.
    given
        W, what is seen besides.
    max_quantities
        Give up after meeting so many different quantities.

    Examples
    --------
    >>> derive("S -> T -> C; S <-> C", outcome="C", treatment="S")
    P(C | do(s)) = Σ_t P(t | s) Σ_{s'} P(C | s', t) P(s')
      1. P(C | do(s)) = Σ_t P(C | do(s), t) P(t | do(s))   [conditioning on T]
      2. P(C | do(s), t) = P(C | do(s), do(t))   [rule 2: C ⟂ do(T) | T, S in G† with S set]
      3. P(C | do(s), do(t)) = P(C | do(t))   [rule 3: C ⟂ do(S) | T in G† with T set]
      4. P(C | do(t)) = Σ_s P(C | do(t), s) P(s | do(t))   [conditioning on S]
      5. P(C | do(t), s) = P(C | s, t)   [rule 2: C ⟂ do(T) | T, S in G†]
      6. P(S | do(t)) = P(S)   [rule 3: S ⟂ do(T) in G†]
      7. P(T | do(s)) = P(T | s)   [rule 2: T ⟂ do(S) | S in G†]
    """
    causes = read_causal(graph)
    target = Quantity(read_nodes(causes, outcome), read_nodes(causes, treatment), read_nodes(causes, given))
    if max_quantities < 1:
        raise InvalidArgument(f"max_quantities={max_quantities} leaves nothing to look at; give a positive number.")
    # What no node of the question descends from sums out of everything.
    relevant = causes.subgraph([*target.nodes, *causes.ancestors(target.nodes)])
    if target.do and (adjusted := _adjustment(relevant, target)) is not None:
        return DerivationSearch(target, adjusted, False, 1 + len(adjusted.steps))
    masks = MaskGraph.of(relevant)
    start = Masks(*map(masks.mask, (target.outcome, target.do, target.given)))
    found = search(masks, start, max_quantities, time_limit)
    derivation = _derivation(relevant, found, start, target) if start in found.chosen else None
    return DerivationSearch(target, derivation, found.is_exhausted, len(found.known))


def _adjustment(graph: CausalGraph, target: Quantity) -> Derivation | None:
    """P(y | do(x), z) = Σ_w P(y | do(x), w, z) P(w | do(x), z): rule 2 turns do(x) into x, rule 3 drops it."""
    absent = rule_3(graph, target, target.do)
    if absent.applies:
        return _by_rule(absent)
    taken = {*graph.descendants(target.do), *target.do, *target.outcome}.difference(target.given)
    allowed = [node for node in graph.nodes if node not in taken]
    found = graph.without_outgoing(target.do).minimal_separator(target.do, target.outcome, target.given, allowed)
    if found is None:
        return None
    nodes = tuple(node for node in graph.nodes if node in found and node not in target.given)
    if not nodes:
        return _by_rule(exchanged) if (exchanged := rule_2(graph, target, target.do)).applies else None
    within = Quantity(target.outcome, target.do, (*target.given, *nodes))
    weights = Quantity(nodes, target.do, target.given)
    steps = rule_2(graph, within, target.do), rule_3(graph, weights, target.do)
    if not all(steps):
        return None
    return Derivation(
        target, ProbabilityStep("condition", target, nodes, (within, weights)), tuple(map(_by_rule, steps))
    )


def _by_rule(step: RuleStep) -> Derivation:
    """The derivation that one rule ends."""
    return Derivation(step.before, step, (Derivation(step.after, None, ()),))


def _derivation(graph: CausalGraph, found: DerivationSpace, place: Masks, quantity: Quantity) -> Derivation:
    """The derivation that the choices of a search make, every rule tested again in its graph."""
    move = found.chosen[place]
    if move is None:
        return Derivation(quantity, None, ())
    nodes, (y, do, given) = found.graph.names(move.nodes), (quantity.outcome, quantity.do, quantity.given)
    reason: RuleStep | ProbabilityStep
    terms: tuple[Quantity, ...]
    if move.kind == "rule 1" or move.kind == "rule 2" or move.kind == "rule 3":
        reason = {"rule 1": rule_1, "rule 2": rule_2, "rule 3": rule_3}[move.kind](graph, quantity, nodes)
        terms = (reason.after,)
    elif move.kind == "ratio":
        rest = tuple(node for node in given if node not in nodes)
        terms = pair = Quantity((*y, *nodes), do, rest), Quantity(nodes, do, rest)
        reason = ProbabilityStep(move.kind, quantity, nodes, pair)
    else:
        rest = tuple(node for node in y if node not in nodes)
        terms = pair = Quantity(rest, do, (*given, *nodes)), Quantity(nodes, do, given)
        reason = ProbabilityStep(move.kind, quantity, nodes, pair)
    premises = (_derivation(graph, found, *pair) for pair in zip(move.terms, terms, strict=True))
    return Derivation(quantity, reason, tuple(premises))


def has_requisite_cpd(graph: CausalLike, node: Node, outcome: Nodes, given: Nodes = (), intervened: Nodes = ()) -> bool:
    """Whether P(outcome | given) can depend on the mechanism of a node: its intervention node has an active trail.

    With the node in `given` this is the test of rule 2 (it does not matter whether the node was seen or set), without
    it that of rule 3 (it does not matter whether it was set). Linear in the edges. See Koller & Friedman (2009),
    Probabilistic graphical models, section 21.3.1 and exercise 3.20.

    Parameters
    ----------
    node
        Whose conditional distribution to ask about.
    outcome, given
        The question P(outcome | given); a node or several each.
    intervened
        Nodes that are set; they count as given, and their own mechanisms are gone.

    Examples
    --------
    >>> has_requisite_cpd("D -> G <- I -> S; G -> L", "L", outcome="I", given="G")
    False
    """
    causes = read_causal(graph)
    return set(read_nodes(causes, node)) <= requisite_cpds(causes, outcome, given, intervened)


def requisite_cpds(graph: CausalLike, outcome: Nodes, given: Nodes = (), intervened: Nodes = ()) -> frozenset[Node]:
    """The nodes whose conditional distributions P(outcome | given) can depend on.

    One separation for each node: O(nodes x edges).

    Parameters
    ----------
    outcome, given
        The question P(outcome | given); a node or several each. Outcomes that are given have no say.
    intervened
        Nodes that are set; they count as given, and their own mechanisms are gone.

    Examples
    --------
    >>> sorted(requisite_cpds("D -> G <- I -> S; G -> L", outcome="I", given="G"))
    ['D', 'G', 'I']
    >>> sorted(requisite_cpds("D -> G <- I -> S; G -> L", outcome="I", given="L", intervened="G"))
    ['I']
    """
    causes = read_causal(graph)
    cut = read_nodes(causes, intervened)
    observed = (*read_nodes(causes, given), *cut)
    asked = read_nodes(causes, outcome)
    hats = read_causal(augmented_graph(causes, None, cut))
    return frozenset(
        node
        for node in causes.nodes
        if node not in cut and not hats.m_separated(intervention_name(node), asked, observed)
    )


def effect_is_association(graph: CausalLike, outcome: Nodes, treatment: Nodes) -> RuleStep:
    """Whether P(Y | do(x)) = P(Y | x): rule 2 with nothing else set or seen, Y ⟂ X̂ | X in G†.

    >>> bool(effect_is_association("D -> G <- I -> S; G -> J", "J", "G"))
    True
    >>> bool(effect_is_association("D -> G <- I -> S; G -> J; S -> J", "J", "G"))
    False
    """
    causes = read_causal(graph)
    x = read_nodes(causes, treatment)
    return rule_2(causes, Quantity(read_nodes(causes, outcome), do=x), x)


def effect_is_absent(graph: CausalLike, outcome: Nodes, treatment: Nodes) -> RuleStep:
    """Whether P(Y | do(x)) = P(Y): rule 3 with nothing else set or seen; no directed path leads from X to Y.

    Parameters are those of `effect_is_association`.

    >>> print(effect_is_absent("D -> G <- I -> S; G -> J", "S", "G"))
    P(S | do(g)) = P(S)   [rule 3: S ⟂ do(G) in G†]
    """
    causes = read_causal(graph)
    x = read_nodes(causes, treatment)
    return rule_3(causes, Quantity(read_nodes(causes, outcome), do=x), x)
