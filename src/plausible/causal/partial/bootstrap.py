"""The bootstrap of bounds: how the ends scatter when the data are drawn again."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.options import check_count
from plausible.base.records import record
from plausible.base.seeds import Seed, generator_of
from plausible.causal.functional.responses import written_product
from plausible.causal.partial.assumptions import AssumptionsLike, Limit, read_assumptions
from plausible.causal.partial.bounds import Bounds, check_order, read_systems, solved
from plausible.causal.partial.linear_query import LinearQuery
from plausible.causal.partial.source import Observed, SourceLike, read_source
from plausible.causal.partial.systems import Contradictions
from plausible.causal.queries.arguments import CausalLike
from plausible.errors import ImpossibleEvidence, InvalidArgument, ModelContradicted, TooLarge, counted
from plausible.learn.structures.task import check_progress
from plausible.search.clock import Clock

#: The largest joint table of all variables that the bounds look at.
_MAX_CELLS = 2**22


@record(eq=False)
class BootstrappedBounds:
    """Bounds of data, and of samples of them."""

    bounds: Bounds  # Those of the data as they are
    #: The ends of each sample; NaN where a sample makes the evidence impossible or contradicts a limit.
    lowers: Floats
    uppers: Floats
    violations: Floats  # By how much each sample had to be moved to something that the graph can show

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
    data
        Rows, or statistics of them.
    num_samples
        How many samples to draw.
    progress
        Called with the number of samples done and of all; an answer that is true stops.

    Examples
    --------
    >>> from plausible.causal.partial.linear_query import probability_of
    >>> rows = {"X": [0] * 60 + [1] * 40, "Y": [0] * 40 + [1] * 50 + [0] * 10}
    >>> found = bootstrap_bounds("X -> Y; X <-> Y", probability_of({"Y": 1}, do={"X": 1}), rows, num_samples=50)
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
    watched = _Watched(observed)
    whole = solved(query, read_systems(graph, watched.observed, listed), limits)
    counts = watched.joint()
    samples: list[tuple[float, float, float]] = []
    for rng in generator_of(seed).spawn(num_samples):
        drawn = _drawn(observed, watched.names, counts, rng)
        try:
            found = solved(query, read_systems(graph, drawn, listed, Contradictions.PROJECT), limits)
            samples.append((found.lower, found.upper, found.violation))
        except (ImpossibleEvidence, ModelContradicted):
            samples.append((math.nan, math.nan, math.nan))
        if (progress is not None and progress(len(samples), num_samples)) or clock.is_over:
            break
    lowers, uppers, violations = np.array(samples).T
    return BootstrappedBounds(whole, lowers, uppers, violations)


@dataclass(slots=True, eq=False)
class _Watched:
    """Observations that remember which variables were looked at."""

    source: Observed
    _seen: dict[str, None] = field(default_factory=dict)

    @property
    def observed(self) -> Observed:
        """The same, under watch."""

        def tables(names: Sequence[str]) -> Floats:
            self._seen.update(dict.fromkeys(names))
            return self.source.tables(names)

        return Observed(self.source.variables, tables, self.source.total)

    @property
    def names(self) -> list[str]:
        """The variables that were looked at."""
        return list(self._seen)

    def joint(self) -> Floats:
        """Their joint counts."""
        sizes = [self.source.variables[name].num_states for name in self._seen]
        if math.prod(sizes) > _MAX_CELLS:
            raise TooLarge(
                f"The bounds look at {self.names} with {written_product(sizes)} joint states; at most {_MAX_CELLS} fit."
            )
        return self.source.tables(self.names) if self._seen else np.array(self.source.total)


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
