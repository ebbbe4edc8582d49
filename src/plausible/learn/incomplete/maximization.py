"""The M-step: parameters from expected counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.cpds import CPD, TableCPD, TreeCPD
from plausible.errors import InvalidArgument
from plausible.learn.estimation.families import Families
from plausible.learn.estimation.family_posterior import Estimate
from plausible.learn.estimation.knowledge import ParameterKnowledge
from plausible.learn.estimation.priors import PriorLike, pseudo_counts
from plausible.learn.estimation.task import CPDLearner, FamilyFit, FamilyTask
from plausible.learn.estimation.tree import TreeLearner
from plausible.learn.incomplete.expectations import FamilyCounts
from plausible.learn.incomplete.gaussian_maximization import MomentRegression
from plausible.models import BayesianNetwork
from plausible.variables import Variable

__all__ = ["LeafLearner", "Maximization", "Maximized", "family_log_likelihood", "given_trees"]

Floats: TypeAlias = NDArray[np.float64]
Masks: TypeAlias = Mapping[str, NDArray[np.bool_]]


class Maximized(NamedTuple):
    """A network, and the rows of tables that kept their previous numbers: nothing was expected of them."""

    network: BayesianNetwork
    kept_rows: Masks


@dataclass(frozen=True, slots=True, eq=False)
class Maximization:
    """How parameters are got from expected counts; `network` is one M-step.

    Tables are θ_{x|u} ∝ M̄[x, u] + e, where the exponents e of the prior Π θ^e are 0 for maximum likelihood, α - 1 for
    the mode of a Dirichlet(α) ("map"), and α for its mean, which is the mode in the coordinates log θ. Negative sums
    (α < 1) are taken as zero. A row with nothing expected of it keeps its numbers. Gaussians are regressions on
    expected second moments, which `counts` has under their names.

    Attributes
    ----------
    variables, parents
        The graph: name -> variable; name -> the names of its parents.
    exponents
        Name -> e of its table, for tables that are learned; tied ones under the name of the first.
    learners
        Name -> what learns it, where it is no table; a `MomentRegression` where it is continuous.
    knowledge
        Fixed CPDs and tied tables.
    prior
        For learners of other kinds.
    """

    variables: Mapping[str, Variable]
    parents: Mapping[str, tuple[str, ...]]
    exponents: Mapping[str, Floats]
    learners: Mapping[str, CPDLearner | MomentRegression]
    knowledge: ParameterKnowledge
    prior: PriorLike

    @classmethod
    def of(
        cls,
        families: Families,
        prior: PriorLike,
        estimate: Estimate,
        learners: Mapping[str, CPDLearner | MomentRegression],
        knowledge: ParameterKnowledge,
    ) -> Maximization:
        """From the graph, what is believed about it, and which estimate is wanted."""
        shift = {"mle": None, "mean": 0.0, "map": -1.0}
        if estimate not in shift:
            raise InvalidArgument(f"estimate= is 'mean', 'map' or 'mle', not {estimate!r}.")
        fixed = {name: cpd.bind(families.variables) for name, cpd in knowledge.fixed_cpds.items()}
        exponents = {}
        for name in families.variables:
            if name in fixed or name in learners or name in knowledge.owners:
                continue
            alpha = pseudo_counts(prior, families.variables[name], families.parents_of(name))
            move = shift[estimate]
            exponents[name] = np.zeros(alpha.shape) if move is None or not alpha.any() else alpha + move
        bound = replace(knowledge, fixed=tuple(fixed.values()))
        return cls(families.variables, families.parents, exponents, learners, bound, prior)

    def network(self, counts: Mapping[str, Floats], before: BayesianNetwork) -> Maximized:
        """The network that maximises the expected log-likelihood and the log-prior, or at least does not lower it."""
        cpds: dict[str, CPD] = dict(self.knowledge.fixed_cpds)
        kept = {}
        for owner, exponents in self.exponents.items():
            sharing = [owner, *(name for name, other in self.knowledge.owners.items() if other == owner)]
            summed = sum((counts[name] for name in sharing[1:]), counts[owner])
            table, is_empty = _rows(summed + exponents, before.cpd(owner))
            for name in sharing:
                parents = tuple(self.variables[parent] for parent in self.parents[name])
                cpds[name] = TableCPD.from_rows(self.variables[name], parents, table)[0]
                if is_empty.any():
                    kept[name] = is_empty
        for name, learner in self.learners.items():
            if isinstance(learner, MomentRegression):
                cpds[name], is_empty = learner.fit(counts[name], before.cpd(name))
                kept |= {name: is_empty} if is_empty.any() else {}
            else:
                cpds[name] = self.learned(name, learner, counts, before.cpd(name))
        return Maximized(BayesianNetwork([cpds[name] for name in self.variables]), kept)

    def learned(self, name: str, learner: CPDLearner, counts: Mapping[str, Floats], before: CPD) -> CPD:
        """What a learner makes of the counts, if that is as likely as before; a tree at least gets new leaves."""
        statistics = FamilyCounts(self.variables, self.parents, counts, float(counts[name].sum()))
        families = Families(self.variables, self.parents, statistics)
        learned = learner.fit(FamilyTask(families, name, self.prior, before)).cpd
        if learned.kind != before.kind:
            return learned
        if family_log_likelihood(learned, counts[name]) >= family_log_likelihood(before, counts[name]):
            return learned
        return _with_leaves(before, counts[name]) if isinstance(before, TreeCPD) else before

    def log_prior(self, network: BayesianNetwork) -> float:
        """Σ e log θ, without its constant; entries that a negative exponent has made zero do not count."""
        regressions = [(n, learner) for n, learner in self.learners.items() if isinstance(learner, MomentRegression)]
        total = sum((learner.log_prior(network.cpd(name)) for name, learner in regressions), 0.0)
        for name, exponents in self.exponents.items():
            if exponents.any():
                table = network.cpd(name).to_factor().values.reshape(exponents.shape)
                live = (exponents > 0) | ((exponents < 0) & (table > 0))
                with np.errstate(divide="ignore"):
                    total += float(exponents[live] @ np.log(table[live]))
        return total


@dataclass(frozen=True, slots=True)
class LeafLearner:
    """A tree whose splits are given: θ_{x|leaf} = M̄[x, leaf] / M̄[leaf]; leaves without cases keep their row."""

    tree: TreeCPD

    def fit(self, task: FamilyTask) -> FamilyFit:
        """The same tree with other leaves."""
        counts = task.families.counts(task.name)
        before = task.start if isinstance(task.start, TreeCPD) else self.tree
        return FamilyFit(_with_leaves(before, counts + task.pseudo_counts()), np.zeros(counts.shape[:-1], np.bool_))


def given_trees(learners: Mapping[str, CPDLearner], start: Mapping[str, CPD]) -> dict[str, CPDLearner]:
    """The learners, those of trees that are given at the start replaced by learners of their leaves."""
    return {
        name: LeafLearner(cpd)
        if isinstance(learner, TreeLearner) and isinstance(cpd := start.get(name), TreeCPD)
        else learner
        for name, learner in learners.items()
    }


def family_log_likelihood(cpd: CPD, counts: Floats) -> float:
    """Σ M̄[x, u] log P(x | u) of one family."""
    table = cpd.to_factor().values.reshape(counts.shape)
    live = counts > 0
    with np.errstate(divide="ignore"):
        return float(counts[live] @ np.log(table[live]))


def _rows(weights: Floats, before: CPD) -> tuple[Floats, NDArray[np.bool_]]:
    """Rows over their sums, those before where nothing is left of them; and which these are."""
    weights = np.maximum(weights, 0.0)
    totals = weights.sum(axis=-1, keepdims=True)
    if totals.all():
        return weights / totals, np.zeros(weights.shape[:-1], dtype=np.bool_)
    table = np.array(before.to_factor().values.reshape(weights.shape))
    np.divide(weights, totals, out=table, where=totals > 0)
    return table, np.asarray(totals[..., 0] <= 0)


def _with_leaves(tree: TreeCPD, counts: Floats) -> TreeCPD:
    """The tree with the most likely leaves."""
    places = np.indices(counts.shape[:-1])
    columns = {parent.name: np.asarray(axis) for parent, axis in zip(tree.parents, places, strict=True)}
    leaves = np.broadcast_to(tree.context_index(columns), counts.shape[:-1]).ravel()
    rows = np.zeros(tree.rows.shape)
    np.add.at(rows, leaves, counts.reshape(-1, counts.shape[-1]))
    totals = rows.sum(axis=1, keepdims=True)
    rows = np.where(totals > 0, rows / np.where(totals > 0, totals, 1.0), tree.rows)
    return TreeCPD._of(tree.variable, tree.parents, tree._nodes, rows)
