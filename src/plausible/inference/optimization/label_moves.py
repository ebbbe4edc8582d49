"""Several labels by repeated cuts: α-expansion and α-β-swap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.errors import NotSupported
from plausible.factors.alignment import scope_text
from plausible.inference.optimization.label_sweeps import LabelMoves, LabelState, best_choice, check_tables
from plausible.inference.optimization.pairwise_energy import ROUNDING, PairwiseEnergy
from plausible.inference.problem import Problem

__all__ = ["AlphaBetaSwap", "AlphaExpansion", "LabelState"]


@dataclass(frozen=True, slots=True)
class AlphaExpansion(LabelMoves):
    """Improve labels by α-expansions: any set of variables may switch to α at once (Boykov, Veksler & Zabih 2001).

    With energies E = -log φ, each pair must satisfy E(a,b) + E(α,α) ≤ E(a,α) + E(α,b) for all labels: metrics do, such
    as Potts' [a ≠ b] and truncated distances min(|a - b|, k); truncated squares don't. For a metric the energy is at
    most 2c times the least one, c being the largest ratio of two energies of different labels of a pair; the bound
    in `.info.error` follows from that. With two labels the condition is that of `GraphCut`, and what no expansion
    improves is best: E(x ∧ x*) + E(x ∨ x*) ≤ E(x) + E(x*), and both of these are expansions of x. One cut for each
    label and sweep; a few sweeps are enough in practice.

    Parameters
    ----------
    max_steps
        The most rounds over all labels.
    time_limit
        Stop after this many seconds, once the current cut is done, with the best labels so far; `None` for no limit.

    Examples
    --------
    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> potts = np.exp(np.eye(3))
    >>> factors = [Factor({"A": 3, "B": 3}, potts), Factor({"B": 3, "C": 3}, potts), Factor({"A": 3}, [1, 1, 9])]
    >>> AlphaExpansion().best(factors, Evidence.read({}, {}))
    Assignment(A=2, B=2, C=2)
    """

    max_steps: int = 50
    time_limit: float | None = None

    def _title(self) -> str:
        return "alpha-expansion"

    def _check(self, problem: Problem, energy: PairwiseEnergy) -> None:
        for label in range(energy.num_labels):
            found = check_tables(energy, partial(_detour, label))
            if found is not None:
                factor, (a, b) = found
                raise NotSupported(
                    f"The factor over {scope_text(problem.factors[factor].scope)} is no metric: with E = -log φ and "
                    f"states by position, E({a},{b}) + E({label},{label}) exceeds E({a},{label}) + E({label},{b}), so "
                    "no cut finds the best expansion. AlphaBetaSwap() asks less; DualDecomposition() takes any factors."
                )

    def _moves(self, num_labels: int) -> Iterator[tuple[int, ...]]:
        return ((label,) for label in range(num_labels))

    def _moved(self, energy: PairwiseEnergy, labels: Ints, move: tuple[int, ...]) -> Ints:
        """The best labelling where each variable keeps its label or takes α."""
        choices = np.stack([labels, np.full_like(labels, move[0])], axis=1)
        return best_choice(energy, labels, np.arange(len(labels)), choices, np.arange(len(energy.pairs)))

    def _proved(self, energy: PairwiseEnergy, state: LabelState) -> float:
        """E(x) ≤ U(x*) + 2c P(x*) at a local minimum x of a metric, split into single labels U and pairs P.

        With two labels x is a best one.
        """
        if energy.num_labels == 2 and state.converged and np.isfinite(state.energy):
            return state.energy - 2 * state.residual
        ratio = _metric_ratio(energy.tables)
        if not state.converged or not np.isfinite(state.energy) or not np.isfinite(ratio):
            return -np.inf
        least_unary = float(energy.unary.min(axis=1).sum())
        return least_unary + (state.energy - state.residual - least_unary) / (2 * ratio)


@dataclass(frozen=True, slots=True)
class AlphaBetaSwap(LabelMoves):
    """Improve labels by α-β-swaps: variables labelled α or β may exchange them (Boykov, Veksler & Zabih 2001).

    With energies E = -log φ, each pair must satisfy E(α,α) + E(β,β) ≤ E(α,β) + E(β,α): semi-metrics do, such as
    truncated squares min((a - b)², k), which need no triangle inequality. No guarantee on the energy, except that with
    two labels it is a graph cut, hence exact. One cut for each pair of labels and sweep.

    Parameters
    ----------
    max_steps
        The most rounds over all pairs of labels.
    time_limit
        Stop after this many seconds, once the current cut is done, with the best labels so far; `None` for no limit.

    Examples
    --------
    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> smooth = np.exp(-np.minimum(np.subtract.outer(range(3), range(3)) ** 2, 3.0))
    >>> factors = [Factor({"A": 3, "B": 3}, smooth), Factor({"A": 3}, [9, 1, 1]), Factor({"B": 3}, [1, 1, 2])]
    >>> AlphaBetaSwap().best(factors, Evidence.read({}, {}))
    Assignment(A=0, B=0)
    """

    max_steps: int = 50
    time_limit: float | None = None

    def _title(self) -> str:
        return "alpha-beta-swap"

    def _check(self, problem: Problem, energy: PairwiseEnergy) -> None:
        found = check_tables(energy, _attraction)
        if found is not None:
            factor, (a, b) = found
            raise NotSupported(
                f"The factor over {scope_text(problem.factors[factor].scope)} is no semi-metric: with E = -log φ and "
                f"states by position, E({a},{a}) + E({b},{b}) exceeds E({a},{b}) + E({b},{a}), so no cut finds the "
                "best swap. DualDecomposition() and LinearRelaxation() take any factors."
            )

    def _moves(self, num_labels: int) -> Iterator[tuple[int, ...]]:
        return ((alpha, beta) for alpha in range(num_labels) for beta in range(alpha + 1, num_labels))

    def _moved(self, energy: PairwiseEnergy, labels: Ints, move: tuple[int, ...]) -> Ints:
        """The best labelling where each variable at one of the two labels takes either."""
        is_moving = np.isin(labels, move)
        moving = np.flatnonzero(is_moving)
        choices = np.tile(np.array(move, dtype=np.int64), (len(moving), 1))
        return best_choice(energy, labels, moving, choices, np.flatnonzero(is_moving[energy.pairs].any(axis=1)))

    def _proved(self, energy: PairwiseEnergy, state: LabelState) -> float:
        is_best = energy.num_labels == 2 and state.converged and np.isfinite(state.energy)
        return state.energy if is_best else -np.inf


def _detour(label: int, tables: Floats) -> Floats:
    """By how much E(a,b) + E(α,α) exceeds E(a,α) + E(α,b): inf on both sides is no excess."""
    through = tables[:, :, label, None] + tables[:, None, label, :]
    alike = tables + tables[:, label, label, None, None]
    return np.where(np.isinf(through), -np.inf, alike - np.where(np.isinf(through), 0.0, through))


def _attraction(tables: Floats) -> Floats:
    """By how much E(a,a) + E(b,b) exceeds E(a,b) + E(b,a): inf on both sides is no excess."""
    own = np.diagonal(tables, axis1=1, axis2=2)
    across = tables + tables.transpose(0, 2, 1)
    alike = own[:, :, None] + own[:, None, :]
    return np.where(np.isinf(across), -np.inf, alike - np.where(np.isinf(across), 0.0, across))


def _metric_ratio(pairwise: Floats) -> float:
    """c, the largest ratio of two energies of different labels of one pair; inf if no metric is seen."""
    num_labels = pairwise.shape[1]
    if len(pairwise) == 0 or num_labels < 2:
        return 1.0
    different = pairwise[:, ~np.eye(num_labels, dtype=np.bool_)]
    own = np.diagonal(pairwise, axis1=1, axis2=2)
    if np.abs(own).max() > ROUNDING or different.min() <= 0 or different.max() == np.inf:
        return np.inf
    return float((different.max(axis=1) / different.min(axis=1)).max())
