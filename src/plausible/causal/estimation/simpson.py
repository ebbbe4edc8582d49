"""Simpson's paradox: comparisons that turn round when they are made within groups, and which of them is causal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from plausible.causal.adjustment.sets import is_adjustment_set
from plausible.causal.estimation.experiment_rows import experiment_rows
from plausible.causal.estimation.simpson_report import SimpsonReport, StratifiedComparison
from plausible.causal.expressions.tables import Evaluation
from plausible.causal.identification.algorithm import identify
from plausible.causal.queries.arguments import CausalLike, refuse_overlap
from plausible.causal.queries.association import effect_table
from plausible.data.statistics import Statistics
from plausible.data.table_statistics import DataLike, TableStatistics, read_statistics
from plausible.errors import InvalidArgument, NotIdentifiable, PositivityViolation, UnknownVariable
from plausible.factors import Factor
from plausible.graphs.causal_graph import CausalGraph, read_causes
from plausible.graphs.dag import DAG
from plausible.models import BayesianNetwork
from plausible.variables import State, Variable

__all__ = ["simpson"]


def simpson(
    source: BayesianNetwork | DataLike,
    outcome: str,
    treatment: str,
    strata: str | Iterable[str],
    *,
    graph: CausalLike | None = None,
    event: State | None = None,
    states: tuple[State, State] | None = None,
) -> SimpsonReport:
    """Compare two states of a treatment over all cases and within strata, find reversals, and say what is causal.

    The same numbers can come from causal structures in which different comparisons are the effect: only the graph
    tells which. The effect is P(event | do(x)) in the network. For data, or over a graph that is not the network's own,
    it is Σ_s P(event | x, s) P(s) for the first of the comparisons that is admissible and has cases of both states in
    all its strata; where none is admissible, the estimand that `identify` finds among the variables that are there. It
    is NaN where there are no cases to tell it.

    Parameters
    ----------
    source
        A causal network, rows, or statistics of them. With a graph, rows of experiments that tell another effect are
        left out, as in `estimate_effect`.
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
    >>> rows = {"gender": ["m"] * 200 + ["f"] * 200, "drug": ([1] * 150 + [0] * 50) + ([1] * 50 + [0] * 150)}
    >>> rows["cured"] = [1] * 105 + [0] * 45 + [1] * 40 + [0] * 10 + [1] * 10 + [0] * 40 + [1] * 60 + [0] * 90
    >>> simpson(rows, "cured", "drug", "gender", graph="gender -> drug -> cured; gender -> cured")
    cured by drug
    within    | stratum  | P(1 | 0) | P(1 | 1) | difference
    ----------+----------+----------+----------+-----------
    all cases |          |      0.5 |    0.575 |      0.075
    gender    | gender=f |      0.4 |      0.2 |       -0.2
    gender    | gender=m |      0.8 |      0.7 |       -0.1
    Reversed within gender, against all cases.
    P(1 | do(0)) = 0.6, P(1 | do(1)) = 0.45. Causal comparisons: gender.
    """
    names = [strata] if isinstance(strata, str) else list(dict.fromkeys(strata))
    refuse_overlap({"outcome": [outcome], "treatment": [treatment], "strata": names})
    asked = _Asked(treatment, tuple(names), outcome)
    causes, rows = None if graph is None else read_causes(graph), ""
    known = source if isinstance(source, BayesianNetwork) else _Observed(read_statistics(source))
    if causes is not None and isinstance(known, _Observed):
        known, causes, rows = _of_experiments(known, causes, outcome, treatment)
    joint = known.query(asked.names)
    question = _Question.of(joint.scope, event, states)
    comparisons = tuple(
        _judged(_comparison(joint, depth, question), known.graph if causes is None else causes, question)
        for depth in range(len(names) + 1)
    )
    if causes is None:
        effect = _network_effect(source, question) if isinstance(source, BayesianNetwork) else _Effect(None)
    else:
        effect = _adjusted_effect(comparisons, question) or _identified_effect(known, causes, question)
    return SimpsonReport(
        question.treatment,
        question.states,
        question.outcome,
        question.event,
        comparisons,
        effect.values,
        effect.unknown,
        rows,
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    treatment: str
    strata: tuple[str, ...]
    outcome: str

    @property
    def names(self) -> list[str]:
        return [self.treatment, *self.strata, self.outcome]


def _of_experiments(
    observed: _Observed, causes: DAG | CausalGraph, outcome: str, treatment: str
) -> tuple[_Observed, DAG | CausalGraph, str]:
    """The rows that tell the effect, what causes what in them, and which they are."""
    statistics = observed.statistics
    if not statistics.interventions:
        return observed, causes, ""
    found = experiment_rows(statistics.table, causes, outcome, treatment)
    return _Observed(TableStatistics(found.table)), read_causes(found.graph), found.told


@dataclass(frozen=True, slots=True)
class _Observed:
    """The frequencies of data, to be asked as a network is; what causes what they do not tell."""

    statistics: Statistics
    graph: None = None

    @property
    def variables(self) -> Mapping[str, Variable]:
        return self.statistics.variables

    def query(self, targets: Sequence[str]) -> Factor:
        """How often each joint state occurs among all cases."""
        for name in targets:
            if name not in self.variables:
                raise UnknownVariable.named(name, self.variables, "the data")
        counts = np.asarray(self.statistics.counts(targets[-1], targets[:-1]), dtype=np.float64)
        if not counts.sum() > 0:
            raise InvalidArgument("There are no cases to compare: all counts are zero.")
        return Factor([self.variables[name] for name in targets], counts / counts.sum())


@dataclass(frozen=True, slots=True)
class _Question:
    """Which states of treatment and outcome are compared."""

    treatment: Variable
    states: tuple[State, State]
    outcome: Variable
    event: State

    @classmethod
    def of(cls, scope: Sequence[Variable], event: State | None, states: tuple[State, State] | None) -> _Question:
        treatment, outcome = scope[0], scope[-1]
        low, high = states if states is not None else (treatment.states[0], treatment.states[-1])
        return cls(treatment, (low, high), outcome, outcome.states[-1] if event is None else event)

    @property
    def places(self) -> tuple[int, int]:
        return self.treatment.index(self.states[0]), self.treatment.index(self.states[1])


class _Effect(NamedTuple):
    """P(event | do(x)) for both states, and the places without cases that leave one of them open, in words."""

    values: tuple[float, float] | None
    unknown: tuple[str, ...] = ()


def _comparison(joint: Factor, depth: int, question: _Question) -> StratifiedComparison:
    """The comparison within the first strata: P(x, s, y) has its axes in this order."""
    table = joint.values.sum(axis=tuple(range(1 + depth, joint.values.ndim - 1)))
    total = table.sum(axis=-1)
    event = question.outcome.index(question.event)
    with np.errstate(invalid="ignore"):
        rates = np.where(total > 0, table[..., event] / np.where(total > 0, total, 1.0), np.nan)
    low, high = question.places
    return StratifiedComparison(joint.scope[1 : 1 + depth], total.sum(axis=0), rates[low], rates[high], None)


def _judged(
    comparison: StratifiedComparison, causes: DAG | CausalGraph | None, question: _Question
) -> StratifiedComparison:
    if causes is None:
        return comparison
    names = [variable.name for variable in comparison.strata]
    is_right = is_adjustment_set(causes, question.outcome.name, question.treatment.name, names)
    return replace(comparison, is_admissible=is_right)


def _network_effect(network: BayesianNetwork, question: _Question) -> _Effect:
    table = effect_table(network, [question.outcome], [question.treatment])
    low, high = table[list(question.places), question.outcome.index(question.event)].tolist()
    return _Effect((low, high))


def _adjusted_effect(comparisons: Sequence[StratifiedComparison], question: _Question) -> _Effect | None:
    """That of the first admissible comparison that has all cases, else of the first; none where none is admissible."""
    admissible = [comparison for comparison in comparisons if comparison.is_admissible]
    if not admissible:
        return None
    best = next((each for each in admissible if np.isfinite(each.adjusted).all()), admissible[0])
    cells = (
        [(question.treatment.name, state), *((v.name, v.states[i]) for v, i in zip(best.strata, place, strict=True))]
        for state, rates in zip(question.states, (best.baseline, best.treated), strict=True)
        for place in np.argwhere(np.isnan(rates) & (best.weights > 0)).tolist()
    )
    return _Effect(best.adjusted, tuple(", ".join(f"{name}={state!r}" for name, state in cell) for cell in cells))


def _identified_effect(known: BayesianNetwork | _Observed, causes: DAG | CausalGraph, question: _Question) -> _Effect:
    """By the estimand that the graph gives for the variables that are there."""
    names = {variable.name for variable in known.variables.values() if not variable.is_continuous}
    observed = [node for node in causes.nodes if node in names]
    try:
        estimand = identify(causes, question.outcome.name, question.treatment.name, observed=observed)
    except NotIdentifiable:
        return _Effect(None)
    values = []
    for state in question.states:
        try:
            answer = estimand.evaluate(known, do={question.treatment.name: state})
            values.append(float(answer.values[question.outcome.index(question.event)]))
        except PositivityViolation:
            values.append(float("nan"))
    evaluation = Evaluation(known)
    evaluation.table(estimand.expression)
    return _Effect((values[0], values[1]), tuple(evaluation.impossible) if np.isnan(values).any() else ())
