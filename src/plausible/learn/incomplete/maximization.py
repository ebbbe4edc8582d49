"""The M-step: parameters from expected counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import numpy as np

from plausible.base import Flags, Floats, logarithms
from plausible.cpds import CPD, TableCPD, TreeCPD
from plausible.errors import InvalidArgument, counted
from plausible.graphs import DAG
from plausible.learn.estimation.families import CPDLearner, Families, FamilyFit, FamilyTask, ParameterKnowledge
from plausible.learn.estimation.learners import TreeLearner
from plausible.learn.estimation.priors import Estimate, PriorLike, pseudo_counts
from plausible.learn.incomplete.expectations import FamilyCounts
from plausible.learn.incomplete.gaussian_maximization import MomentRegression
from plausible.models import BayesianNetwork
from plausible.variables import Variable

#: Name -> rows of its table.
Masks: TypeAlias = Mapping[str, Flags]

#: What is added to pseudo-counts α to make exponents of the prior; `None` where there is no prior.
_SHIFTS: Mapping[Estimate, float | None] = MappingProxyType({"mle": None, "mean": 0.0, "map": -1.0})


class Maximized(NamedTuple):
    """A network, and the rows of tables that kept their previous numbers: nothing was expected of them."""

    network: BayesianNetwork
    kept_rows: Masks


@dataclass(frozen=True, slots=True, eq=False)
class Maximization:
    """How parameters are got from expected counts; `network` is one M-step.

    Tables are θ_{x|u} ∝ M̄[x, u] + e, where the exponents e of the prior Π θ^e are 0 for maximum likelihood, α - 1 for
    the mode of a Dirichlet(α) ("map"), and α for its mean, which is the mode in the coordinates log θ. A leaf of a tree
    has the α of all rows that it stands for. A mode wants α >= 1, else the density has no bound where θ is zero. A row
    with nothing expected of it keeps its numbers. Gaussians are regressions on expected second moments, which `counts`
    has under their names.
    """

    graph: DAG  # over the variables, in their order
    variables: Mapping[str, Variable]
    parents: Mapping[str, tuple[str, ...]]
    exponents: Mapping[str, Floats]  # e of the tables that are learned; tied ones under the name of the first
    learners: Mapping[str, CPDLearner | MomentRegression]  # of those that are no tables
    knowledge: ParameterKnowledge  # fixed CPDs and tied tables
    prior: PriorLike  # for trees
    estimate: Estimate  # which exponents their leaves have

    @classmethod
    def of(
        cls,
        families: Families,
        prior: PriorLike,
        estimate: Estimate,
        learners: Mapping[str, CPDLearner | MomentRegression],
        knowledge: ParameterKnowledge,
        graph: DAG | None = None,
    ) -> Maximization:
        """From the families, what is believed about them, and which estimate is wanted; their graph, where there."""
        if estimate not in _SHIFTS:
            raise InvalidArgument(f"estimate= is 'mean', 'map' or 'mle', not {estimate!r}.")
        fixed = {name: cpd.bind(families.variables) for name, cpd in knowledge.fixed_cpds.items()}
        exponents: dict[str, Floats] = {}
        for name, variable in families.variables.items():
            if name in fixed or name in knowledge.owners or not isinstance(learners.get(name), _WITH_PRIOR):
                continue
            alpha, learner = pseudo_counts(prior, variable, families.parents_of(name)), learners.get(name)
            leaves = _leaf_sums(learner.tree, alpha) if isinstance(learner, LeafLearner) else alpha
            shifted = prior_exponents(name, leaves, estimate)  # which refuses what has no mode
            exponents |= {name: shifted} if learner is None else {}
        bound = replace(knowledge, fixed=tuple(fixed.values()))
        edges = [(parent, name) for name, parents in families.parents.items() for parent in parents]
        whole = DAG(edges, nodes=families.variables) if graph is None else graph
        return cls(whole, families.variables, families.parents, exponents, learners, bound, prior, estimate)

    def __repr__(self) -> str:
        return f"<Maximization: {counted(len(self.variables), 'variable')}, prior {self.prior!r}, {self.estimate}>"

    def sharing(self, owner: str) -> list[str]:
        """The variables that have the table of an owner: itself, and those tied to it."""
        return [owner, *(name for name, other in self.knowledge.owners.items() if other == owner)]

    def free_tables(self, network: BayesianNetwork) -> dict[str, Floats]:
        """Name -> table, with axes (parents..., child), of those that are neither fixed nor tied to another."""
        shapes = {name: exponents.shape for name, exponents in self.exponents.items()}
        return {name: network.cpds[name].to_factor().values.reshape(shape) for name, shape in shapes.items()}

    def with_tables(self, network: BayesianNetwork, tables: Mapping[str, Floats]) -> BayesianNetwork:
        """The network with other tables, and those tied to them."""
        cpds: dict[str, CPD] = dict(network.cpds)
        for owner, table in tables.items():
            cpds |= self._tables(self.sharing(owner), table)
        return self.over(cpds)

    def over(self, cpds: Mapping[str, CPD]) -> BayesianNetwork:
        """The network of distributions, on the graph that is known; a learner may have left parents out of it."""
        ordered = {name: cpds[name] for name in self.variables}
        if all(cpd.parent_names == self.parents[name] for name, cpd in ordered.items()):
            return BayesianNetwork._over(self.graph, ordered)
        return BayesianNetwork(ordered.values())

    def perturbed(self, network: BayesianNetwork, noise: float, generator: np.random.Generator) -> BayesianNetwork:
        """The network with the entries of free tables multiplied by exp(noise · z), z normal, and rows normalised."""
        tables = {}
        for name, table in self.free_tables(network).items():
            weights = table * np.exp(noise * generator.standard_normal(table.shape))
            tables[name] = weights / weights.sum(axis=-1, keepdims=True)
        return self.with_tables(network, tables)

    def _tables(self, names: Sequence[str], table: Floats) -> dict[str, CPD]:
        """Name -> distribution of all that share a table with axes (parents..., child), whose rows sum to one."""
        families = {name: tuple(self.variables[p] for p in self.parents[name]) for name in names}
        return {name: TableCPD._of(self.variables[name], own, table) for name, own in families.items()}

    def network(self, counts: Mapping[str, Floats], before: BayesianNetwork) -> Maximized:
        """The network that maximises the expected log-likelihood and the log-prior, or at least does not lower it."""
        cpds: dict[str, CPD] = dict(self.knowledge.fixed_cpds)
        kept: dict[str, Flags] = {}
        for owner, exponents in self.exponents.items():
            shared = self.sharing(owner)
            summed = sum((counts[name] for name in shared[1:]), counts[owner])
            weights = summed + exponents
            totals = weights.sum(axis=-1, keepdims=True)
            is_empty = totals[..., 0] <= 0
            if is_empty.any():  # rows of which nothing is expected stay as before
                table = np.array(before.cpds[owner].to_factor().values.reshape(weights.shape))
                np.divide(weights, totals, out=table, where=totals > 0)
            else:
                table = weights / totals
            cpds |= self._tables(shared, table)
            kept |= dict.fromkeys(shared, is_empty) if is_empty.any() else {}
        for name, learner in self.learners.items():
            if isinstance(learner, MomentRegression):
                cpds[name], is_empty = learner.fit(counts[name], before.cpds[name])
                kept |= {name: is_empty} if is_empty.any() else {}
            else:
                cpds[name] = self.learned(name, learner, counts, before.cpds[name])
        return Maximized(self.over(cpds), kept)

    def learned(self, name: str, learner: CPDLearner, counts: Mapping[str, Floats], before: CPD) -> CPD:
        """What a learner makes of the counts, if that is as probable as before; a tree at least gets new leaves."""
        statistics = FamilyCounts(self.variables, self.parents, counts, float(counts[name].sum()))
        families = Families(self.variables, self.parents, statistics)
        learned = learner.fit(FamilyTask(families, name, self.prior, before, self.estimate)).cpd.bind(self.variables)
        if learned.kind != before.kind:
            return learned
        new, old = (family_log_likelihood(cpd, counts[name]) + self._leaf_prior(name, cpd) for cpd in (learned, before))
        if new >= old or not isinstance(before, TreeCPD):
            return learned if new >= old else before
        return _with_leaves(before, _leaf_sums(before, counts[name]) + self._leaf_exponents(name, before))

    def log_prior(self, network: BayesianNetwork) -> float:
        """Σ e log θ of tables and of the leaves of trees, and that of Gaussians, without its constant."""
        total = 0.0
        for name, learner in self.learners.items():
            if isinstance(learner, MomentRegression):
                total += learner.log_prior(network.cpds[name])
            else:
                total += self._leaf_prior(name, network.cpds[name])
        for name, exponents in self.exponents.items():
            if exponents.any():
                total += family_log_likelihood(network.cpds[name], exponents)
        return total

    def _leaf_prior(self, name: str, cpd: CPD) -> float:
        """Σ e log θ of the leaves of a tree; nothing for what is learned without a prior."""
        if not isinstance(self.learners[name], _WITH_PRIOR):
            return 0.0
        rows = cpd.rows if isinstance(cpd, TreeCPD) else cpd.to_factor().values.reshape(-1, cpd.variable.num_states)
        return _expected_log(rows, self._leaf_exponents(name, cpd))

    def _leaf_exponents(self, name: str, cpd: CPD) -> Floats:
        """e of each leaf: shape (leaves, states of the child)."""
        parents = [self.variables[parent] for parent in self.parents[name]]
        alpha = pseudo_counts(self.prior, self.variables[name], parents)
        return prior_exponents(name, _leaf_sums(cpd, alpha), self.estimate)


@dataclass(frozen=True, slots=True)
class LeafLearner:
    """A tree whose splits are given: each leaf is learned as the row of a table; those without cases keep theirs."""

    tree: TreeCPD

    def fit(self, task: FamilyTask) -> FamilyFit:
        """The same tree with other leaves."""
        counts = task.counts()
        before = task.start if isinstance(task.start, TreeCPD) else self.tree
        exponents = prior_exponents(task.name, _leaf_sums(before, task.pseudo_counts()), task.estimate)
        tree = _with_leaves(before, _leaf_sums(before, counts) + exponents)
        return FamilyFit(tree, np.zeros(counts.shape[:-1], np.bool_))


#: What learns a table, which is nothing of its own, or a tree: these have the prior.
_WITH_PRIOR = (type(None), TreeLearner, LeafLearner)


def given_trees(learners: Mapping[str, CPDLearner], start: Mapping[str, CPD]) -> dict[str, CPDLearner]:
    """The learners, those of trees that are given at the start replaced by learners of their leaves."""
    trees = {name: cpd for name, cpd in start.items() if isinstance(cpd, TreeCPD)}
    leaves = {n: LeafLearner(trees[n]) for n, each in learners.items() if n in trees and isinstance(each, TreeLearner)}
    return {**learners, **leaves}


def family_log_likelihood(cpd: CPD, counts: Floats) -> float:
    """Σ M̄[x, u] log P(x | u) of one family; -inf where something is expected that it rules out."""
    return _expected_log(cpd.to_factor().values.reshape(counts.shape), counts)


def _expected_log(table: Floats, counts: Floats) -> float:
    live = counts > 0
    return float(counts[live] @ logarithms(table[live]))


def prior_exponents(name: str, alpha: Floats, estimate: Estimate) -> Floats:
    """e of the prior Π θ^e for pseudo-counts α; refused where it has no bound."""
    shift = _SHIFTS[estimate]
    if shift is None or not alpha.any():
        return np.zeros(alpha.shape)
    if shift < 0 and (alpha < 1).any():
        raise InvalidArgument(
            f"The prior of {name!r} has pseudo-counts below one, such as {float(alpha.min()):.4g}: where a probability "
            "is zero its density has no bound, so that estimate='map' has no mode to find. Take estimate='mean', or "
            "more cases, such as Dirichlet(2)."
        )
    return np.asarray(alpha + shift)


def _leaf_sums(cpd: CPD, counts: Floats) -> Floats:
    """The counts of each leaf, a row for each; those of each row of the table where it is no tree."""
    if not isinstance(cpd, TreeCPD):
        return counts.reshape(-1, counts.shape[-1])
    places = np.indices(counts.shape[:-1])
    columns = {parent.name: np.asarray(axis) for parent, axis in zip(cpd.parents, places, strict=True)}
    leaves = np.broadcast_to(cpd.context_index(columns), counts.shape[:-1]).ravel()
    rows = np.zeros(cpd.rows.shape)
    np.add.at(rows, leaves, counts.reshape(-1, counts.shape[-1]))
    return rows


def _with_leaves(tree: TreeCPD, weights: Floats) -> TreeCPD:
    """The tree with leaves in proportion to weights; those that weigh nothing stay."""
    totals = weights.sum(axis=1, keepdims=True)
    rows = np.where(totals > 0, weights / np.where(totals > 0, totals, 1.0), tree.rows)
    return TreeCPD._of(tree.variable, tree.parents, tree._nodes, rows)


def normalized_exponentials(logs: Floats) -> Floats:
    """Rows exp(log) over their sums; each row has a number that is finite."""
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))
