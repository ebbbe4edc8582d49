"""Pearl's propagation of λ and π messages on polytrees: each node is a small processor that talks to its neighbours."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product as cartesian
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.base import Floats, QueryInfo, logarithms
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, UnknownVariable, counted
from plausible.factors import Factor
from plausible.factors.alignment import check_size, num_entries
from plausible.inference.elimination import SumProduct
from plausible.inference.polytree.structure import Polytree, cut_outgoing, read_polytree
from plausible.variables import Evidence, Variable

#: The logarithms of numbers, the largest of them zero unless all are -inf.
_Logs: TypeAlias = npt.NDArray[np.float64]

#: Products whose positive terms are all above exp(-600) of the largest can be summed as they are.
_SAFE_SPAN = -600.0


@dataclass(frozen=True, slots=True, eq=False)
class Propagation:
    """All messages and beliefs of a propagation.

    The evidence is split at X into what lies below it (e⁻, its own finding included) and the rest (e⁺).
    """

    beliefs: Mapping[str, Factor]  # Name -> P(x | e) = α π(x) λ(x)
    pi: Mapping[str, Factor]  # Name -> π(x), proportional to P(x | e⁺): the support from above; it sums to one
    #: Name -> λ(x), proportional to P(e⁻ | x): the support from below; its largest number is one.
    lambda_: Mapping[str, Factor]
    #: (parent, child) -> what the parent sends down: its belief without what that child said; sums to one.
    pi_messages: Mapping[tuple[str, str], Factor]
    #: (child, parent) -> what the child sends up, a factor over the parent; its largest number is one.
    lambda_messages: Mapping[tuple[str, str], Factor]
    log_probability: float  # log P(e)

    def __repr__(self) -> str:
        beliefs, messages = counted(len(self.beliefs), "belief"), 2 * len(self.pi_messages)
        return f"Propagation({beliefs}, {messages} messages, log P(e) = {self.log_probability:.6g})"


def propagate(factors: Iterable[Factor], evidence: Evidence) -> Propagation:
    """Two sweeps of λ and π messages over a polytree give P(x | e) of every variable (Pearl 1988, §4.3).

    λ(x) = λ_e(x) Π_Y λ_Y(x) over the children Y, and π(x) = Σ_u P(x | u) Π_i π_X(u_i) over the parents; a node sends

    - to its parent U_i: λ_X(u_i) = Σ_x λ(x) Σ_{u without u_i} P(x | u) Π_{k≠i} π_X(u_k);
    - to its child Y: π_Y(x) = π(x) λ_e(x) Π_{Z≠Y} λ_Z(x), a product of the others, so that zeros need no division.

    The finding λ_e is the likelihood of the node's own evidence, as if a virtual leaf hung below it. Numbers are kept
    as logarithms between nodes: products of thousands of findings neither vanish nor are taken for zero.

    The factors are the families P(child | parents), the child as the last variable of each scope.

    Raises
    ------
    NotSupported
        Where the skeleton has a loop, which is named.
    ImpossibleEvidence
        Where the evidence has probability zero.

    Notes
    -----
    Costs, for each family, its table once for each neighbour.

    >>> chain = [Factor({"A": 2}, [0.6, 0.4]), Factor({"A": 2, "B": 2}, [[0.7, 0.3], [0.2, 0.8]])]
    >>> result = propagate(chain, Evidence.read({"B": 1}, {"B": chain[1].scope[1]}))
    >>> result.lambda_messages["B", "A"].values.round(3)
    array([0.375, 1.   ])
    >>> result.beliefs["A"].values.round(4)
    array([0.36, 0.64])
    >>> round(math.exp(result.log_probability), 6)
    0.5
    """
    tree = read_polytree(factors)
    sweeps = _Sweeps(tree, _findings(tree, evidence))
    log_probability = sweeps.inward()
    sweeps.outward()
    variables = tree.variables
    above = [sweeps.pi(node) for node in range(len(variables))]
    below = [sweeps.lambda_(node) for node in range(len(variables))]
    return Propagation(
        beliefs={v.name: Factor((v,), _distribution(a + b)) for v, a, b in zip(variables, above, below, strict=True)},
        pi={v.name: Factor((v,), _distribution(logs)) for v, logs in zip(variables, above, strict=True)},
        lambda_={v.name: Factor((v,), np.exp(_scaled(logs)[0])) for v, logs in zip(variables, below, strict=True)},
        pi_messages={
            (variables[parent].name, child.name): Factor((variables[parent],), _distribution(logs))
            for child, received in zip(variables, sweeps.from_parents, strict=True)
            for parent, logs in received.items()
        },
        lambda_messages={
            (variables[child].name, parent.name): Factor((parent,), np.exp(logs))
            for parent, received in zip(variables, sweeps.from_children, strict=True)
            for child, logs in received.items()
        },
        log_probability=log_probability,
    )


def polytree_sum(
    factors: Iterable[Factor], targets: Sequence[Variable], evidence: Evidence, cutset: Sequence[str] = ()
) -> SumProduct:
    """Σ Π over the families of a polytree, as a table over targets that are not observed.

    Several targets are taken one after the other by the chain rule, P(s, t, e) = P(s, e) P(t | s, e): a propagation
    for each assignment to all but the last of them. So are the variables of a loop cutset, which are then summed out
    (Pearl 1988, §4.4.2): once they are known, the edges that leave them carry no message, and loops fall open.

    Edges that leave observed variables are cut as well.
    """
    families = cut_outgoing(factors, evidence.hard)
    known = {variable.name: variable for factor in families for variable in factor.scope}
    for name in cutset:
        if name not in known and name not in evidence.hard:
            raise UnknownVariable.named(name, known, "these families")
    conditions = [known[name] for name in dict.fromkeys(cutset) if name not in evidence.hard]
    free = [variable for variable in targets if variable not in conditions]
    given, last = [*conditions, *free[:-1]], free[-1:]
    check_size([*given, *last], "The table of the targets and the cutset")
    rows = []
    for states in cartesian(*(range(variable.num_states) for variable in given)):
        # soft findings on the same variables keep their weight
        fixed = {variable.name: state for variable, state in zip(given, states, strict=True)}
        rows.append(_row(families, last, replace(evidence, hard={**evidence.hard, **fixed})))
    peak = max(max(log_weight for _, log_weight in rows), -sys.float_info.max)
    table = np.concatenate([numbers * math.exp(log_weight - peak) for numbers, log_weight in rows])
    largest = max((factor.size for factor in families), default=1)
    cost = len(rows) * sum(factor.size for factor in families)
    answer = Factor.from_flat([*given, *last], table).marginal([variable.name for variable in targets])
    return SumProduct(answer, peak, QueryInfo(engine="λ-π propagation", cost=cost, largest_table=largest))


def _row(families: Sequence[Factor], last: Sequence[Variable], evidence: Evidence) -> tuple[_Logs, float]:
    """P(target | e), or one where there is no target, and log P(e); zeros and -inf for impossible evidence."""
    tree = read_polytree(cut_outgoing(families, evidence.hard))
    sweeps = _Sweeps(tree, _findings(tree, evidence))
    try:
        log_total = sweeps.inward()
    except ImpossibleEvidence:
        return np.zeros(num_entries(last)), -math.inf
    if not last:
        return np.ones(1), log_total
    sweeps.outward()
    node = tree.variables.index(last[0])
    return _distribution(sweeps.pi(node) + sweeps.lambda_(node)), log_total


def virtual_leaf(variable: Variable, weights: npt.ArrayLike | None = None, name: str | None = None) -> Factor:
    """The family of a leaf that carries the evidence on a variable, so that all evidence sits at leaves.

    Without weights the leaf copies its parent, P(x' | x) = 1(x' = x), and is observed in the state of X. With weights
    its states are "seen" and "unseen", P(seen | x) is proportional to the weights, and "seen" is the evidence: the
    posterior is that of `likelihood(weights)`. The weights, one for each state of the variable, are finite, not
    negative, not all zero; the leaf has the name of the variable with a prime where left out.

    >>> virtual_leaf(Variable("X", ["a", "b"]), weights=[1, 4]).values
    array([[0.25, 0.75],
           [1.  , 0.  ]])
    """
    leaf_name = f"{variable.name}'" if name is None else name
    if weights is None:
        return Factor((variable, variable.renamed(leaf_name)), np.eye(variable.num_states))
    numbers = np.asarray(weights, dtype=np.float64)
    if numbers.shape != (variable.num_states,) or not np.all((numbers >= 0) & (numbers < math.inf)):
        raise InvalidArgument(
            f"The weights of a virtual leaf of {variable.name!r} are {variable.num_states} finite numbers that are not "
            f"negative, one for each state; not {weights!r}."
        )
    if numbers.max() == 0:
        raise InvalidArgument(f"The weights of a virtual leaf of {variable.name!r} are all zero.")
    seen = numbers / numbers.max()
    return Factor((variable, Variable(leaf_name, ["seen", "unseen"])), np.stack([seen, 1 - seen], axis=1))


class _Sweeps:
    """The messages under way.

    `from_children[x]` maps a child's position to log λ_child(x), `from_parents[x]` a parent's to log π_x(parent).
    """

    def __init__(self, tree: Polytree, findings: Sequence[_Logs]) -> None:
        self.tree, self.findings = tree, findings
        self.from_children: list[dict[int, _Logs]] = [{} for _ in tree.order]
        self.from_parents: list[dict[int, _Logs]] = [{} for _ in tree.order]

    def inward(self) -> float:
        """Send towards the roots; return log P(e), the sum of the logarithms of all that was scaled out."""
        log_total = self.tree.log_constant
        if log_total == -math.inf:
            raise ImpossibleEvidence.outright()
        for node in reversed(self.tree.order):
            target = self.tree.towards[node]
            if target in self.tree.parents[node]:
                self.from_children[target][node], shift = _scaled(self.to_parent(node, target))
            else:
                logs, shift = _scaled(self.pi(node) + self.lambda_(node))
                if target >= 0:
                    self.from_parents[target][node] = logs
                else:
                    shift += math.log(np.exp(logs).sum())
            log_total += shift
        return log_total

    def outward(self) -> None:
        """Send away from the roots: each node to all its neighbours but the one that lies towards its root."""
        for node in self.tree.order:
            source = self.tree.towards[node]
            for parent in self.tree.parents[node]:
                if parent != source:
                    self.from_children[parent][node], _ = _scaled(self.to_parent(node, parent))
            children = [child for child in self.tree.children[node] if child != source]
            if children:
                pi = self.pi(node)
                for child, logs in zip(children, self.lambdas_without(node, children), strict=True):
                    self.from_parents[child][node], _ = _scaled(pi + logs)

    def lambda_(self, node: int) -> _Logs:
        """log λ(x) from the messages that are there."""
        return sum(self.from_children[node].values(), start=self.findings[node])

    def lambdas_without(self, node: int, children: Sequence[int]) -> Floats:
        """For each child a row: log of λ_e(x) and all children's messages but its own, as products from both sides."""
        received = self.from_children[node]
        asked = set(children)
        base = sum((logs for child, logs in received.items() if child not in asked), self.findings[node])
        rows = np.array([received[child] for child in children])
        before, after = np.zeros_like(rows), np.zeros_like(rows)
        np.cumsum(rows[:-1], axis=0, out=before[1:])
        after[:-1] = np.cumsum(rows[:0:-1], axis=0)[::-1]
        return np.asarray(base + before + after)

    def pi(self, node: int) -> _Logs:
        """log π(x)."""
        causes = [self.from_parents[node][parent] for parent in self.tree.parents[node]]
        return _contract(self.tree.tables[node], self.tree.log_floors[node], causes, [])

    def to_parent(self, node: int, parent: int) -> _Logs:
        """log λ_X(u) for one parent."""
        parents, received = self.tree.parents[node], self.from_parents[node]
        axis = parents.index(parent)
        before = [received[other] for other in parents[:axis]]
        after = [*(received[other] for other in parents[axis + 1 :]), self.lambda_(node)]
        return _contract(self.tree.tables[node], self.tree.log_floors[node], before, after)


def _contract(table: _Logs, log_floor: float, before: Sequence[_Logs], after: Sequence[_Logs]) -> _Logs:
    """log Σ table × vectors, over all axes but the one that stands between `before` and `after`.

    `table` has the numbers in a row. A vector goes from the front or from the back, so that any number of axes will do.
    """
    scaled = [[_scaled(logs) for logs in side] for side in (before, after)]
    shift = sum(peak for side in scaled for _, peak in side)
    front, back = ([logs for logs, _ in side] for side in scaled)
    with np.errstate(divide="ignore"):
        floors = (float(np.min(logs, where=logs > -math.inf, initial=0.0)) for logs in (*front, *back))
        if log_floor + sum(floors) < _SAFE_SPAN:  # slower on logarithms throughout: nothing can underflow
            table = np.log(table)
            for logs in reversed(back):
                table = np.logaddexp.reduce(table.reshape(-1, len(logs)) + logs, axis=1)
            for logs in front:
                table = np.logaddexp.reduce(table.reshape(len(logs), -1) + logs[:, None], axis=0)
            return np.asarray(table + shift)
        for logs in reversed(back):
            table = table.reshape(-1, len(logs)) @ np.exp(logs)
        for logs in front:
            table = np.exp(logs) @ table.reshape(len(logs), -1)
        return np.asarray(np.log(table) + shift)


def _scaled(logs: _Logs) -> tuple[_Logs, float]:
    """The logarithms with their largest brought to zero, and what was taken away."""
    peak = float(logs.max())
    if peak == -math.inf:
        raise ImpossibleEvidence.outright()
    return logs - peak, peak


def _distribution(logs: _Logs) -> Floats:
    numbers = np.exp(_scaled(logs)[0])
    return np.asarray(numbers / numbers.sum())


def _findings(tree: Polytree, evidence: Evidence) -> list[_Logs]:
    """For each variable log λ_e(x): zeros where nothing was found."""
    if evidence.values:
        raise NotSupported("λ-π propagation takes states, collections of states and likelihoods as evidence.")
    findings: list[_Logs] = []
    for variable in tree.variables:
        weights = np.asarray(evidence.soft.get(variable.name, np.ones(variable.num_states)))
        if variable.name in evidence.hard:
            weights = weights * (np.arange(variable.num_states) == evidence.hard[variable.name])
        findings.append(logarithms(weights))
    return findings
