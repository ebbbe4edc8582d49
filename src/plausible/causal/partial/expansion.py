"""Events of several worlds as sums, over what the variables do, of products with one factor for each district."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from plausible.base.arrays import Floats, Positions
from plausible.causal.counterfactuals.potential import Copies, Copy, CopyValue, state_positions
from plausible.causal.functional.responses import written_product
from plausible.causal.partial.district import Observed
from plausible.causal.partial.linear_query import WorldFinding
from plausible.errors import TooLarge
from plausible.factors import Factor
from plausible.graphs.causal_graph import CausalGraph
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

    def places(self, variable: str) -> list[int]:
        """The copies of a variable."""
        return [place for place, copy in enumerate(self.copies) if copy.variable == variable]


#: Variables -> P(x | pa) of those of which one copy needs no more than that, a row for each assignment.
OwnConditionals: TypeAlias = Callable[[Sequence[str]], Mapping[str, Floats]]


def expand(graph: CausalGraph, findings: Iterable[WorldFinding], observed: Observed, own: OwnConditionals) -> Expansion:
    """The event that all findings hold, written out over the states of the variables that it depends on.

    This is the counterfactual factorisation (Shpitser & Pearl 2007): each variable of each world is the same function
    of its parents there, so that a term demands of each response type some values at some assignments. Variables
    without latent causes that are the same in all worlds are eliminated by sum-product.
    """
    copies = Copies(graph, observed.variable)
    allowed: dict[int, set[int]] = {}
    is_possible = True
    for finding in findings:
        value = copies.value(finding.variable)
        states = state_positions(observed.variable(finding.variable.variable), finding.value)
        if value.copy < 0:
            is_possible &= value.code in states
        else:
            allowed[value.copy] = allowed.get(value.copy, states) & states
    variables = [observed.variable(copy.variable) for copy in copies.listed]
    choices = [sorted(allowed.get(place, range(v.num_states))) for place, v in enumerate(variables)]
    if not is_possible or not all(choices):
        nothing = np.zeros((0, 0), dtype=np.intp)
        return Expansion((), nothing, nothing, np.zeros(0))
    return _listed(_Event(graph, observed, copies.listed, choices), own)


class _Event(NamedTuple):
    """The copies that an event depends on, and the states that it leaves them."""

    graph: CausalGraph
    observed: Observed
    copies: tuple[Copy, ...]
    choices: Sequence[Sequence[int]]

    def sizes(self, place: int) -> list[int]:
        """The numbers of states of a copy's parents, and of itself."""
        variable = self.copies[place].variable
        return [self.observed.variable(name).num_states for name in (*self.graph.parents(variable), variable)]


def _listed(event: _Event, own: OwnConditionals) -> Expansion:
    """The terms: a state for each copy whose type matters and for the causes of these."""
    uses = Counter(copy.variable for copy in event.copies)
    tables = own([variable for variable, times in uses.items() if times == 1])
    plain = {place: tables[copy.variable] for place, copy in enumerate(event.copies) if copy.variable in tables}
    open_ones = [place for place in range(len(event.copies)) if place not in plain]
    causes = {cause.copy for place in open_ones for cause in event.copies[place].causes if cause.copy >= 0}
    kept = sorted(causes.union(open_ones))
    sizes = [len(event.choices[place]) for place in kept]
    if math.prod(sizes) > MAX_TERMS:
        raise TooLarge(
            f"The event depends on the response types of variables that have, with their causes, "
            f"{written_product(sizes)} joint states in its worlds; at most {MAX_TERMS} can be listed. Give evidence "
            "about some of them, or leave variables out with latent_projection(graph, observed=...)."
        )
    # All combinations: terms × choices, the last choice changing fastest.
    local = np.indices(sizes, dtype=np.intp).reshape(len(sizes), math.prod(sizes)).T
    codes = {place: np.array(event.choices[place])[local[:, column]] for column, place in enumerate(kept)}
    rows = np.zeros((len(local), len(open_ones)), dtype=np.intp)
    for column, place in enumerate(open_ones):
        for cause, size in zip(event.copies[place].causes, event.sizes(place)[:-1], strict=True):
            state = cause.code if cause.copy < 0 else codes[cause.copy]
            rows[:, column] = rows[:, column] * size + state
    states = np.stack([codes[place] for place in open_ones], axis=1) if open_ones else np.zeros_like(rows)
    weights = _weights(event, plain, dict(zip(kept, local.T, strict=True)), len(local))
    return Expansion(tuple(event.copies[place] for place in open_ones), rows, states, weights)


def _weights(
    event: _Event,
    plain: Mapping[int, Floats],
    places: Mapping[int, Positions],
    num_terms: int,
) -> Floats:
    """For each term the sum, over the states of plain copies that it leaves open, of their conditionals' product."""
    if not plain:
        return np.ones(num_terms)
    factors = [_conditional_factor(event, place, table) for place, table in plain.items()]
    present = {name for factor in factors for name in factor.names}
    targets = [place for place in places if str(place) in present]
    found = sum_product(factors, [str(place) for place in targets])
    values = np.asarray(found.factor.values) * math.exp(found.log_scale)
    return np.array(np.broadcast_to(values[tuple(places[place] for place in targets)], num_terms))


def _conditional_factor(event: _Event, place: int, table: Floats) -> Factor:
    """P(x | pa) of a plain copy, over the states that the event leaves."""
    axes = [*event.copies[place].causes, CopyValue(place, 0)]
    choices = [[axis.code] if axis.copy < 0 else event.choices[axis.copy] for axis in axes]
    values = table.reshape(event.sizes(place))[np.ix_(*choices)]
    scope = [Variable(str(axis.copy), len(event.choices[axis.copy])) for axis in axes if axis.copy >= 0]
    return Factor(scope, values.reshape([variable.num_states for variable in scope]))
