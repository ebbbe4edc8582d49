"""Reports of trials with noncompliance: what the assignment did, and what the treatment can have done."""

from __future__ import annotations

from collections.abc import Sequence

from plausible.base.records import record
from plausible.causal.partial.assumptions import Monotone
from plausible.causal.partial.bounds import Bounds, bounds
from plausible.causal.partial.instruments import (
    InstrumentalInequality,
    Interval,
    encouragement_effect,
    instrumental_inequality,
    natural_bounds,
    noncompliance_rate,
)
from plausible.causal.partial.linear_query import average_causal_effect, probability_of
from plausible.causal.partial.region import joint_intervals
from plausible.causal.partial.source import SourceLike, read_source
from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.graphs.causal_graph import CausalGraph

__all__ = ["NoncomplianceReport", "noncompliance_report"]


@record(eq=False)
class NoncomplianceReport:
    """A trial with assignment A, treatment T and outcome O, all binary; the second state of each is "yes".

    Attributes
    ----------
    table
        P(T, O | A).
    encouragement
        The effect of the assignment, P(o¹ | a¹) - P(o¹ | a⁰).
    noncompliance
        P(t⁰ | a¹) + P(t¹ | a⁰).
    natural
        The natural bounds on the effect of the treatment, which hold with or without defiers.
    effect
        The sharp ones; both allow for sampling noise at the level `effect.confidence`, unless it is `None`.
    treated, untreated
        Bounds on P(o¹ | do(t¹)) and P(o¹ | do(t⁰)).
    inequality
        Whether the table may come from an instrument at all.
    has_no_defiers
        Whether the sharp bounds assume that there are no defiers.
    """

    table: Factor
    encouragement: float
    noncompliance: float
    natural: Interval
    effect: Bounds
    treated: Bounds
    untreated: Bounds
    inequality: InstrumentalInequality
    has_no_defiers: bool = False

    @property
    def is_contradicted(self) -> bool:
        """Whether the model can't show the table, nor, with a confidence level, anything in the region around it."""
        return self.effect.violation > 0

    def __str__(self) -> str:
        level = "" if self.effect.confidence is None else f" at {self.effect.confidence:.0%} confidence"
        defiers = ", without defiers" if self.has_no_defiers else ""
        moved = ", of the nearest table that the model can show" if self.is_contradicted else ""
        lines = [
            f"encouragement effect   {self.encouragement:.4g}",
            f"noncompliance          {self.noncompliance:.4g}",
            f"natural bounds on ACE  [{self.natural.lower:.4g}, {self.natural.upper:.4g}]{level}",
            f"sharp bounds on ACE    [{self.effect.lower:.4g}, {self.effect.upper:.4g}]{level}{defiers}{moved}",
        ]
        if self.is_contradicted:
            away = f"{self.effect.violation:.4g} away in total from the nearest table that it can show"
            lines.insert(0, f"What is observed contradicts the model{level}{defiers}: {away}.")
        if not self.inequality.is_satisfied:
            lines.append(f"The instrumental inequality is violated by {self.inequality.excess:.4g}.")
        return "\n".join(lines)


def noncompliance_report(
    source: SourceLike,
    outcome: str,
    treatment: str,
    assignment: str,
    *,
    has_no_defiers: bool = False,
    confidence: float | None = None,
) -> NoncomplianceReport:
    """What a randomised trial says although some didn't take what they were assigned.

    The model is A -> T -> O with T <-> O: the assignment is random, and acts through the treatment only.

    Parameters
    ----------
    source
        The observed distribution, or data. Data that contradict the model are moved to the nearest that do not.
    outcome, treatment, assignment
        The names of three binary variables.
    has_no_defiers
        Whether to assume that nobody takes the treatment just because it was not assigned.
    confidence
        Allow for sampling noise in both kinds of bounds, at this level.

    References
    ----------
    Balke & Pearl (1997), Bounds on treatment effects from studies with imperfect compliance.

    Examples
    --------
    >>> import numpy as np
    >>> shares = [[[0.919, 0.081], [0.0, 0.0]], [[0.315, 0.073], [0.139, 0.473]]]
    >>> print(noncompliance_report(Factor({"A": 2, "T": 2, "O": 2}, np.array(shares) / 2), "O", "T", "A"))
    encouragement effect   0.465
    noncompliance          0.388
    natural bounds on ACE  [0.392, 0.78]
    sharp bounds on ACE    [0.392, 0.78]
    """
    trial = _trial_table(source, (assignment, treatment, outcome))
    variables, table = trial.scope, trial.values
    graph = CausalGraph([(assignment, treatment), (treatment, outcome), (treatment, "<->", outcome)])
    well = {outcome: variables[2].states[1]}
    taken, not_taken = ({treatment: variables[1].states[code]} for code in (1, 0))
    queries = {
        "effect": average_causal_effect(well, taken, not_taken),
        "treated": probability_of(well, do=taken),
        "untreated": probability_of(well, do=not_taken),
    }
    assumptions = [Monotone(treatment, assignment)] if has_no_defiers else []
    found = {
        name: bounds(graph, query, source, assumptions=assumptions, contradictions="project", confidence=confidence)
        for name, query in queries.items()
    }
    return NoncomplianceReport(
        table=trial,
        encouragement=encouragement_effect(table),
        noncompliance=noncompliance_rate(table),
        natural=natural_bounds(table) if confidence is None else _natural_region(source, trial.names, confidence),
        inequality=instrumental_inequality(table),
        has_no_defiers=has_no_defiers,
        **found,
    )


def _natural_region(source: SourceLike, names: Sequence[str], level: float) -> Interval:
    """The least and the greatest natural bounds of tables within a confidence region.

    They are p(o¹, t¹ | a¹) + p(o⁰, t⁰ | a⁰) - 1 ≤ ACE ≤ 1 - p(o⁰, t¹ | a¹) - p(o¹, t⁰ | a⁰), and so are widest where
    these four are least.
    """
    counts = read_source(source).tables(names).reshape(2, 4)
    least = joint_intervals(counts, level)[0].reshape(2, 2, 2)
    return Interval(float(least[1, 1, 1] + least[0, 0, 0] - 1.0), float(1.0 - least[1, 1, 0] - least[0, 0, 1]))


def _trial_table(source: SourceLike, names: tuple[str, str, str]) -> Factor:
    """P(T, O | A) of three binary variables."""
    observed = read_source(source)
    variables = [observed.variable(name) for name in names]
    for variable in variables:
        if variable.num_states != 2:
            raise InvalidArgument(f"{variable.name!r} has {variable.num_states} states, not two; see binarize.")
    joint = observed.tables(names)
    if not (joint.sum(axis=(1, 2)) > 0).all():
        raise InvalidArgument(f"Both states of {names[0]!r} must occur to be compared.")
    return Factor(variables, joint / joint.sum(axis=(1, 2), keepdims=True))
