"""Association and effect compared, and independence in the causal sense."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from plausible.base import WRITTEN_ROUNDING, Floats, Result, TextTable, chart_by, format_number, num_shown, record
from plausible.causal.queries.observed import CausalLike, read_nodes, read_variables, refuse_overlap
from plausible.cpds import TableCPD
from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.graphs.causal_graph import CausalGraph, read_causes
from plausible.graphs.dag import DAG
from plausible.graphs.nodes import Node, Nodes
from plausible.graphs.text import quote
from plausible.models import BayesianNetwork
from plausible.variables import EvidenceLike, Variable
from plausible.variables.evidence import findings_of

if TYPE_CHECKING:
    from plausible.base.pictured import Axes, Chart


def association_table(
    network: BayesianNetwork,
    outcome: Sequence[Variable],
    treatment: Sequence[Variable],
    evidence: EvidenceLike | None = None,
) -> Floats:
    """P(Y | x, e) for every x: an axis for each treatment, then one for each outcome; NaN where P(x, e) = 0."""
    joint = network.query([variable.name for variable in (*treatment, *outcome)], evidence).values
    total = joint.sum(axis=tuple(range(len(treatment), joint.ndim)), keepdims=True)
    with np.errstate(invalid="ignore"):
        table = np.where(total > 0, joint / np.where(total > 0, total, 1.0), np.nan)
    table.setflags(write=False)
    return table


def effect_table(
    network: BayesianNetwork,
    outcome: Sequence[Variable],
    treatment: Sequence[Variable],
    evidence: EvidenceLike | None = None,
) -> Floats:
    """P(Y | do(x), e) for every x: an axis for each treatment, then one for each outcome; NaN where P(e | do(x)) = 0.

    One inference for all x: in the network in which the treatments are uniform and have no parents, seeing is doing.
    """
    for variable in treatment:
        network = network.with_cpd(TableCPD(variable, np.full(variable.num_states, 1.0 / variable.num_states)))
    return association_table(network, outcome, treatment, evidence)


#: At most so many undefined quantities are named.
_SHOWN = 5


@record(eq=False)
class EffectComparison(Result):
    """What seeing the treatment tells about the outcome, and what setting it does."""

    #: Y and X.
    outcome: tuple[Variable, ...]
    treatment: tuple[Variable, ...]
    evidence: Mapping[str, Any]  # e, what else is known
    marginal: Floats  # P(Y | e): an axis for each outcome
    association: Floats  # P(Y | x, e): an axis for each treatment, then one for each outcome; NaN where P(x, e) = 0
    effect: Floats  # P(Y | do(x), e), likewise; NaN where P(e | do(x)) = 0

    @property
    def max_difference(self) -> float:
        """The largest difference between P(y | x, e) and P(y | do(x), e), where both are defined."""
        return _largest(self.association - self.effect)

    @property
    def agrees(self) -> bool:
        """Whether seeing and doing are the same, up to 1e-9, where both are defined: the association is the effect."""
        return self.max_difference <= WRITTEN_ROUNDING

    @property
    def undefined(self) -> tuple[str, ...]:
        """The quantities of probability zero below the line: P(Y | x, e) and P(Y | do(x), e) that are NaN, in words."""
        groups = ", ".join(variable.name for variable in self.outcome)
        more = [f"{name}={value}" for name, value in self.evidence.items()]
        found = []
        for place in np.ndindex(*(variable.num_states for variable in self.treatment)):
            set_to = [f"{v.name}={v.states[i]}" for v, i in zip(self.treatment, place, strict=True)]
            for table, terms in ((self.association, set_to), (self.effect, [f"do({', '.join(set_to)})"])):
                if np.isnan(table[place]).any():
                    found.append(f"P({groups} | {', '.join([*terms, *more])})")
        return tuple(found)

    @property
    def max_effect(self) -> float:
        """The largest difference that the choice of x makes to a P(y | do(x), e): zero if X does not act on Y."""
        low, high = self.interventional_range
        return _largest(high - low)

    @property
    def interventional_range(self) -> tuple[Floats, Floats]:
        """The least and the greatest P(y | do(x), e) over all x, for each y."""
        rows = self.effect.reshape(-1, *self.marginal.shape)
        return np.nanmin(rows, axis=0), np.nanmax(rows, axis=0)

    @property
    def leaves_range(self) -> bool:
        """Whether some P(y | e) is outside of the range of the P(y | do(x), e) (Koller & Friedman 2009, exercise 21.3).

        A mixture of the P(y | x, e) it always is; of the effects it need not be.
        """
        low, high = self.interventional_range
        return bool(((self.marginal < low - WRITTEN_ROUNDING) | (self.marginal > high + WRITTEN_ROUNDING)).any())

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw P(Y | x, e) and P(Y | do(x), e) side by side; it needs matplotlib (the extra `plot`)."""
        scope = (*self.treatment, *self.outcome)
        tables = {"seen": self.association, "set": self.effect}
        return chart_by("plot_comparison", {name: Factor.trusted(scope, table) for name, table in tables.items()}, ax)

    def __str__(self) -> str:
        scope = (*self.treatment, *self.outcome)
        y, x = (", ".join(variable.name for variable in group) for group in (self.outcome, self.treatment))
        more = "".join(f", {name}={value}" for name, value in self.evidence.items())
        given = f" | {more[2:]}" if more else ""
        header = (*(v.name for v in scope), f"P({y}{given})", f"P({y} | {x}{more})", f"P({y} | do({x}){more})")
        columns = (np.broadcast_to(self.marginal, self.effect.shape), self.association, self.effect)
        cells = list(product(*(variable.states for variable in scope)))
        shown = num_shown(len(cells))
        numbers = zip(*(column.reshape(-1)[:shown].tolist() for column in columns), strict=True)
        rows = [(*map(str, states), *map(format_number, row)) for states, row in zip(cells, numbers, strict=False)]
        lines = [str(TextTable(header, tuple(rows), len(scope), len(cells) - shown))]
        undefined = self.undefined
        where = " where both are defined" if undefined else ""
        differ = f"differ{where}, by up to {format_number(self.max_difference)}"
        lines.append(f"Seeing and doing {f'agree{where}' if self.agrees else differ}.")
        if undefined:
            hidden = [f"and {len(undefined) - _SHOWN} more"] if len(undefined) > _SHOWN else []
            lines.append(f"Not defined: {'; '.join([*undefined[:_SHOWN], *hidden])}: what is seen never happens.")
        return "\n".join(lines)


def compare_effect(
    network: BayesianNetwork,
    outcome: str | Iterable[str],
    treatment: str | Iterable[str],
    evidence: EvidenceLike | None = None,
) -> EffectComparison:
    """P(Y | e), P(Y | x, e) and P(Y | do(x), e) for every x, and whether seeing and doing agree.

    Three inferences, whatever the number of states; the tables have an entry for each joint state of X and Y.

    Parameters
    ----------
    network
        A causal network: its edges are taken for causes.
    outcome, treatment
        Y and X, a name or several each.
    evidence
        e, as for `BayesianNetwork.query`. In P(Y | do(x), e) it is what is seen after X was set.

    Examples
    --------
    >>> from plausible import TableCPD
    >>> drug = BayesianNetwork(
    ...     TableCPD("gender", [0.5, 0.5], states=["male", "female"]),
    ...     TableCPD("drug", {"male": [0.25, 0.75], "female": [0.75, 0.25]}, ["gender"], states=["no", "yes"]),
    ...     TableCPD("cured", [[[0.2, 0.8], [0.3, 0.7]], [[0.6, 0.4], [0.8, 0.2]]], ["gender", "drug"],
    ...              states=["no", "yes"]),
    ... )
    >>> compare_effect(drug, "cured", "drug")
    drug | cured | P(cured) | P(cured | drug) | P(cured | do(drug))
    -----+-------+----------+-----------------+--------------------
    no   | no    |   0.4625 |             0.5 |                 0.4
    no   | yes   |   0.5375 |             0.5 |                 0.6
    yes  | no    |   0.4625 |           0.425 |                0.55
    yes  | yes   |   0.5375 |           0.575 |                0.45
    Seeing and doing differ, by up to 0.125.
    """
    y, x = read_variables(network, outcome, "outcome"), read_variables(network, treatment, "treatment")
    findings = dict(findings_of(evidence))
    refuse_overlap({"outcome": [v.name for v in y], "treatment": [v.name for v in x], "evidence": findings})
    return EffectComparison(
        outcome=y,
        treatment=x,
        evidence=MappingProxyType(findings),
        marginal=network.query([variable.name for variable in y], evidence).values,
        association=association_table(network, y, x, evidence),
        effect=effect_table(network, y, x, evidence),
    )


def _largest(differences: Floats) -> float:
    return float(np.nan_to_num(np.abs(differences)).max(initial=0.0))


@record
class CausalIndependence(Result):
    """Whether X ⟂_C Y | Z, and how that was found out; it is true where it holds."""

    #: X, Y and Z.
    x: tuple[Node, ...]
    y: tuple[Node, ...]
    given: tuple[Node, ...]
    holds: bool  # The answer. Of a graph, whether every distribution over it has the independence.
    #: A directed path from X to Y around Z, where the graph has one; without it the graph entails the independence.
    path: tuple[Node, ...] | None
    #: The largest difference that x makes to a P(y | do(z), do(x)); `None` where only a graph was given.
    difference: float | None

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        sides = (", ".join(map(quote, side)) for side in (self.x, self.y))
        claim = " ⟂_C ".join(sides) + (f" | {', '.join(map(quote, self.given))}" if self.given else "")
        if self.path is None:
            return f"{claim} holds: no directed path leads from one to the other."
        way = " -> ".join(map(quote, self.path))
        if self.difference is None:
            return f"{claim} does not follow from the graph: {way}."
        verdict = "holds in this network, though not by its graph" if self.holds else "does not hold"
        return f"{claim} {verdict}: {way} makes a difference of {self.difference:.3g}."


def causally_independent(
    model: BayesianNetwork | CausalLike, x: Nodes, y: Nodes, given: Nodes = (), tolerance: float = WRITTEN_ROUNDING
) -> CausalIndependence:
    """Whether X ⟂_C Y | Z: for all z, P(Y | do(z), do(x)) is the same for all x.

    It is not symmetric, and does not say that P(Y | do(z), do(x)) = P(Y | do(z)). If X ⟂_C Y | Z, W and W ⟂_C Y | X, Z,
    then X, W ⟂_C Y | Z. A graph entails it if and only if every directed path from X to Y passes through Z. With a
    network, a table over the joint states of X, Y and Z, by one inference; with a graph, linear in its edges. See
    Koller & Friedman (2009), Probabilistic graphical models, exercise 21.11.

    Parameters
    ----------
    x, y
        What is set, and what may respond; a name or several each.
    given
        Z, what is set besides.
    tolerance
        A difference in probability that counts as none; of no use with a graph.

    Examples
    --------
    >>> print(causally_independent("S -> T -> C; S <-> C", "S", "C", given="T"))
    S ⟂_C C | T holds: no directed path leads from one to the other.
    >>> print(causally_independent("S -> T -> C; S <-> C", "S", "C"))
    S ⟂_C C does not follow from the graph: S -> T -> C.
    """
    graph = read_causes(model)
    first, second, third = (read_nodes(graph, group) for group in (x, y, given))
    refuse_overlap({"x": first, "y": second, "given": third})
    if not first or not second:
        raise InvalidArgument("Causal independence is about one node or more on each side: x= or y= is empty.")
    path = directed_path(graph, first, second, third)
    if not isinstance(model, BayesianNetwork):
        return CausalIndependence(first, second, third, path is None, path, None)
    outcome = read_variables(model, map(str, second), "y")
    set_first = read_variables(model, map(str, first), "x")
    table = effect_table(model, outcome, (*set_first, *read_variables(model, map(str, third), "given")))
    difference = float(np.ptp(table, axis=tuple(range(len(set_first)))).max())
    return CausalIndependence(first, second, third, difference <= tolerance, path, difference)


def directed_path(
    graph: DAG | CausalGraph, x: tuple[Node, ...], y: tuple[Node, ...], given: tuple[Node, ...]
) -> tuple[Node, ...] | None:
    """A shortest directed path from X to Y on which no node of Z stands."""
    came_from: dict[Node, Node | None] = dict.fromkeys(x)
    queue, targets, closed = list(x), set(y), set(given)
    for node in queue:
        if node in targets:
            path = [node]
            while (before := came_from[path[-1]]) is not None:
                path.append(before)
            return tuple(reversed(path))
        for child in graph.children(node):
            if child not in came_from and child not in closed:
                came_from[child] = node
                queue.append(child)
    return None
