"""Max-product belief propagation: a best assignment from messages, and a proof of how good it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plausible.errors import InvalidArgument
from plausible.inference.optimizer import Optimizer, Optimum
from plausible.inference.problem import Problem
from plausible.inference.propagation.belief_energy import reparametrise
from plausible.inference.propagation.belief_graph import tree_weights
from plausible.inference.propagation.belief_messages import MessageEngine, MessageState, workspace

__all__ = ["MaxProduct"]

_NAME = "max-product belief propagation"


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxProduct(MessageEngine, Optimizer):
    r"""Messages that maximise where `LoopyBP` sums, then a choice of states one by one, given those chosen before.

    On a forest the assignment is a best one, ties or not. With cycles, factors count as often as random trees have
    them (see `TreeReweightedBP`), and for any messages, with beliefs b whose largest entry is one,

    .. math:: \max \log \prod φ ≤ \log c + \sum_f ρ_f \max_{v ∈ f, x_v} \log \frac{\max_{x_f ∼ x_v} b_f(x_f)}{b_v(x_v)}

    bounds all assignments (Wainwright, Jaakkola & Willsky 2005b). Where the assignment reaches the bound it is
    proved to be a best one; `.info.error` has the gap.

    Parameters
    ----------
    schedule, damping, max_iterations
        As for `LoopyBP`.
    tolerance
        Messages whose logarithms change no more than this have settled.
    reweighted
        Whether to count factors by trees. Where false, each counts once, the plain algorithm, which often finds as
        good an assignment but, with cycles, proves next to nothing: only that no factor exceeds its largest entry.
    num_trees, seed
        As for `TreeReweightedBP`.

    Examples
    --------
    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> ring = [Factor({a: 2, b: 2}, [[2, 1], [1, 2]]) for a, b in ("AB", "BC", "CA")] + [Factor({"A": 2}, [1, 3])]
    >>> best = MaxProduct().best(ring, Evidence.read({}, {}))
    >>> dict(best), best.info.exact
    ({'A': 1, 'B': 1, 'C': 1}, True)
    """

    tolerance: float = 1e-11
    max_iterations: int = 300
    reweighted: bool = True
    num_trees: int = 30
    seed: int = 0

    def __post_init__(self) -> None:
        MessageEngine.__post_init__(self)
        if self.num_trees < 1:
            raise InvalidArgument(f"num_trees is at least 1, not {self.num_trees!r}.")

    @property
    def _is_max(self) -> bool:
        return True

    @property
    def _in_logs(self) -> bool:
        return True

    def _weights(self, problem: Problem) -> NDArray[np.float64]:
        return tree_weights(problem, self.num_trees, self.seed) if self.reweighted else np.ones(len(problem.factors))

    def optimize(self, problem: Problem) -> Optimum:
        """The assignment that the messages at the end of a run make."""
        state = self._settled(problem)
        states = _decoded(state)
        info = self._info(problem, state, _NAME, self._advice)
        if info.exact:
            return Optimum(states, float(problem.log_product(states[None, :])[0]), info)
        upper = 0.0  # no factor exceeds one
        if self.reweighted or state.is_forest:
            found = reparametrise(state, is_max=True)
            upper = min(upper, found.log_constant + found.slack + found.rounding)
        return Optimum(states, upper, info)

    @property
    def _advice(self) -> str:
        damped = "" if self.damping >= 0.5 else "damping=0.5, "
        other = "reweighted=False" if self.reweighted else "reweighted=True"
        return f"The messages have not settled. Try {damped}{other} or more max_iterations."


def _decoded(state: MessageState) -> NDArray[np.int64]:
    """A state for each variable in the order of the graph, given those before it."""
    from plausible.kernels.messages import decode

    states = np.zeros(state.order.size, dtype=np.int64)
    decode(state.graph, state.outgoing.copy(), state.order, workspace(state.graph), states)
    return states
