"""Queries as linear forms in the joint response types, or as ratios of two, or the reason why they are neither."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.base import PROBABILITY_NOISE, Call, Floats, Positions, Remedy
from plausible.causal.counterfactuals.potential import Copies, Copy, CopyValue, Finding, state_positions
from plausible.causal.functional.responses import written_product
from plausible.causal.partial.district import Polytope
from plausible.causal.partial.linear_query import LinearQuery
from plausible.causal.partial.systems import Members, Systems
from plausible.errors import ImpossibleEvidence, NotSupported, TooLarge, UnknownVariable
from plausible.factors import Factor
from plausible.inference.elimination import sum_product
from plausible.variables import Variable

#: The most joint states that the variables whose types matter to an event may have, with their causes.
MAX_TERMS = 2**18


@dataclass(frozen=True, slots=True, eq=False)
class Expansion:
    """P(event) = Σ over terms of weight × P(each copy answers its parents' states by its own)."""

    copies: tuple[Copy, ...]  # The variables in their worlds whose response types matter, causes first.
    rows: Positions  # Terms × copies: the position among the assignments to the copy's parents.
    codes: Positions  # Terms × copies: the position of its state.
    weights: Floats  # For each term the probability of what the other variables must do, which is observed plainly.


def expand(findings: Iterable[Finding], systems: Systems) -> Expansion:
    """The event that all findings hold, written out over the states of the variables that it depends on.

    This is the counterfactual factorisation (Shpitser & Pearl 2007): each variable of each world is the same function
    of its parents there, so that a term demands of each response type some values at some assignments. Variables
    without latent causes that are the same in all worlds are eliminated by sum-product.
    """
    observed = systems.observed
    copies = Copies(systems.graph, observed.variable)
    allowed: dict[int, set[int]] = {}
    is_possible = True
    for finding in findings:
        value = copies.value(finding.term)
        states = state_positions(observed.variable(finding.term.variable), finding.value)
        if value.copy < 0:
            is_possible &= value.code in states
        else:
            allowed[value.copy] = allowed.get(value.copy, states) & states
    variables = [observed.variable(copy.variable) for copy in copies.listed]
    choices = [sorted(allowed.get(place, range(v.num_states))) for place, v in enumerate(variables)]
    if not is_possible or not all(choices):
        nothing = np.zeros((0, 0), dtype=np.intp)
        return Expansion((), nothing, nothing, np.zeros(0))
    return _listed(systems, copies.listed, choices)


def _listed(systems: Systems, copies: Sequence[Copy], choices: Sequence[Sequence[int]]) -> Expansion:
    """The terms: a state for each copy whose type matters and for the causes of these, of those that it may be in."""
    uses = Counter(copy.variable for copy in copies)
    tables = systems.own_conditionals([variable for variable, times in uses.items() if times == 1])
    open_ones = [place for place, copy in enumerate(copies) if copy.variable not in tables]
    causes = {cause.copy for place in open_ones for cause in copies[place].causes if cause.copy >= 0}
    kept = sorted(causes.union(open_ones))
    sizes = [len(choices[place]) for place in kept]
    if math.prod(sizes) > MAX_TERMS:
        raise TooLarge(
            f"The event depends on the response types of variables that have, with their causes, "
            f"{written_product(sizes)} joint states in its worlds; at most {MAX_TERMS} can be listed. Give evidence "
            "about some of them, or leave variables out with latent_projection(graph, observed=...)."
        )
    # All combinations: terms × choices, the last choice changing fastest.
    local = np.indices(sizes, dtype=np.intp).reshape(len(sizes), math.prod(sizes)).T
    codes = {place: np.array(choices[place])[local[:, column]] for column, place in enumerate(kept)}
    rows = np.zeros((len(local), len(open_ones)), dtype=np.intp)
    for column, place in enumerate(open_ones):
        for cause, parent in zip(copies[place].causes, systems.graph.parents(copies[place].variable), strict=True):
            state = cause.code if cause.copy < 0 else codes[cause.copy]
            rows[:, column] = rows[:, column] * systems.observed.variable(parent).num_states + state
    states = np.stack([codes[place] for place in open_ones], axis=1) if open_ones else np.zeros_like(rows)
    # P(x | pa) of each plain copy, over the states that the event leaves.
    factors = []
    for place, copy in enumerate(copies):
        if copy.variable in tables:
            axes = [*copy.causes, CopyValue(place, 0)]
            shape = [
                systems.observed.variable(v).num_states for v in (*systems.graph.parents(copy.variable), copy.variable)
            ]
            chosen = [[axis.code] if axis.copy < 0 else choices[axis.copy] for axis in axes]
            scope = [Variable(str(axis.copy), len(choices[axis.copy])) for axis in axes if axis.copy >= 0]
            values = tables[copy.variable].reshape(shape)[np.ix_(*chosen)]
            factors.append(Factor(scope, values.reshape([variable.num_states for variable in scope])))
    weights = _weights(factors, dict(zip(kept, local.T, strict=True)), len(local))
    return Expansion(tuple(copies[place] for place in open_ones), rows, states, weights)


def _weights(factors: list[Factor], places: Mapping[int, Positions], num_terms: int) -> Floats:
    """For each term the sum, over the states of plain copies that it leaves open, of their conditionals' product."""
    if not factors:
        return np.ones(num_terms)
    present = {name for factor in factors for name in factor.names}
    targets = [place for place in places if str(place) in present]
    found = sum_product(factors, [str(place) for place in targets])
    values = np.asarray(found.factor.values) * math.exp(found.log_scale)
    return np.array(np.broadcast_to(values[tuple(places[place] for place in targets)], num_terms))


Ints = NDArray[np.intp]

#: The largest table of functionals × types, and of terms × terms.
_MAX_ENTRIES = 2**26


class NotLinear(NotSupported):
    """A query that is not linear in the response types."""


@dataclass(frozen=True, slots=True, eq=False)
class LinearForm:
    """constant + Σ vectors[district] · ν[district], over the types that may occur."""

    constant: float
    vectors: Mapping[Members, Floats] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Demands:
    """Σ weight × Π over districts of P(types that meet a demand)."""

    weights: Floats  # One for each term.
    # District -> terms × demands: the cells (member, parents' states, own state) that a type must show, by their
    # number, in falling order; -1 where there are no more.
    asked: Mapping[Members, Ints]

    def scaled(self, factor: float) -> Demands:
        """The same with each weight times a factor."""
        return Demands(self.weights * factor, self.asked)

    @staticmethod
    def joined(parts: Sequence[Demands]) -> Demands:
        """The sum."""
        districts = dict.fromkeys(members for part in parts for members in part.asked)
        asked = {}
        for members in districts:
            demands = [part.demanded(members) for part in parts]
            width = max(demand.shape[1] for demand in demands)
            padded = [np.pad(d, ((0, 0), (0, width - d.shape[1])), constant_values=-1) for d in demands]
            asked[members] = np.concatenate(padded)
        return Demands(np.concatenate([np.zeros(0), *(part.weights for part in parts)]), asked)

    def demanded(self, members: Members) -> Ints:
        """What each term asks of a district; nothing where it does not occur."""
        return self.asked.get(members, np.full((len(self.weights), 0), -1, dtype=np.intp))


def functionals(polytope: Polytope, demands: Ints) -> Floats:
    """Demands × types that may occur: one where the type meets the demand."""
    district = polytope.district
    if len(demands) * len(polytope.alive) > _MAX_ENTRIES:
        raise TooLarge(
            f"The query has {len(demands)} different parts in the {len(polytope.alive)} types of "
            f"{list(district.names)}; ask about fewer worlds, or give evidence."
        )
    types = np.unravel_index(polytope.alive, district.shape)
    shown = [
        response.constraint_matrix().astype(np.bool_)[:, chosen]
        for response, chosen in zip(district.responses, types, strict=True)
    ]
    # The last row stands for -1: no demand.
    cells = np.vstack([*shown, np.ones((1, len(polytope.alive)), dtype=np.bool_)])
    meets = np.ones((len(demands), len(polytope.alive)), dtype=np.bool_)
    for column in demands.T:
        meets &= cells[column]
    return meets.astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class _Split:
    """For each term, which functional of a district it has; of each functional, the known and the unknown part."""

    which: Ints
    known: Floats
    rest: Floats


def linear_form(demands: Demands, systems: Systems) -> LinearForm:
    """A sum of products over districts as a linear form.

    With f = c + g for each factor (see `Polytope.split`), products expand to Π c + Σ g Π c + products of several g.
    The query is linear, over all distributions of types that show what is seen, where the last ones cancel.
    """
    if systems.confidence is not None:
        # The linear form where what is seen is uncertain too, so that each term may have one district only.
        is_asked = {members: (asked >= 0).any(axis=1) for members, asked in demands.asked.items()}
        if (
            sum((mask.astype(np.int64) for mask in is_asked.values()), np.zeros(len(demands.weights))).max(initial=0)
            > 1
        ):
            names = " and ".join(
                str([str(name) for name in members]) for members, mask in is_asked.items() if mask.any()
            )
            raise NotLinear(
                f"Over a confidence region the query is not linear: it multiplies uncertain probabilities of {names}.",
                remedies=[
                    Remedy("give evidence that fixes all but one of them"),
                    Remedy("use ", Call("bootstrap_bounds")),
                ],
            )
        constant, vectors = float(demands.weights.sum()), {}
        for members, asked in demands.asked.items():
            mask = is_asked[members]
            polytope = systems.polytope(members)
            unique, which = np.unique(asked[mask], axis=0, return_inverse=True)
            weights = np.bincount(which.ravel(), demands.weights[mask], minlength=len(unique))
            vectors[members] = weights @ functionals(polytope, unique)
            constant -= float(demands.weights[mask].sum())
        return LinearForm(constant, vectors)
    splits: dict[Members, _Split] = {}
    for members, asked in demands.asked.items():
        polytope = systems.polytope(members)
        unique, which = np.unique(asked, axis=0, return_inverse=True)
        splits[members] = _Split(which.ravel(), *polytope.split(functionals(polytope, unique)))
    _refuse_products(demands.weights, splits)
    constant = float(_times(demands.weights, splits).sum())
    vectors = {}
    for members, split in splits.items():
        others = {other: found for other, found in splits.items() if other != members}
        totals = np.bincount(split.which, _times(demands.weights, others), minlength=len(split.known))
        vectors[members] = totals @ split.rest
    return LinearForm(constant, vectors)


def _times(weights: Floats, splits: Mapping[Members, _Split]) -> Floats:
    """Each term's weight times its known factors."""
    for split in splits.values():
        weights = weights * split.known[split.which]
    return weights


def _refuse_products(weights: Floats, splits: Mapping[Members, _Split]) -> None:
    """Refuse products of unknowns of several districts that do not cancel."""
    open_ones = [members for members, split in splits.items() if split.rest.any()]
    scale = float(np.abs(weights).sum()) or 1.0
    for size in range(2, len(open_ones) + 1):
        for chosen in combinations(open_ones, size):
            others = {members: split for members, split in splits.items() if members not in chosen}
            if _product_norm(_times(weights, others), [splits[members] for members in chosen]) > 1e-6 * scale:
                names = " and ".join(str([str(name) for name in members]) for members in chosen)
                raise NotLinear(
                    f"The query is not linear: it multiplies unknown probabilities of the independent districts "
                    f"{names}. Ask about each of them alone, give evidence that fixes one, or join them by <->, which "
                    "gives valid, wider bounds."
                )


def _product_norm(weights: Floats, splits: Sequence[_Split]) -> float:
    """|Σ weight g₁ ⊗ g₂ ⊗ ...|, by inner products: those of tensor products are products of inner products."""
    combined = np.stack([split.which for split in splits], axis=1)
    unique, place = np.unique(combined, axis=0, return_inverse=True)
    if len(unique) ** 2 > _MAX_ENTRIES:
        raise TooLarge(f"The query has {len(unique)} different products of two districts' types; give evidence.")
    totals = np.bincount(place.ravel(), weights, minlength=len(unique))
    products: Any = 1.0
    for column, split in zip(unique.T, splits, strict=True):
        products = products * (split.rest[column] @ split.rest[column].T)
    return float(np.sqrt(max(0.0, totals @ products @ totals)))


class Ratio(NamedTuple):
    """numerator / denominator, both linear in the response types."""

    numerator: LinearForm
    denominator: LinearForm


def ratio_of(query: LinearQuery, systems: Systems) -> Ratio:
    """A query as a ratio of linear forms.

    Conditional probabilities whose condition has a known probability are divided by it. One condition whose probability
    is not known may be the denominator of the whole query; a sum with others is neither linear nor a ratio.
    """
    parts = [(term, _demands((*term.event, *term.given), systems).scaled(term.coefficient)) for term in query.terms]
    conditions = {frozenset(map(str, term.given)): term.given for term in query.terms if term.given}
    known: dict[frozenset[str], float] = {frozenset(): 1.0}
    if systems.confidence is None:
        for key, given in conditions.items():
            form = linear_form(_demands(given, systems), systems)
            if not any(vector.any() for vector in form.vectors.values()):
                if not form.constant > PROBABILITY_NOISE:
                    raise ImpossibleEvidence(f"The evidence {', '.join(map(str, given))} has probability zero.")
                known[key] = form.constant
    unknown = [key for key in conditions if key not in known]
    if not unknown:
        scaled = [part.scaled(1.0 / known[frozenset(map(str, term.given))]) for term, part in parts]
        form = linear_form(Demands.joined(scaled), systems)
        return Ratio(LinearForm(form.constant + query.constant, form.vectors), LinearForm(1.0))
    if len(unknown) > 1 or any(not term.given for term in query.terms):
        raise NotLinear(
            f"The query {query} is not linear: it adds probabilities given conditions whose own probabilities are "
            "not known. Bound the conditional probabilities one at a time."
        )
    over, under = Demands.joined([part for _, part in parts]), _demands(conditions[unknown[0]], systems)
    if systems.confidence is not None:
        # Demands that all terms share in a district are a factor that cancels.
        whole = Demands.joined([over, under])
        varying = [members for members, asked in whole.asked.items() if len(np.unique(asked, axis=0)) > 1]
        over, under = (Demands(part.weights, {m: part.demanded(m) for m in varying}) for part in (over, under))
    numerator, denominator = linear_form(over, systems), linear_form(under, systems)
    vectors = dict(numerator.vectors)
    for members, vector in denominator.vectors.items():
        vectors[members] = vectors.get(members, 0.0) + query.constant * vector
    return Ratio(LinearForm(numerator.constant + query.constant * denominator.constant, vectors), denominator)


def _demands(findings: Iterable[Finding], systems: Systems) -> Demands:
    try:
        expanded = expand(findings, systems)
    except UnknownVariable as error:
        if not systems.latent:
            raise
        hidden = ", ".join(map(repr, systems.latent))
        raise UnknownVariable(f"{error} Of {hidden}, which the graph has, nothing is observed.") from None
    # What the terms of an event ask of each district.
    asked: dict[Members, Ints] = {}
    for members in dict.fromkeys(systems.members(copy.variable) for copy in expanded.copies):
        columns, start = [], 0  # the number of a member's first cell
        for response in systems.polytope(members).district.responses:
            name, num_states = response.variable.name, response.variable.num_states
            places = [place for place, copy in enumerate(expanded.copies) if copy.variable == name]
            columns += [start + expanded.rows[:, place] * num_states + expanded.codes[:, place] for place in places]
            start += response.types.shape[1] * num_states
        asked[members] = -np.sort(-np.stack(columns, axis=1), axis=1)
    return Demands(expanded.weights, asked)
