"""Simpson's paradox: comparisons that turn round when they are made within groups, and which of them is causal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from plausible.base import PROBABILITY_NOISE, Floats, Result, TextTable, format_number, num_shown, record
from plausible.causal.adjustment.sets import is_adjustment_set
from plausible.causal.estimation.estimate import experiment_rows
from plausible.causal.expressions.tables import Evaluation
from plausible.causal.identification.algorithm import identify
from plausible.causal.queries.association import effect_table
from plausible.causal.queries.observed import CausalLike, refuse_overlap
from plausible.data.statistics import Statistics
from plausible.data.stream_statistics import read_statistics
from plausible.data.table_statistics import DataLike, TableStatistics
from plausible.errors import InvalidArgument, NotIdentifiable, PositivityViolation, UnknownVariable
from plausible.factors import Factor
from plausible.graphs.causal_graph import CausalGraph, read_causes
from plausible.graphs.dag import DAG
from plausible.models import BayesianNetwork
from plausible.variables import State, Variable

#: At most so many places without cases are named.
_SHOWN = 5


@dataclass(frozen=True, slots=True, eq=False)
class StratifiedComparison:
    """P(event | treatment) for two states of the treatment, within each stratum."""

    strata: tuple[Variable, ...]  # S, the variables that make the strata; none for the comparison of all cases
    weights: Floats  # P(s): an axis for each of S
    #: P(event | x, s) for either state x; NaN where P(x, s) = 0.
    baseline: Floats
    treated: Floats
    #: Whether the graph says that this comparison, averaged over P(s), is causal (the adjustment criterion); `None`
    #: without a graph.
    is_admissible: bool | None

    @property
    def difference(self) -> Floats:
        """treated - baseline, in each stratum."""
        return self.treated - self.baseline

    @property
    def adjusted(self) -> tuple[float, float]:
        """Σ_s P(event | x, s) P(s) for the baseline and the treated; NaN where a stratum lacks one of them."""
        present = self.weights > 0
        baseline, treated = (
            float((rates[present] * self.weights[present]).sum()) for rates in (self.baseline, self.treated)
        )
        return baseline, treated

    def reverses(self, coarser: StratifiedComparison) -> bool:
        """Whether every stratum here, as far as both states occur in it, points against the one it is part of."""
        more = self.difference.ndim - coarser.difference.ndim
        outer = coarser.difference.reshape(*coarser.difference.shape, *[1] * more)
        product = np.sign(_rounded(self.difference)) * np.sign(_rounded(outer))
        known = ~np.isnan(product)
        return bool(known.any() and (product[known] < 0).all())


@record(eq=False)
class SimpsonReport(Result):
    """A comparison made over all cases and within finer and finer strata, and the effect."""

    _rows = "comparisons"

    #: The treatment, and its two states that are compared: the baseline and the treated.
    treatment: Variable
    states: tuple[State, State]
    #: The outcome, and its state whose probability is compared.
    outcome: Variable
    event: State
    comparisons: tuple[StratifiedComparison, ...]  # Over all cases, then with one more stratifying variable each
    #: P(event | do(x)) for both states, NaN where there are no cases to tell it; `None` where there is no graph, or one
    #: that leaves it open.
    effect: tuple[float, float] | None
    #: The joint states without cases because of which a part of the effect is NaN, in words.
    unknown: tuple[str, ...] = ()
    #: Which rows of experiments were used, or left out; empty where nothing was set from outside that matters.
    rows: str = ""

    @property
    def reversals(self) -> tuple[int, ...]:
        """The places in `comparisons` of those that point against the one before them, in every stratum."""
        places = range(1, len(self.comparisons))
        return tuple(k for k in places if self.comparisons[k].reverses(self.comparisons[k - 1]))

    @property
    def is_paradox(self) -> bool:
        """Whether there is any reversal."""
        return bool(self.reversals)

    @property
    def admissible(self) -> tuple[StratifiedComparison, ...]:
        """The comparisons that are causal by the graph."""
        return tuple(comparison for comparison in self.comparisons if comparison.is_admissible)

    def __str__(self) -> str:
        x0, x1 = self.states
        header = ("within", "stratum", *(f"P({self.event} | {x})" for x in (x0, x1)), "difference")
        cells = []
        for each in self.comparisons:
            for place in np.ndindex(each.weights.shape):
                stratum = ", ".join(f"{v.name}={v.states[i]}" for v, i in zip(each.strata, place, strict=True))
                numbers = (rates[place] for rates in (each.baseline, each.treated, each.difference))
                cells.append((_names(each.strata), stratum, *(format_number(float(number)) for number in numbers)))
        shown = num_shown(len(cells))
        rows = [f"Rows: {self.rows}."] if self.rows else []
        table = TextTable(header, tuple(cells[:shown]), 2, len(cells) - shown)
        return "\n".join([f"{self.outcome.name} by {self.treatment.name}", str(table), *self._verdict(), *rows])

    def _verdict(self) -> list[str]:
        lines = [
            f"Reversed within {_names(self.comparisons[place].strata)}, against {_names(before.strata)}."
            for place in self.reversals
            for before in [self.comparisons[place - 1]]
        ] or ["No reversal."]
        if self.effect is None:
            if self.comparisons[0].is_admissible is None:
                return [*lines, "Which comparison is causal, the data can't tell: give a graph=."]
            return [*lines, "None of these is causal: the graph leaves the effect open. See causal.identify for why."]
        effects = [
            f"P({self.event} | do({x})) {'is unknown' if np.isnan(p) else f'= {format_number(p)}'}"
            for x, p in zip(self.states, self.effect, strict=True)
        ]
        causal = "; ".join(_names(comparison.strata) for comparison in self.admissible) or "none of these"
        lines.append(f"{', '.join(effects)}. Causal comparisons: {causal}.")
        if self.unknown:
            number = len(self.unknown) - _SHOWN
            more = [f"and {number} more"] if number > 0 else []
            lines.append(f"There are no cases with {'; '.join([*self.unknown[:_SHOWN], *more])}.")
        return lines


def _rounded(difference: Floats) -> Floats:
    return np.where(np.abs(difference) <= PROBABILITY_NOISE, 0.0, difference)


def _names(strata: Sequence[Variable]) -> str:
    return ", ".join(variable.name for variable in strata) or "all cases"


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

    The same numbers can come from causal structures in which different comparisons are the effect: only the graph tells
    which. The effect is P(event | do(x)) in the network. For data, or over a graph that is not the network's own, it is
    Σ_s P(event | x, s) P(s) for the first of the comparisons that is admissible and has cases of both states in all its
    strata; where none is admissible, the estimand that `identify` finds among the variables that are there. It is NaN
    where there are no cases to tell it. The cost is that of one table over the treatment, all strata and the outcome.
    See Koller & Friedman (2009), Probabilistic graphical models, examples 21.9 and 21.14.

    Parameters
    ----------
    source
        A causal network, rows, or statistics of them. With a graph, rows of experiments that tell another effect are
        left out, as in `estimate_effect`.
    graph
        What causes what; needed with data, and with a network whose own graph is not causal.
    event
        The state of the outcome whose probability is compared; its last one where left out.
    states
        The two states of the treatment, baseline first; its first and its last where left out.

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
    causes, rows = None if graph is None else read_causes(graph), ""
    known = source if isinstance(source, BayesianNetwork) else _Observed(read_statistics(source))
    if causes is not None and isinstance(known, _Observed) and known.statistics.interventions:
        found = experiment_rows(known.statistics.table, causes, outcome, treatment)
        known, causes, rows = _Observed(TableStatistics(found.table)), read_causes(found.graph), found.told
    joint = known.query([treatment, *names, outcome])
    x, y = joint.scope[0], joint.scope[-1]
    low, high = (x.states[0], x.states[-1]) if states is None else states
    asked = SimpsonReport(x, (low, high), y, y.states[-1] if event is None else event, (), None)
    judge = known.graph if causes is None else causes
    comparisons = tuple(_comparison(joint, depth, asked, judge) for depth in range(len(names) + 1))
    if causes is not None:
        effect, unknown = _adjusted_effect(comparisons, asked) or _identified_effect(known, causes, asked)
        return replace(asked, comparisons=comparisons, effect=effect, unknown=unknown, rows=rows)
    if isinstance(source, BayesianNetwork):
        table = effect_table(source, [y], [x])[:, y.index(asked.event)]
        asked = replace(asked, effect=(float(table[x.index(low)]), float(table[x.index(high)])))
    return replace(asked, comparisons=comparisons)


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
        UnknownVariable.check_all(targets, self.variables, "the data")
        counts = np.asarray(self.statistics.counts(targets[-1], targets[:-1]), dtype=np.float64)
        if not counts.sum() > 0:
            raise InvalidArgument("There are no cases to compare: all counts are zero.")
        return Factor([self.variables[name] for name in targets], counts / counts.sum())


def _comparison(
    joint: Factor, depth: int, asked: SimpsonReport, causes: DAG | CausalGraph | None
) -> StratifiedComparison:
    """The comparison within the first strata, judged by the graph: P(x, s, y) has its axes in this order."""
    table = joint.values.sum(axis=tuple(range(1 + depth, joint.values.ndim - 1)))
    total = table.sum(axis=-1)
    event = asked.outcome.index(asked.event)
    with np.errstate(invalid="ignore"):
        rates = np.where(total > 0, table[..., event] / np.where(total > 0, total, 1.0), np.nan)
    low, high = map(asked.treatment.index, asked.states)
    strata, is_right = joint.scope[1 : 1 + depth], None
    if causes is not None:
        is_right = is_adjustment_set(causes, joint.names[-1], joint.names[0], [variable.name for variable in strata])
    return StratifiedComparison(strata, total.sum(axis=0), rates[low], rates[high], is_right)


#: P(event | do(x)) for both states, and the places without cases that leave one of them open, in words.
_Effect: TypeAlias = tuple[tuple[float, float] | None, tuple[str, ...]]


def _adjusted_effect(comparisons: Sequence[StratifiedComparison], asked: SimpsonReport) -> _Effect | None:
    """That of the first admissible comparison that has all cases, else of the first; none where none is admissible."""
    admissible = [comparison for comparison in comparisons if comparison.is_admissible]
    if not admissible:
        return None
    best = next((each for each in admissible if np.isfinite(each.adjusted).all()), admissible[0])
    cells = (
        [(asked.treatment.name, state), *((v.name, v.states[i]) for v, i in zip(best.strata, place, strict=True))]
        for state, rates in zip(asked.states, (best.baseline, best.treated), strict=True)
        for place in np.argwhere(np.isnan(rates) & (best.weights > 0)).tolist()
    )
    return best.adjusted, tuple(", ".join(f"{name}={state!r}" for name, state in cell) for cell in cells)


def _identified_effect(known: BayesianNetwork | _Observed, causes: DAG | CausalGraph, asked: SimpsonReport) -> _Effect:
    """By the estimand that the graph gives for the variables that are there."""
    names = {variable.name for variable in known.variables.values() if not variable.is_continuous}
    observed = [node for node in causes.nodes if node in names]
    try:
        estimand = identify(causes, asked.outcome.name, asked.treatment.name, observed=observed)
    except NotIdentifiable:
        return None, ()
    values = []
    for state in asked.states:
        try:
            answer = estimand.evaluate(known, do={asked.treatment.name: state})
            values.append(float(answer.values[asked.outcome.index(asked.event)]))
        except PositivityViolation:
            values.append(float("nan"))
    evaluation = Evaluation(known)
    evaluation.value(estimand.expression)
    return (values[0], values[1]), tuple(evaluation.impossible) if np.isnan(values).any() else ()
