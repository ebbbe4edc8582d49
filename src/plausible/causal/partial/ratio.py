"""Queries as ratios of linear forms: what is asked over the probability of what is known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from plausible.causal.partial.expansion import expand
from plausible.causal.partial.linear_form import Demands, LinearForm, NotLinear, demands_of, linear_form, without_common
from plausible.causal.partial.linear_query import LinearQuery, WorldFinding
from plausible.causal.partial.systems import Systems
from plausible.errors import ImpossibleEvidence, UnknownVariable

__all__ = ["Ratio", "ratio_of"]


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
                known[key] = _possible(form.constant, given)
    unknown = [key for key in conditions if key not in known]
    if not unknown:
        scaled = [part.scaled(1.0 / known[frozenset(map(str, term.given))]) for term, part in parts]
        whole = linear_form(Demands.joined(scaled), systems)
        return Ratio(LinearForm(whole.constant + query.constant, whole.vectors), LinearForm(1.0))
    _refuse_sum(query, len(unknown))
    return _fraction(query, [part for _, part in parts], conditions[unknown[0]], systems)


def _demands(findings: Iterable[WorldFinding], systems: Systems) -> Demands:
    try:
        expanded = expand(systems.graph, findings, systems.observed, systems.own_conditionals)
    except UnknownVariable as error:
        if not systems.latent:
            raise
        hidden = ", ".join(map(repr, systems.latent))
        raise UnknownVariable(f"{error} Of {hidden}, which the graph has, nothing is observed.") from None
    return demands_of(expanded, systems)


def _possible(probability: float, given: Iterable[WorldFinding]) -> float:
    if not probability > 1e-12:
        raise ImpossibleEvidence(f"The evidence {', '.join(map(str, given))} has probability zero.")
    return probability


def _refuse_sum(query: LinearQuery, num_unknown: int) -> None:
    if num_unknown > 1 or any(not term.given for term in query.terms):
        raise NotLinear(
            f"The query {query} is not linear: it adds probabilities given conditions whose own probabilities are "
            "not known. Bound the conditional probabilities one at a time."
        )


def _fraction(query: LinearQuery, parts: list[Demands], given: Iterable[WorldFinding], systems: Systems) -> Ratio:
    over, under = Demands.joined(parts), _demands(given, systems)
    if systems.confidence is not None:
        over, under = without_common([over, under])
    numerator, denominator = linear_form(over, systems), linear_form(under, systems)
    vectors = dict(numerator.vectors)
    for members, vector in denominator.vectors.items():
        vectors[members] = vectors.get(members, 0.0) + query.constant * vector
    return Ratio(LinearForm(numerator.constant + query.constant * denominator.constant, vectors), denominator)
