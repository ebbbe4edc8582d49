"""Tree distributions: greedy splits of contexts for as long as a score gains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from plausible.base.arrays import Flags, Floats
from plausible.cpds import Split, TreeCPD
from plausible.learn.estimation.families import FamilyFit, FamilyTask
from plausible.learn.estimation.family_posterior import FamilyPosterior
from plausible.learn.log_gamma import log_rising
from plausible.variables import Variable

#: Gains below this are rounding.
_ROUNDING = 1e-9
#: Stands for pseudo-counts of zero, which would rule cases out.
_SMALLEST = 1e-9


class _Context(NamedTuple):
    """The part of a family's counts in some context: axes of parents that are not fixed yet, then the child.

    `unidentified` is the same part of a mask over all rows, without the child's axis, which leaves write to.
    """

    parents: tuple[Variable, ...]
    counts: Floats
    prior: Floats
    unidentified: Flags

    def branch(self, axis: int, state: int) -> _Context:
        """The part where one parent is in a state."""
        place: tuple[Any, ...] = (*(slice(None),) * axis, state, ...)  # the dots make a view also of a single entry
        others = self.parents[:axis] + self.parents[axis + 1 :]
        return _Context(others, self.counts[place], self.prior[place], self.unidentified[place])


@dataclass(frozen=True, slots=True)
class TreeLearner:
    """A tree CPD by greedy splitting (Friedman & Goldszmidt 1998).

    Each leaf is split on the parent that gains most, for as long as one gains: without a prior in BIC, which charges
    ½ log N for each of the (states - 1) parameters of a leaf; with one in the marginal likelihood, each leaf having the
    pseudo-counts of the rows of the table that it stands for. Ties go to the parent that is first by name. A leaf is
    the mean of its row, its mode or its frequencies, as the task says; without cases it is uniform, or as the prior
    says. Cost: a pass over the family's counts for each level and parent.

    Examples
    --------
    >>> from plausible.learn.estimation.families import read_families
    >>> rows = {"rain": [0, 0, 1, 1] * 10, "noise": [0, 1, 0, 1] * 10, "wet": [0, 0, 1, 1] * 10}
    >>> task = FamilyTask(read_families("rain -> wet <- noise", rows), "wet")
    >>> print(TreeLearner().fit(task).cpd)
    P(wet=[0, 1] | rain, noise)
    rain=0: [1, 0]
    rain=1: [0, 1]
    """

    def fit(self, task: FamilyTask) -> FamilyFit:
        """The tree of a discrete variable given discrete parents."""
        counts, prior = task.counts(), task.pseudo_counts()
        charge = 0.5 * np.log(max(counts.sum(), 1.0)) * (task.child.num_states - 1)
        unidentified = np.zeros(counts.shape[:-1], dtype=np.bool_)
        whole = _Context(task.parents, counts, prior, unidentified[...])
        tree = _grow(whole, None if prior.any() else float(charge), task)
        return FamilyFit(TreeCPD(task.child, tree, task.parents), unidentified)


def _grow(context: _Context, charge: float | None, task: FamilyTask) -> Split | list[float]:
    """The tree below a context; `charge` is the price of a leaf, or `None` for the marginal likelihood."""
    gains = [_gain(context, axis, charge) for axis in range(len(context.parents))]
    best = max(range(len(gains)), key=lambda axis: (gains[axis], _last(context.parents[axis].name)), default=None)
    if best is None or gains[best] <= _ROUNDING:
        return _leaf(context, task)
    parent = context.parents[best]
    # Keys are tuples of states, as a state may be a tuple itself.
    return Split(
        parent.name, {(state,): _grow(context.branch(best, i), charge, task) for i, state in enumerate(parent.states)}
    )


def _last(name: str) -> tuple[int, ...]:
    """A key by which names that come first are the greatest."""
    return (*(-ord(letter) for letter in name), 1)


def _gain(context: _Context, axis: int, charge: float | None) -> float:
    """How much the score rises if a context is split."""
    along = tuple(other for other in range(len(context.parents)) if other != axis)
    counts, prior = context.counts.sum(axis=along), context.prior.sum(axis=along)
    after = _scores(counts, prior, charge).sum()
    return float(after - _scores(counts.sum(axis=0)[None], prior.sum(axis=0)[None], charge).sum())


def _scores(counts: Floats, prior: Floats, charge: float | None) -> Floats:
    """The score of each leaf, a row of counts each."""
    if charge is not None:
        from scipy.special import xlogy

        return np.asarray(xlogy(counts, counts).sum(axis=1) - xlogy(counts.sum(axis=1), counts.sum(axis=1)) - charge)
    known = np.maximum(prior, _SMALLEST)
    return np.asarray(log_rising(known, counts).sum(axis=1) - log_rising(known.sum(axis=1), counts.sum(axis=1)))


def _leaf(context: _Context, task: FamilyTask) -> list[float]:
    """The row after counting, as the task estimates it; marked where nothing is known."""
    along = tuple(range(len(context.parents)))
    known = FamilyPosterior(task.child, (), context.prior.sum(axis=along), context.counts.sum(axis=along))
    row, is_open = known.filled(task.estimate, task.unseen)
    context.unidentified[...] = is_open
    return [float(chance) for chance in row]
