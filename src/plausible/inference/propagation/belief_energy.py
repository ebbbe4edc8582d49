"""What messages say: beliefs about variables, and the reparametrisation that gives free energies and bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.inference.propagation.belief_messages import MessageState, workspace
from plausible.kernels.messages import CONTRADICTION, Messages, Rule, pull_all

__all__ = ["Reparametrisation", "reparametrise", "variable_beliefs"]


@dataclass(frozen=True, slots=True)
class Reparametrisation:
    """Π φ as c Π b_f^ρ_f Π b_v^(1 - Σ ρ_f), the beliefs b of factors f and variables v normalised.

    Attributes
    ----------
    log_constant
        log c, the scale of the problem left out. With every ρ one and at a fixed point, it is minus the Bethe free
        energy (Yedidia, Freeman & Weiss 2005). It is -inf where some factor has no belief, which proves that the
        product is zero everywhere.
    slack, shortfall
        Σ ρ_f max log (marginal of b_f / b_v), and minus the same with min for max: zero at a fixed point of the
        messages. On a forest log Z is at least log c minus the shortfall.
    rounding
        A generous measure of what rounding can have done to `log_constant`.
    """

    log_constant: float
    slack: float
    shortfall: float
    rounding: float


def variable_beliefs(state: MessageState) -> list[Floats]:
    """The normalised product of the field of each variable and the messages into it."""
    if not state.order.size:
        return []
    sizes, starts = state.graph.variables["num_states"], state.graph.variables["start"]
    sums = _sums(state, _spread(state))
    totals = _log_totals(sums, starts, sizes, is_max=False)
    return np.split(np.exp(sums - np.repeat(totals, sizes)), starts[1:])


def reparametrise(state: MessageState, *, is_max: bool) -> Reparametrisation:
    """The constant that any messages make, and how far they are from agreement; beliefs peak at one if `is_max`.

    With L_v the field of v and the sum of the weighted messages into it, Z_v = Σ exp L_v, and Z_f the sum of a
    factor's belief, log c is Σ ρ_f log Z_f + Σ (1 - Σ ρ_f) log Z_v: all messages cancel.
    """
    if not state.order.size:
        return Reparametrisation(0.0, 0.0, 0.0, 0.0)
    graph, spread = state.graph, _spread(state)
    sums = _sums(state, spread)
    totals = _log_totals(sums, graph.variables["start"], graph.variables["num_states"], is_max=is_max)
    shares = 1.0 - np.bincount(graph.edges["variable"], graph.edges["weight"], totals.size)
    if not graph.edges.size:
        return Reparametrisation(float(totals.sum()), 0.0, 0.0, _rounding(totals))
    outgoing, shifts = _released(state, spread, sums)
    answers, peaks = _answers(state, outgoing, is_max=is_max)
    marginals = answers + outgoing
    starts, weights = graph.edges["start"], graph.factors["weight"]
    if (np.maximum.reduceat(marginals, starts) == -np.inf).any():
        return Reparametrisation(-np.inf, 0.0, 0.0, 0.0)
    inner = _log_totals(marginals, starts, spread.widths, is_max=is_max)
    firsts = graph.factors["first"]
    factor_totals = (inner + peaks)[graph.members[firsts]] + np.add.reduceat(shifts[graph.members], firsts)
    terms = np.concatenate([weights * factor_totals, shares * totals])

    is_live = marginals > -np.inf
    levels = np.repeat(inner + shifts - totals[graph.edges["variable"]], spread.widths)
    excess = np.where(sums[spread.places] > -np.inf, -np.inf, 0.0)
    np.subtract(answers - levels, state.messages.incoming, out=excess, where=is_live)
    highest = np.maximum.reduceat(np.maximum.reduceat(excess, starts)[graph.members], firsts)
    lowest = np.minimum.reduceat(np.minimum.reduceat(excess, starts)[graph.members], firsts)
    return Reparametrisation(
        float(terms.sum()),
        float(weights @ np.maximum(highest, 0.0)),
        float(weights @ np.maximum(-lowest, 0.0)),
        _rounding(terms),
    )


def _rounding(terms: Floats) -> float:
    """What rounding can do to a sum of logarithms and to what each of them was made of."""
    return 1e-13 * float(np.abs(terms).sum()) + 1e-15 * terms.size


# --- messages, all at once ---


class _Spread(NamedTuple):
    """For each edge the states of its variable; for each number of each message its place in fields, and its weight."""

    widths: Ints
    places: Ints
    weights: Floats


def _spread(state: MessageState) -> _Spread:
    graph = state.graph
    edges, variables = graph.edges, graph.variables
    widths = variables["num_states"][edges["variable"]]
    shift = variables["start"][edges["variable"]] - edges["start"]
    places = np.repeat(shift, widths) + np.arange(state.messages.incoming.size)
    return _Spread(widths, places, np.repeat(edges["weight"], widths))


def _sums(state: MessageState, spread: _Spread) -> Floats:
    """For each state of each variable its field and the weighted sum of the messages into it."""
    messages = spread.weights * state.messages.incoming
    return np.asarray(state.graph.fields + np.bincount(spread.places, messages, state.graph.fields.size))


def _released(state: MessageState, spread: _Spread, sums: Floats) -> tuple[Floats, Floats]:
    """The messages from variables that belong to those into them, and their peaks, which are taken out.

    A sum that is -inf only because of the receiver is made anew without it, as far as the receiver counts once.
    """
    fields, incoming, places = state.graph.fields, state.messages.incoming, spread.places
    outgoing = np.full(incoming.size, -np.inf)
    np.subtract(sums[places], incoming, out=outgoing, where=sums[places] > -np.inf)
    is_zero = incoming == -np.inf
    if is_zero.any():
        others = fields + np.bincount(places, np.where(is_zero, 0.0, spread.weights * incoming), fields.size)
        is_sole = is_zero & (np.bincount(places, is_zero)[places] == 1) & (spread.weights == 1.0)
        outgoing[is_sole] = others[places[is_sole]]
    peaks = np.maximum.reduceat(outgoing, state.graph.edges["start"])
    return outgoing - np.repeat(peaks, spread.widths), peaks


def _answers(state: MessageState, outgoing: Floats, *, is_max: bool) -> tuple[Floats, Floats]:
    """What the factors answer to messages from variables, and the peaks that were taken out.

    All is -inf where some factor has no answer.
    """

    space = workspace(state.graph)
    messages = Messages(np.zeros_like(outgoing), outgoing, outgoing if is_max else np.exp(outgoing))
    change = pull_all(state.graph, messages, Rule(0.0, is_max, True), space)
    if change == CONTRADICTION:
        return np.full(outgoing.size, -np.inf), np.full(space.peaks.size, -np.inf)
    return messages.incoming, space.peaks


def _log_totals(values: Floats, starts: Ints, widths: Ints, *, is_max: bool) -> Floats:
    """For each stretch of logarithms the largest, or the logarithm of the sum of what they stand for."""
    peaks = np.maximum.reduceat(values, starts)
    if is_max:
        return np.asarray(peaks)
    return np.asarray(peaks + np.log(np.add.reduceat(np.exp(values - np.repeat(peaks, widths)), starts)))
