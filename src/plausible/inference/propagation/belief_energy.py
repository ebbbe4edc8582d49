"""What messages say: beliefs about variables, and the reparametrisation that gives free energies and bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plausible.inference.propagation.belief_messages import MessageState, workspace

__all__ = ["Reparametrisation", "reparametrise", "variable_beliefs"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Reparametrisation:
    """Π φ as c Π b_f^ρ_f Π b_v^(1 - Σ ρ_f), the beliefs b of factors f and variables v normalised.

    Attributes
    ----------
    log_constant
        log c, the scale of the problem left out. With every ρ one and at a fixed point, it is minus the Bethe free
        energy (Yedidia, Freeman & Weiss 2005).
    slack
        Σ ρ_f max log (marginal of b_f / b_v): zero at a fixed point of the messages.
    rounding
        A generous measure of what rounding can have done to `log_constant`.
    """

    log_constant: float
    slack: float
    rounding: float


def variable_beliefs(state: MessageState) -> list[Floats]:
    """The normalised product of the messages into each variable."""
    if not state.order.size:
        return []
    sizes = state.graph.variables["size"]
    sums = _sums(state)
    starts = np.cumsum(sizes) - sizes
    totals = _log_totals(sums, starts, sizes, is_max=False)
    return np.split(np.exp(sums - np.repeat(totals, sizes)), starts[1:])


def reparametrise(state: MessageState, *, is_max: bool) -> Reparametrisation:
    """The constant that any messages make, and how far they are from agreement; beliefs peak at one if `is_max`.

    With L_v the sum of the weighted messages into v, Z_v = Σ exp L_v, and Z_f the sum of a factor's belief, log c is
    Σ ρ_f log Z_f + Σ (1 - Σ ρ_f) log Z_v: all messages cancel.
    """
    if not state.order.size:
        return Reparametrisation(0.0, 0.0, 0.0)
    graph, incoming = state.graph, state.incoming
    sizes = graph.variables["size"]
    widths, starts, weights = sizes[graph.edges["variable"]], graph.edges["start"], graph.factors["weight"]
    owners = graph.edges["factor"]
    sums = _sums(state)
    totals = _log_totals(sums, np.cumsum(sizes) - sizes, sizes, is_max=is_max)
    outgoing, shifts = _released(state, sums)
    answers, peaks = _answers(state, outgoing, is_max=is_max)
    marginals = answers + outgoing
    inner = _log_totals(marginals, starts, widths, is_max=is_max)
    factor_totals = (inner + peaks)[graph.factors["first"]] + np.bincount(owners, shifts, weights.size)
    shares = 1.0 - np.bincount(graph.edges["variable"], weights[owners], sizes.size)
    terms = np.concatenate([weights * factor_totals, shares * totals])

    is_live = marginals > -np.inf
    levels = np.repeat(inner + shifts - totals[graph.edges["variable"]], widths)
    excess = np.full(marginals.size, -np.inf)
    excess[is_live] = answers[is_live] - levels[is_live] - incoming[is_live]
    worst = np.maximum(np.maximum.reduceat(np.maximum.reduceat(excess, starts), graph.factors["first"]), 0.0)
    return Reparametrisation(float(terms.sum()), float(weights @ worst), 1e-13 * float(np.abs(terms).sum()))


# --- messages, all at once ---


def _places(state: MessageState) -> Ints:
    """For each number of each message its place among the states of all variables."""
    sizes, edges = state.graph.variables["size"], state.graph.edges
    widths = sizes[edges["variable"]]
    shift = (np.cumsum(sizes) - sizes)[edges["variable"]] - edges["start"]
    return np.asarray(np.repeat(shift, widths) + np.arange(state.incoming.size))


def _spread_weights(state: MessageState) -> Floats:
    edges = state.graph.edges
    widths = state.graph.variables["size"][edges["variable"]]
    return np.asarray(np.repeat(state.graph.factors["weight"][edges["factor"]], widths))


def _sums(state: MessageState) -> Floats:
    """For each state of each variable the weighted sum of the messages into it."""
    return np.asarray(np.bincount(_places(state), _spread_weights(state) * state.incoming), dtype=np.float64)


def _released(state: MessageState, sums: Floats) -> tuple[Floats, Floats]:
    """The messages from variables that belong to those into them, and their peaks, which are taken out.

    A sum that is -inf only because of the receiver is made anew without it, as far as the receiver counts once.
    """
    edges, incoming = state.graph.edges, state.incoming
    places, weights = _places(state), _spread_weights(state)
    is_zero = incoming == -np.inf
    others = np.bincount(places, np.where(is_zero, 0.0, weights * incoming))
    is_sole = is_zero & (np.bincount(places, is_zero)[places] == 1) & (weights == 1.0)
    outgoing = np.full(incoming.size, -np.inf)
    is_live = sums[places] > -np.inf
    outgoing[is_live] = sums[places[is_live]] - incoming[is_live]
    outgoing[is_sole] = others[places[is_sole]]
    peaks = np.maximum.reduceat(outgoing, edges["start"])
    return outgoing - np.repeat(peaks, state.graph.variables["size"][edges["variable"]]), peaks


def _answers(state: MessageState, outgoing: Floats, *, is_max: bool) -> tuple[Floats, Floats]:
    """What the factors answer to messages from variables, and the peaks that were taken out."""
    from plausible.kernels.messages import sweep

    space = workspace(state.graph)
    incoming, urgencies = state.incoming.copy(), state.urgencies.copy()
    sweep(state.graph, incoming, outgoing.copy(), state.order, True, 0.0, is_max, True, urgencies, -np.inf, space)
    return incoming, space.per_edge[0].copy()


def _log_totals(values: Floats, starts: Ints, widths: Ints, *, is_max: bool) -> Floats:
    """For each stretch of logarithms the largest, or the logarithm of the sum of what they stand for."""
    peaks = np.maximum.reduceat(values, starts)
    if is_max:
        return np.asarray(peaks)
    return np.asarray(peaks + np.log(np.add.reduceat(np.exp(values - np.repeat(peaks, widths)), starts)))
