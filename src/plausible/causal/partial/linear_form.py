"""Queries as linear forms in the joint response types, or as ratios of two, or the reason why they are neither."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats
from plausible.base.remedies import Call, Remedy
from plausible.base.tolerances import PROBABILITY_NOISE
from plausible.causal.partial.district import Polytope
from plausible.causal.partial.expansion import expand
from plausible.causal.partial.linear_query import LinearQuery, WorldFinding
from plausible.causal.partial.systems import Members, Systems
from plausible.errors import ImpossibleEvidence, NotSupported, TooLarge, UnknownVariable

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


def _demands(findings: Iterable[WorldFinding], systems: Systems) -> Demands:
    try:
        expanded = expand(systems.graph, findings, systems.observed, systems.own_conditionals)
    except UnknownVariable as error:
        if not systems.latent:
            raise
        hidden = ", ".join(map(repr, systems.latent))
        raise UnknownVariable(f"{error} Of {hidden}, which the graph has, nothing is observed.") from None
    # What the terms of an event ask of each district.
    asked: dict[Members, Ints] = {}
    for members in dict.fromkeys(systems.members(copy.variable) for copy in expanded.copies):
        # Member -> the number of its first cell, and how many states it has.
        polytope = systems.polytope(members)
        found, start = {}, 0
        for response in polytope.district.responses:
            found[response.variable.name] = (start, response.variable.num_states)
            start += response.types.shape[1] * response.variable.num_states
        offsets = found
        columns = [
            offsets[name][0] + expanded.rows[:, place] * offsets[name][1] + expanded.codes[:, place]
            for name in map(str, members)
            for place in expanded.places(name)
        ]
        asked[members] = -np.sort(-np.stack(columns, axis=1), axis=1)
    return Demands(expanded.weights, asked)
