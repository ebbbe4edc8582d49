"""One family to learn, and what comes of it: what learners of all kinds of distributions share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from plausible.base.arrays import Flags, Floats
from plausible.cpds import CPD
from plausible.data.statistics import FamilyRows
from plausible.learn.estimation.families import Families
from plausible.learn.estimation.family_posterior import Estimate, Unseen
from plausible.learn.estimation.priors import PriorLike, pseudo_counts
from plausible.variables import Variable

__all__ = ["CPDLearner", "FamilyFit", "FamilyTask"]


@dataclass(frozen=True, slots=True, eq=False)
class FamilyTask:
    """A variable whose distribution is to be learned.

    Attributes
    ----------
    families
        The graph and the data.
    name
        The variable.
    prior
        What is believed about tables.
    start
        Where iterative learners set out.
    estimate
        Which numbers stand for a posterior, for those that have one: trees.
    unseen
        What becomes of their rows without cases.
    """

    families: Families
    name: str
    prior: PriorLike = None
    start: CPD | None = None
    estimate: Estimate = "mean"
    unseen: Unseen = "uniform"

    @property
    def child(self) -> Variable:
        """The variable itself."""
        return self.families.variables[self.name]

    @property
    def parents(self) -> tuple[Variable, ...]:
        """Its parents, in order."""
        return self.families.parents_of(self.name)

    def rows(self) -> FamilyRows:
        """The cases that say something about it."""
        return self.families.rows(self.name)

    def counts(self) -> Floats:
        """How often each joint state of its parents (axes first) and of it occurs."""
        return self.families.counts_of([self.name])[self.name]

    def pseudo_counts(self) -> Floats:
        """What the prior is worth in each cell of its table."""
        return pseudo_counts(self.prior, self.child, self.parents)


class FamilyFit(NamedTuple):
    """A distribution, and where the data do not tell all of its numbers.

    `unidentified` has an axis for each discrete parent, or, for noisy-or and logistic distributions, an entry for each
    parent that never varies; it is true where numbers are open.
    """

    cpd: CPD
    unidentified: Flags


@runtime_checkable
class CPDLearner(Protocol):
    """What learns one kind of distribution."""

    def fit(self, task: FamilyTask) -> FamilyFit:
        """The distribution of a variable given its parents."""
