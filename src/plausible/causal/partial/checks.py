"""Checks of bounds: how they scatter when data are drawn again, and whether what is observed contradicts the graph."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from plausible.base import Floats, Result, Seed, chart_by, check_count, generator_of, record
from plausible.causal.functional.responses import written_product
from plausible.causal.partial.bounds import Bounds, check_order, limited_program, read_systems, solved
from plausible.causal.partial.district import Observed, SourceLike, build_district, polytope, read_source
from plausible.causal.partial.linear_query import AssumptionsLike, Limit, LinearQuery, read_assumptions
from plausible.causal.partial.systems import ROUNDING, Contradictions, confidence_polytope, smallest_violation
from plausible.causal.queries.observed import CausalLike
from plausible.errors import ImpossibleEvidence, InvalidArgument, ModelContradicted, TooLarge, counted
from plausible.learn.structures.knowledge import check_progress
from plausible.search.run import Clock

if TYPE_CHECKING:
    from plausible.base.pictured import Axes, Chart

#: The largest joint table of all variables that the bounds look at.
_MAX_CELLS = 2**22


@record(eq=False)
class BootstrappedBounds(Result):
    """Bounds of data, and of samples of them."""

    bounds: Bounds  # Those of the data as they are
    #: The ends of each sample; NaN where a sample makes the evidence impossible or contradicts a limit.
    lowers: Floats
    uppers: Floats
    violations: Floats  # By how much each sample had to be moved to something that the graph can show

    def plot(self, ax: Axes | None = None, *, level: float = 0.95) -> Chart:
        """Draw the bounds of the data and those of samples; it needs matplotlib (the extra `plot`)."""
        return chart_by(
            "plot_intervals", {"data": self.bounds, f"{level:.0%}": self.interval(level)}, ax, str(self.bounds.query)
        )

    def __str__(self) -> str:
        num_samples = int((~np.isnan(self.lowers)).sum())
        if not num_samples:
            return f"{self.bounds}\nno sample has bounds"
        low, high = self.interval()
        return f"{self.bounds}\n95% interval of {counted(num_samples, 'sample')}: {low:.6g} to {high:.6g}"

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """From a low quantile of the lower ends to a high one of the upper ends.

        The ends are a maximum and a minimum of smooth functions, whose bootstrap is approximate where several of these
        are equal; `bounds(..., confidence=level)` covers in any case, and is wider.
        """
        if not 0.0 < level < 1.0:
            raise InvalidArgument(f"level= is a probability such as 0.95, not {level!r}.")
        if np.isnan(self.lowers).all():
            raise InvalidArgument("No sample has bounds, and so there is no interval.")
        tail = (1.0 - level) / 2.0
        return float(np.nanquantile(self.lowers, tail)), float(np.nanquantile(self.uppers, 1.0 - tail))


def bootstrap_bounds(
    graph: CausalLike,
    query: LinearQuery,
    data: SourceLike,
    *,
    assumptions: AssumptionsLike = (),
    num_samples: int = 200,
    seed: Seed = 0,
    progress: Callable[[int, int], object] | None = None,
    time_limit: float | None = None,
) -> BootstrappedBounds:
    """The bounds of data and of many samples of them, drawn with replacement.

    Samples that the graph can't show are projected to what it can; data that contradict it beyond sampling noise are
    refused. Costs the linear programs of one call of `bounds` for each sample.

    Parameters
    ----------
    graph, query, assumptions
        As in `bounds`.
    progress
        Called with the number of samples done and of all; an answer that is true stops.

    Examples
    --------
    >>> from plausible.causal.partial.linear_query import probability_of
    >>> rows = {"X": [0] * 60 + [1] * 40, "Y": [0] * 40 + [1] * 50 + [0] * 10}
    >>> found = bootstrap_bounds("X -> Y; X <-> Y", probability_of({"Y": 1}, do={"X": 1}), rows, num_samples=20)
    >>> print(found.bounds)
    0.3 <= P(Y[X=1]=1) <= 0.9
    >>> low, high = found.interval(0.9)
    >>> 0.15 < low < 0.3, 0.9 < high < 1.0
    (True, True)
    """
    check_order(graph, query, data)
    check_count("num_samples", num_samples, 1)
    clock = Clock.of(time_limit)
    check_progress(progress)
    observed, listed = read_source(data), read_assumptions(assumptions)
    if not observed.is_sample:
        raise InvalidArgument("The bootstrap needs data: a distribution has no sampling noise.")
    limits = [one for one in listed if isinstance(one, Limit)]
    seen: dict[str, None] = {}

    def watched(names: Sequence[str]) -> Floats:
        seen.update(dict.fromkeys(names))
        return observed.tables(names)

    systems = read_systems(graph, Observed(observed.variables, watched, observed.total), listed)
    whole, names = solved(query, systems, limits), list(seen)
    sizes = [observed.variables[name].num_states for name in names]
    if math.prod(sizes) > _MAX_CELLS:
        raise TooLarge(
            f"The bounds look at {names} with {written_product(sizes)} joint states; at most {_MAX_CELLS} fit."
        )
    counts = observed.tables(names) if names else np.array(observed.total)
    samples: list[tuple[float, float, float]] = []
    for rng in generator_of(seed).spawn(num_samples):
        drawn = _drawn(observed, names, counts, rng)
        try:
            found = solved(query, read_systems(graph, drawn, listed, Contradictions.PROJECT), limits)
            samples.append((found.lower, found.upper, found.violation))
        except (ImpossibleEvidence, ModelContradicted):
            samples.append((math.nan, math.nan, math.nan))
        if (progress is not None and progress(len(samples), num_samples)) or clock.is_over:
            break
    lowers, uppers, violations = np.array(samples).T
    return BootstrappedBounds(whole, lowers, uppers, violations)


def _drawn(observed: Observed, names: Sequence[str], counts: Floats, rng: np.random.Generator) -> Observed:
    total = counts.sum()
    sample = rng.multinomial(round(float(total)), counts.ravel() / total).reshape(counts.shape).astype(np.float64)
    axes = {name: axis for axis, name in enumerate(names)}

    def tables(wanted: Sequence[str]) -> Floats:
        places = [axes[name] for name in wanted]
        summed = sample.sum(axis=tuple(axis for axis in range(sample.ndim) if axis not in places))
        kept = sorted(places)
        return np.asarray(summed.transpose([kept.index(place) for place in places]))

    return Observed(observed.variables, tables, float(total))


@record
class Falsification(Result):
    """How far what is observed is from what a graph can show."""

    #: District -> the least Σ |shown - observed| over distributions of its response types, whatever the limits.
    violations: Mapping[tuple[str, ...], float]
    #: The level of the region around data within which everything counts as shown; `None` without one.
    confidence: float | None
    #: By how much in total the limits are missed by the types that show what is observed, or the nearest to it.
    missed_limits: float = 0.0
    limits: tuple[Limit, ...] = ()  # What was claimed of quantities

    @property
    def is_contradicted(self) -> bool:
        """Whether no model of the graph shows what is observed and keeps the limits."""
        return any(violation > ROUNDING for violation in (*self.violations.values(), self.missed_limits))

    def __str__(self) -> str:
        within = "" if self.confidence is None else f" within the {self.confidence:.0%} confidence region of the data"
        if not self.is_contradicted:
            return f"Not contradicted: the graph can show what is observed{within}."
        far = [f"{', '.join(names)} by {far:.4g}" for names, far in self.violations.items() if far > ROUNDING]
        shown = f"no model of the graph shows what is observed{within}; nearest: {'; '.join(far)}"
        if not far:
            shown = f"the graph can show what is observed{within}"
        if self.missed_limits <= ROUNDING:
            return f"Contradicted: {shown}."
        claims = "; ".join(map(str, self.limits))
        missed = f"the limits {claims} are missed by at least {self.missed_limits:.4g} in total"
        if len(self.limits) == 1:
            missed = f"the limit {claims} is missed by at least {self.missed_limits:.4g}"
        return f"Contradicted: {shown}{'; and' if far else ', but'} {missed}."


def falsification(
    graph: CausalLike, source: SourceLike, *, assumptions: AssumptionsLike = (), confidence: float | None = None
) -> Falsification:
    """Whether what is observed contradicts a causal graph, district by district.

    A district that latent causes join must have response types; that they can't be negative are inequalities such as
    that of an instrument. Independences of the graph are not looked at: those are tested by separation.

    Parameters
    ----------
    assumptions
        What else is claimed: `Monotone`, `NoDirectEffect`, `Limit`; one or several.
    confidence
        With data: contradict only what contradicts everything within a confidence region at this level. Then a true
        graph is contradicted with probability 1 - confidence at most in each district.

    Examples
    --------
    The outcome follows the assignment although the treatment never changes:

    >>> from plausible.factors import Factor
    >>> trial = Factor({"A": 2, "T": 2, "O": 2}, [[[0.5, 0.0], [0.0, 0.0]], [[0.0, 0.5], [0.0, 0.0]]])
    >>> found = falsification("A -> T -> O; T <-> O", trial)
    >>> found.is_contradicted, round(found.violations["T", "O"], 6)
    (True, 2.0)
    >>> print(found)
    Contradicted: no model of the graph shows what is observed; nearest: T, O by 2.
    """
    listed = read_assumptions(assumptions)
    systems = read_systems(graph, read_source(source), listed, Contradictions.PROJECT, confidence)
    violations = {}
    for members in dict.fromkeys(systems.members(node) for node in systems.graph.nodes):
        if len(members) == 1 and not any(one.variable == members[0] for one in systems.assumptions):
            continue
        district = build_district(systems.graph, members, systems.observed, systems.assumptions)
        if confidence is None:
            shown = polytope(systems.graph, district, systems.observed)
        else:
            shown = confidence_polytope(systems.graph, district, systems.observed, confidence)
        violations[district.names] = smallest_violation(shown)
    limits = tuple(one for one in listed if isinstance(one, Limit))
    missed = limited_program((), systems, limits).missed_limits()
    return Falsification(violations, confidence, missed, limits)
