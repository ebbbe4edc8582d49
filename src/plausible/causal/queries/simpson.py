"""Simpson's paradox: comparisons that turn round when they are made within groups, and which of them is causal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from plausible.causal.queries.arguments import read_causal, read_nodes, refuse_overlap
from plausible.causal.queries.effects import effect_table
from plausible.causal.queries.simpson_report import SimpsonReport, StratifiedComparison
from plausible.data.statistics import Statistics
from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.graphs.causal_graph import CausalGraph, read_causes
from plausible.graphs.dag import DAG
from plausible.graphs.graph_input import GraphLike
from plausible.learn.estimation.families import DataLike
from plausible.learn.estimation.fit import fit_parameters
from plausible.models import BayesianNetwork
from plausible.variables import State, Variable

__all__ = ["simpson"]

Floats = NDArray[np.float64]


def simpson(
    source: BayesianNetwork | DataLike,
    outcome: str,
    treatment: str,
    strata: str | Iterable[str],
    *,
    graph: GraphLike[DAG | CausalGraph] | None = None,
    event: State | None = None,
    states: tuple[State, State] | None = None,
) -> SimpsonReport:
    """Compare two states of a treatment over all cases and within strata, find reversals, and say what is causal.

    The same numbers can come from causal structures in which different comparisons are the effect: only the graph
    tells which. The effect is P(event | do(x)) in the network, or in the one learned from the data over a DAG. Over a
    graph with latent causes, or one that is not the network's own, it is Σ_s P(event | x, s) P(s) for the first of the
    comparisons that is admissible.

    Parameters
    ----------
    source
        A causal network, rows, or statistics of them.
    outcome, treatment
        The names of two discrete variables.
    strata
        The variables to stratify by, one after the other; a name or several.
    graph
        What causes what; needed with data, and with a network whose own graph is not causal.
    event
        The state of the outcome whose probability is compared; its last one where left out.
    states
        The two states of the treatment, baseline first; its first and its last where left out.

    Notes
    -----
    The cost is that of one table over the treatment, all strata and the outcome.

    References
    ----------
    Koller & Friedman (2009), Probabilistic graphical models, examples 21.9 and 21.14.

    Examples
    --------
    >>> from plausible import TableCPD
    >>> drug = BayesianNetwork(
    ...     TableCPD("gender", [0.5, 0.5], states=["male", "female"]),
    ...     TableCPD("drug", {"male": [0.25, 0.75], "female": [0.75, 0.25]}, ["gender"], states=["no", "yes"]),
    ...     TableCPD("cured", [[[0.2, 0.8], [0.3, 0.7]], [[0.6, 0.4], [0.8, 0.2]]], ["gender", "drug"],
    ...              states=["no", "yes"]),
    ... )
    >>> simpson(drug, "cured", "drug", "gender")
    cured by drug
    within    | stratum       | P(yes | no) | P(yes | yes) | difference
    ----------+---------------+-------------+--------------+-----------
    all cases |               |         0.5 |        0.575 |      0.075
    gender    | gender=male   |         0.8 |          0.7 |       -0.1
    gender    | gender=female |         0.4 |          0.2 |       -0.2
    Reversed within gender, against all cases.
    P(yes | do(no)) = 0.6, P(yes | do(yes)) = 0.45. Causal comparisons: gender.
    """
    names = [strata] if isinstance(strata, str) else list(dict.fromkeys(strata))
    refuse_overlap({"outcome": [outcome], "treatment": [treatment], "strata": names})
    asked = _Asked(treatment, tuple(names), outcome)
    causes = None if graph is None else read_causes(graph)
    if isinstance(source, BayesianNetwork):
        network = source if causes is None else None
        return _report(
            _network_joint(source, asked), source.graph if causes is None else causes, network, event, states
        )
    statistics = source if isinstance(source, Statistics) else TableStatistics(Table.read(source))
    learned = fit_parameters(causes, statistics).network if isinstance(causes, DAG) else None
    return _report(_data_joint(statistics, asked), causes, learned, event, states)


@dataclass(frozen=True, slots=True)
class _Asked:
    treatment: str
    strata: tuple[str, ...]
    outcome: str

    @property
    def names(self) -> list[str]:
        return [self.treatment, *self.strata, self.outcome]


@dataclass(frozen=True, slots=True, eq=False)
class _Joint:
    """P(x, s, y): axes in this order."""

    variables: tuple[Variable, ...]
    values: Floats


def _network_joint(network: BayesianNetwork, asked: _Asked) -> _Joint:
    joint = network.query(asked.names)
    return _Joint(joint.scope, joint.values)


def _data_joint(statistics: Statistics, asked: _Asked) -> _Joint:
    for name in asked.names:
        if name not in statistics.variables:
            raise UnknownVariable.named(name, statistics.variables, "the data")
    counts = np.asarray(statistics.counts(asked.outcome, asked.names[:-1]), dtype=np.float64)
    if not counts.sum() > 0:
        raise InvalidArgument("There are no cases to compare: all counts are zero.")
    return _Joint(tuple(statistics.variables[name] for name in asked.names), counts / counts.sum())


def _report(
    joint: _Joint,
    causes: DAG | CausalGraph | None,
    network: BayesianNetwork | None,
    event: State | None,
    states: tuple[State, State] | None,
) -> SimpsonReport:
    treatment, *strata, outcome = joint.variables
    chosen = states if states is not None else (treatment.states[0], treatment.states[-1])
    happened = outcome.states[-1] if event is None else event
    places = [treatment.index(state) for state in chosen]
    comparisons = tuple(
        _judged(_comparison(joint, strata[:depth], places, outcome.index(happened)), causes, treatment, outcome)
        for depth in range(len(strata) + 1)
    )
    effect = None
    if network is not None:
        table = effect_table(network, [outcome], [treatment])
        effect = (float(table[places[0], outcome.index(happened)]), float(table[places[1], outcome.index(happened)]))
    else:
        effect = next((found.adjusted for found in comparisons if found.is_admissible), None)
    return SimpsonReport(treatment, (chosen[0], chosen[1]), outcome, happened, comparisons, effect)


def _comparison(joint: _Joint, strata: Sequence[Variable], places: Sequence[int], event: int) -> StratifiedComparison:
    table = joint.values.sum(axis=tuple(range(1 + len(strata), joint.values.ndim - 1)))
    total = table.sum(axis=-1)
    with np.errstate(invalid="ignore"):
        rates = np.where(total > 0, table[..., event] / np.where(total > 0, total, 1.0), np.nan)
    return StratifiedComparison(tuple(strata), total.sum(axis=0), rates[places[0]], rates[places[1]], None)


def _judged(
    comparison: StratifiedComparison, causes: DAG | CausalGraph | None, treatment: Variable, outcome: Variable
) -> StratifiedComparison:
    """The comparison with the back-door criterion: no effects of X among S, and S blocks all trails into X."""
    if causes is None:
        return comparison
    graph = read_causal(causes)
    (x,), (y,) = read_nodes(graph, treatment.name), read_nodes(graph, outcome.name)
    given = read_nodes(graph, [variable.name for variable in comparison.strata])
    is_blocked = graph.without_outgoing(x).m_separated(x, y, given)
    return replace(comparison, is_admissible=is_blocked and graph.descendants(x).isdisjoint(given))
