"""Trials in which not everybody takes what he is assigned: closed forms, and the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from plausible.base import TABLE_ROUNDING, WRITTEN_ROUNDING, Floats, Result, record
from plausible.causal.partial.bounds import Bounds, bounds
from plausible.causal.partial.district import SourceLike, read_source
from plausible.causal.partial.linear_query import Monotone, average_causal_effect, probability_of
from plausible.causal.partial.systems import joint_intervals
from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.graphs.causal_graph import CausalGraph


def binarize(values: npt.ArrayLike, threshold: float | None = None) -> Floats:
    """One where a value reaches the threshold, else zero; NaN, which is missing, stays.

    The dose that somebody took is cut at the middle of its range, what came of it at an improvement that matters
    (Koller & Friedman 2009, box 21.B); then bounds for binary variables apply.

    Parameters
    ----------
    threshold
        The least value that counts; the middle between the least and the greatest one where left out.

    Examples
    --------
    >>> binarize([0.0, 20.0, 60.0, 100.0])
    array([0., 0., 1., 1.])
    >>> binarize([-40.0, 5.0, 28.0], threshold=28.0)
    array([0., 0., 1.])
    """
    numbers = np.asarray(values, dtype=np.float64)
    is_known = ~np.isnan(numbers)
    if threshold is None:
        if not is_known.any():
            raise InvalidArgument("There is no value whose range could be cut; give a threshold=.")
        threshold = float(numbers[is_known].min() / 2.0 + numbers[is_known].max() / 2.0)
    if not np.isfinite(threshold):
        raise InvalidArgument(f"threshold= is a number, not {threshold!r}.")
    return np.where(is_known, (numbers >= threshold).astype(np.float64), np.nan)


class EffectInterval(NamedTuple):
    """From lower to upper; empty where lower exceeds upper."""

    lower: float
    upper: float

    @property
    def width(self) -> float:
        """upper - lower."""
        return self.upper - self.lower


def encouragement_effect(table: npt.ArrayLike) -> float:
    """P(o¹ | a¹) - P(o¹ | a⁰): the effect of the assignment, by intention to treat.

    Under full compliance it is the effect of the treatment.

    Parameters
    ----------
    table
        P(t, o | a), axes (a, t, o), all binary; state 1 is "assigned", "taken", "well".

    Examples
    --------
    >>> cholestyramine = [[[0.919, 0.081], [0.0, 0.0]], [[0.315, 0.073], [0.139, 0.473]]]
    >>> round(encouragement_effect(cholestyramine), 3)
    0.465
    """
    p = _checked(table)
    return float(p[1, :, 1].sum() - p[0, :, 1].sum())


def noncompliance_rate(table: npt.ArrayLike) -> float:
    """P(t⁰ | a¹) + P(t¹ | a⁰), the width of the natural bounds.

    Parameters are those of `encouragement_effect`.

    >>> cholestyramine = [[[0.919, 0.081], [0.0, 0.0]], [[0.315, 0.073], [0.139, 0.473]]]
    >>> round(noncompliance_rate(cholestyramine), 3)
    0.388
    """
    p = _checked(table)
    return float(p[1, 0].sum() + p[0, 1].sum())


def natural_bounds(table: npt.ArrayLike) -> EffectInterval:
    """Bounds on the ACE that always hold, and are sharp where nobody defies the assignment.

    enc - P(o¹, t⁰ | a¹) - P(o⁰, t¹ | a⁰) ≤ ACE ≤ enc + P(o⁰, t⁰ | a¹) + P(o¹, t¹ | a⁰), with the encouragement effect
    enc (Robins 1989; Manski 1990). Parameters are those of `encouragement_effect`.

    >>> cholestyramine = [[[0.919, 0.081], [0.0, 0.0]], [[0.315, 0.073], [0.139, 0.473]]]
    >>> [round(end, 3) for end in natural_bounds(cholestyramine)]
    [0.392, 0.78]
    """
    p, effect = _checked(table), encouragement_effect(table)
    return EffectInterval(float(effect - p[1, 0, 1] - p[0, 1, 0]), float(effect + p[1, 0, 0] + p[0, 1, 1]))


def instrument_bounds(table: npt.ArrayLike) -> EffectInterval:
    """The sharp bounds on the ACE of the binary instrumental model, in closed form (Balke & Pearl 1997).

    Each end is the best of eight linear functions of the table: the vertices of the dual linear programs. Where the
    table contradicts the model, the interval may be empty. Parameters are those of `encouragement_effect`.

    Nobody got well but the untaken, assigned or not:

    >>> instrument_bounds([[[0.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [1.0, 0.0]]])
    EffectInterval(lower=-1.0, upper=-1.0)
    """
    p = _checked(table)
    lowers, uppers = [], []
    # q[a, o, t], as in the paper, where half of the functions are the others with the assignments exchanged.
    for q in (p.transpose(0, 2, 1), p[::-1].transpose(0, 2, 1)):
        lowers += [
            q[1, 1, 1] + q[0, 0, 0] - 1.0,
            q[0, 1, 1] - q[1, 1, 1] - q[1, 1, 0] - q[0, 0, 1] - q[0, 1, 0],
            -q[1, 0, 1] - q[1, 1, 0],
            q[1, 0, 0] - q[1, 0, 1] - q[1, 1, 0] - q[0, 0, 1] - q[0, 0, 0],
        ]
        uppers += [
            1.0 - q[1, 0, 1] - q[0, 1, 0],
            -q[0, 0, 1] + q[1, 0, 1] + q[1, 0, 0] + q[0, 1, 1] + q[0, 0, 0],
            q[1, 1, 1] + q[1, 0, 0],
            -q[1, 1, 0] + q[1, 1, 1] + q[1, 0, 0] + q[0, 1, 1] + q[0, 1, 0],
        ]
    return EffectInterval(float(max(lowers)), float(min(uppers)))


class InstrumentalInequality(NamedTuple):
    """Whether a table may come from an instrument: Σ_o max_a P(t, o | a) ≤ 1 for every state of the treatment."""

    sums: tuple[float, ...]  # The left side for each state of the treatment

    @property
    def excess(self) -> float:
        """By how much the inequality is violated; zero where it holds."""
        return max(0.0, max(self.sums) - 1.0)

    @property
    def is_satisfied(self) -> bool:
        """Whether it holds, up to rounding."""
        return self.excess <= WRITTEN_ROUNDING


def instrumental_inequality(table: npt.ArrayLike) -> InstrumentalInequality:
    """Pearl's test of an instrument, for any numbers of states.

    Necessary always; sufficient where all three variables are binary (Pearl 1995; Bonet 2001).

    Parameters
    ----------
    table
        P(t, o | a), axes (a, t, o).

    Examples
    --------
    The assignment changes the outcome while the treatment stays the same:

    >>> instrumental_inequality([[[0.0, 1.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]]])
    InstrumentalInequality(sums=(2.0, 0.0))
    """
    p = _checked(table, is_binary=False)
    return InstrumentalInequality(tuple(p.max(axis=0).sum(axis=-1).tolist()))


def _checked(table: npt.ArrayLike, *, is_binary: bool = True) -> Floats:
    p = np.asarray(table, dtype=np.float64)
    if p.ndim != 3 or not p.size or not (p >= 0).all() or not np.allclose(p.sum(axis=(1, 2)), 1.0, atol=TABLE_ROUNDING):
        raise InvalidArgument("The table P(t, o | a), axes (a, t, o), sums to one for each state of the assignment.")
    if is_binary and p.shape != (2, 2, 2):
        raise InvalidArgument(
            f"The table P(t, o | a) of three binary variables has the shape (2, 2, 2), not {p.shape}."
        )
    return p


@record(eq=False)
class NoncomplianceReport(Result):
    """A trial with assignment A, treatment T and outcome O, all binary; the second state of each is "yes"."""

    table: Factor  # P(T, O | A)
    encouragement: float  # The effect of the assignment, P(o¹ | a¹) - P(o¹ | a⁰)
    noncompliance: float  # P(t⁰ | a¹) + P(t¹ | a⁰)
    natural: EffectInterval  # The natural bounds on the effect of the treatment, which hold with or without defiers
    #: The sharp ones; both allow for sampling noise at the level `effect.confidence`, unless it is `None`.
    effect: Bounds
    #: Bounds on P(o¹ | do(t¹)) and P(o¹ | do(t⁰)).
    treated: Bounds
    untreated: Bounds
    inequality: InstrumentalInequality  # Whether the table may come from an instrument at all
    has_no_defiers: bool = False  # Whether the sharp bounds assume that there are no defiers

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

    The model is A -> T -> O with T <-> O: the assignment is random, and acts through the treatment only. See Balke &
    Pearl (1997), Bounds on treatment effects from studies with imperfect compliance.

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


def _natural_region(source: SourceLike, names: Sequence[str], level: float) -> EffectInterval:
    """The least and the greatest natural bounds of tables within a confidence region.

    They are p(o¹, t¹ | a¹) + p(o⁰, t⁰ | a⁰) - 1 ≤ ACE ≤ 1 - p(o⁰, t¹ | a¹) - p(o¹, t⁰ | a⁰), and so are widest where
    these four are least.
    """
    counts = read_source(source).tables(names).reshape(2, 4)
    least = joint_intervals(counts, level)[0].reshape(2, 2, 2)
    return EffectInterval(float(least[1, 1, 1] + least[0, 0, 0] - 1.0), float(1.0 - least[1, 1, 0] - least[0, 0, 1]))


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
