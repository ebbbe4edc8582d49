"""Derivations by the rules of do-calculus and the laws of probability: what they are, and the search for one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import combinations, count
from typing import Literal, NamedTuple, TypeAlias

from plausible.base import Result, record
from plausible.causal.calculus.rules import Quantity, RuleStep, sum_sign, value_text, written
from plausible.causal.identification.question import MaskGraph
from plausible.graphs.mark_masks import bits
from plausible.graphs.nodes import Node
from plausible.graphs.text import quote
from plausible.search.run import Clock


@record
class ProbabilityStep(Result):
    """A step by the laws of probability, true in every graph."""

    #: "condition": P(y | z) = Σ_w P(y | z, w) P(w | z). "chain": P(y, w | z) = P(y | z, w) P(w | z). "ratio": P(y | z,
    #: w) = P(y, w | z) / P(w | z).
    kind: Literal["condition", "chain", "ratio"]
    before: Quantity  # The quantity on the left
    nodes: tuple[Node, ...]  # W
    terms: tuple[Quantity, Quantity]  # The two quantities on the right

    def __str__(self) -> str:
        names = {node: quote(node) for node in self.before.outcome}
        texts = {node: value_text(node) for term in self.terms for node in term.nodes} | names
        first, second = (written(term, texts) for term in self.terms)
        if self.kind == "ratio":
            return f"{self.before} = {first} / {second}   [definition of conditioning]"
        if self.kind == "chain":
            return f"{self.before} = {first} {second}   [chain rule]"
        total = sum_sign(map(value_text, self.nodes))
        return f"{self.before} = {total} {first} {second}   [conditioning on {', '.join(map(quote, self.nodes))}]"


@record
class Derivation(Result):
    """A quantity and how it follows: a step, and the derivations of the quantities that the step leads to."""

    quantity: Quantity  # What is derived
    #: The step; `None` where the quantity is observational and nothing is left to do.
    reason: RuleStep | ProbabilityStep | None
    premises: tuple[Derivation, ...]  # One derivation for each quantity on the right-hand side of the step

    @property
    def steps(self) -> tuple[RuleStep | ProbabilityStep, ...]:
        """All steps, each before those that it leads to."""
        own = () if self.reason is None else (self.reason,)
        return (*own, *(step for premise in self.premises for step in premise.steps))

    @property
    def rules(self) -> tuple[int, ...]:
        """The rules of the do-calculus in the order in which they are used."""
        return tuple(step.rule for step in self.steps if isinstance(step, RuleStep))

    @property
    def formula(self) -> str:
        """The quantity in terms of observational ones; it holds for any values of the `arbitrary` nodes."""
        # The observational formula that a derivation ends with.
        target = self.quantity
        texts = {node: quote(node) for node in target.outcome}
        return _written(self, {**texts, **_fresh((*target.do, *target.given), texts)})

    @property
    def arbitrary(self) -> tuple[Node, ...]:
        """The nodes that rules 1 and 3 brought in and that no sum binds."""
        return tuple(dict.fromkeys(self._unbound(frozenset())))

    def _unbound(self, bound: frozenset[Node]) -> Iterator[Node]:
        for premise in self.premises:
            known = bound.union(self.quantity.nodes)
            known |= frozenset(self.reason.nodes if isinstance(self.reason, ProbabilityStep) else ())
            yield from (node for node in premise.quantity.nodes if node not in known)
            yield from premise._unbound(known)

    def __str__(self) -> str:
        lines = [f"  {place}. {step}" for place, step in enumerate(self.steps, 1)]
        anything = f" for any {', '.join(map(value_text, self.arbitrary))}" if self.arbitrary else ""
        return "\n".join([f"{self.quantity} = {self.formula}{anything}", *lines])


def _written(derivation: Derivation, texts: Mapping[Node, str]) -> str:
    texts = {**texts, **_fresh((node for node in derivation.quantity.nodes if node not in texts), texts)}
    step, premises = derivation.reason, derivation.premises
    if step is None:
        return written(derivation.quantity, texts)
    if not isinstance(step, ProbabilityStep):
        return _product(premises, texts)
    if step.kind == "ratio":
        above, below = (_written(premise, texts) for premise in premises)
        return f"{_bracketed(above)} / {_bracketed(below)}"
    if step.kind == "condition":
        inner = {**texts, **_fresh(step.nodes, texts)}
        return f"{sum_sign(inner[node] for node in step.nodes)} {_product(premises, inner)}"
    return _product(premises, texts)


def _product(premises: Iterable[Derivation], texts: Mapping[Node, str]) -> str:
    """The factors side by side, sums last; a sum before another one, or a fraction, stands in brackets."""
    factors = sorted((_written(premise, texts) for premise in premises), key=lambda factor: "Σ" in factor)
    if len(factors) == 1:
        return factors[0]
    first = [_bracketed(factor) if "Σ" in factor or " / " in factor else factor for factor in factors[:-1]]
    last = f"[{factors[-1]}]" if " / " in factors[-1] else factors[-1]
    return " ".join([*first, last])


def _bracketed(factor: str) -> str:
    is_single = factor.startswith("P(") and factor.count("P(") == 1 and "/" not in factor
    return factor if is_single else f"[{factor}]"


def _fresh(nodes: Iterable[Node], texts: Mapping[Node, str]) -> dict[Node, str]:
    """Texts for values of nodes, with primes where others have taken them."""
    taken = {text.lower() for text in texts.values()}
    found: dict[Node, str] = {}
    for node in nodes:
        text = value_text(node)
        while text.lower() in taken:
            text += "'"
        taken.add(text.lower())
        found[node] = text
    return found


#: How one quantity becomes one or two others.
MoveKind: TypeAlias = Literal["rule 1", "rule 2", "rule 3", "condition", "chain", "ratio"]

#: Of so many nodes or fewer, all subsets up to this size are conditioned on at once, or split off; of more nodes, only
#: single ones, and larger sets one node after the other.
_FEW_NODES, _LARGEST_SUBSET = 8, 3

#: What a move costs: derivations with few steps are sought, and fractions avoided.
_COSTS: dict[MoveKind, int] = {"rule 1": 1, "rule 2": 1, "rule 3": 1, "condition": 1, "chain": 1, "ratio": 2}


class Masks(NamedTuple):
    """P(Y | do(x), w) on bit sets."""

    outcome: int
    do: int
    given: int


class DerivationMove(NamedTuple):
    """One step: the quantity before it is made of the terms.

    A sum of their product over `nodes` ("condition"), their product ("chain"), or the first divided by the second
    ("ratio"); a rule has one term.
    """

    kind: MoveKind
    nodes: int
    terms: tuple[Masks, ...]


def moves(graph: MaskGraph, quantity: Masks) -> Iterator[DerivationMove]:
    """All steps from a quantity: rules one node at a time, those that shorten it first, then laws of probability."""
    y, do, given = quantity
    free = graph.members & ~(y | do | given)
    for x in _singles(do):
        if _ignores_setting(graph, Masks(y, do ^ x, given), x):
            yield DerivationMove("rule 3", x, (Masks(y, do ^ x, given),))
        if _exchanges(graph, Masks(y, do ^ x, given), x):
            yield DerivationMove("rule 2", x, (Masks(y, do ^ x, given | x),))
    for w in _singles(given):
        if graph.separated(y, w, do | given ^ w, cut_into=do):
            yield DerivationMove("rule 1", w, (Masks(y, do, given ^ w),))
        if _exchanges(graph, Masks(y, do, given ^ w), w):
            yield DerivationMove("rule 2", w, (Masks(y, do | w, given ^ w),))
    for v in _singles(free):
        if _ignores_setting(graph, quantity, v):
            yield DerivationMove("rule 3", v, (Masks(y, do | v, given),))
        if graph.separated(y, v, do | given, cut_into=do):
            yield DerivationMove("rule 1", v, (Masks(y, do, given | v),))
    for w in _subsets(free):
        yield DerivationMove("condition", w, (Masks(y, do, given | w), Masks(w, do, given)))
    for part in _subsets(y):
        if part == y:
            break
        yield DerivationMove("chain", part, (Masks(y ^ part, do, given | part), Masks(part, do, given)))
    for w in _singles(given):
        yield DerivationMove("ratio", w, (Masks(y | w, do, given ^ w), Masks(w, do, given ^ w)))


def _exchanges(graph: MaskGraph, rest: Masks, x: int) -> bool:
    """Whether x may be seen instead of set: the classic form of rule 2."""
    return graph.separated(rest.outcome, x, rest.do | rest.given, cut_into=rest.do, cut_out_of=x)


def _ignores_setting(graph: MaskGraph, rest: Masks, x: int) -> bool:
    """Whether setting x changes nothing: the classic form of rule 3."""
    is_above = x & graph.above(rest.given, rest.do)
    return graph.separated(rest.outcome, x, rest.do | rest.given, cut_into=rest.do | (x & ~is_above))


def _subsets(mask: int) -> Iterator[int]:
    """Subsets that are not empty, small ones first."""
    members = list(_singles(mask))
    largest = _LARGEST_SUBSET if len(members) <= _FEW_NODES else 1
    for size in range(1, min(largest, len(members)) + 1):
        yield from map(sum, combinations(members, size))


def _singles(mask: int) -> Iterator[int]:
    """The members of a set one by one, each as a set of its own."""
    return (1 << place for place in bits(mask))


@dataclass(slots=True)
class DerivationSpace:
    """How far a search has come."""

    graph: MaskGraph
    # Each quantity that was met -> the steps from it; none yet for those on the frontier.
    known: dict[Masks, tuple[DerivationMove, ...]] = field(default_factory=dict)
    frontier: list[Masks] = field(default_factory=list)  # The quantities of the last level, not yet looked at.
    # Quantity -> the first step of its cheapest derivation, for those that follow from observational ones.
    chosen: dict[Masks, DerivationMove | None] = field(default_factory=dict)
    is_exhausted: bool = False  # Whether every quantity that steps can lead to was looked at.


def search(graph: MaskGraph, target: Masks, max_quantities: int, time_limit: float) -> DerivationSpace:
    """Look for a derivation of `target`, level by level, until none cheaper can turn up or a limit is met.

    A quantity follows if one of its steps leads to quantities that all follow: an and-or graph, which may have cycles.
    The cheapest derivations are found from the observational quantities upwards (Knuth 1977, A generalization of
    Dijkstra's algorithm).
    """
    state = DerivationSpace(graph, known={target: ()}, frontier=[target])
    clock, depth = Clock.of(time_limit), 0
    while state.frontier:
        depth += 1
        if not _expand(state, max_quantities, clock):
            _, state.chosen = _cheapest(state.known)
            return state
        costs, state.chosen = _cheapest(state.known)
        # Each step costs one or more, so a cheaper derivation would not go deeper.
        if costs.get(target, depth + 1) <= depth:
            return state
    state.is_exhausted = True
    return state


def _expand(state: DerivationSpace, max_quantities: int, clock: Clock) -> bool:
    """Take the steps from all quantities of the frontier; false where a limit was met."""
    frontier, state.frontier = state.frontier, []
    for quantity in frontier:
        if not quantity.do:
            continue
        if len(state.known) > max_quantities or clock.is_over:
            return False
        state.known[quantity] = tuple(moves(state.graph, quantity))
        for move in state.known[quantity]:
            for term in move.terms:
                if term not in state.known:
                    state.known[term] = ()
                    state.frontier.append(term)
    return True


def _cheapest(
    known: dict[Masks, tuple[DerivationMove, ...]],
) -> tuple[dict[Masks, int], dict[Masks, DerivationMove | None]]:
    """The cost of the cheapest derivation of each quantity that has one, and its first step."""
    users: dict[Masks, list[tuple[Masks, DerivationMove]]] = {}
    for quantity, steps in known.items():
        for step in steps:
            for term in step.terms:
                users.setdefault(term, []).append((quantity, step))
    costs: dict[Masks, int] = {}
    chosen: dict[Masks, DerivationMove | None] = {}
    tick = count()
    queue: list[tuple[int, int, Masks, DerivationMove | None]] = [
        (0, next(tick), leaf, None) for leaf in known if not leaf.do
    ]
    while queue:
        cost, _, quantity, first = heappop(queue)
        if quantity in costs:
            continue
        costs[quantity], chosen[quantity] = cost, first
        for user, step in users.get(quantity, ()):
            if user not in costs and all(term in costs for term in step.terms):
                heappush(queue, (_COSTS[step.kind] + sum(costs[term] for term in step.terms), next(tick), user, step))
    return costs, chosen
