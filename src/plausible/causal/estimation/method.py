"""What a method of estimation is: it looks at a task once, and then answers for any weights of the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from plausible.base.arrays import Floats
from plausible.causal.adjustment.problem import AdjustableGraph
from plausible.causal.estimation.positivity import PositivityReport
from plausible.causal.estimation.rows import EffectTask

__all__ = ["EffectMethod", "Means", "PreparedEstimate"]


class Means(NamedTuple):
    """E[Y | do(x)] and E[Y | do(x')], NaN where a method does not tell them, and their difference."""

    low: float
    high: float
    difference: float

    @classmethod
    def of(cls, means: Sequence[float] | Floats) -> Means:
        """With the difference of the two."""
        return cls(float(means[0]), float(means[1]), float(means[1] - means[0]))


@dataclass(frozen=True, slots=True, eq=False)
class PreparedEstimate:
    """A method that is ready to be asked, as often as there are resamples.

    Attributes
    ----------
    weights
        How many cases each row stands for.
    estimate
        Weights -> means.
    variables
        What the method used besides treatment and outcome: covariates, mediators, or an instrument and its conditions.
    positivity
        For methods that compare within strata.
    standard_error
        That of the difference by its influence function; `None` where only resampling tells.
    strength
        The F statistic of the first stage, for instruments.
    assumption
        What the estimate takes for granted besides the graph, as a clause; empty where nothing.
    """

    weights: Floats
    estimate: Callable[[Floats], Means]
    variables: tuple[str, ...] = ()
    positivity: PositivityReport | None = None
    standard_error: float | None = None
    strength: float | None = None
    assumption: str = ""


@runtime_checkable
class EffectMethod(Protocol):
    """A way to estimate an effect."""

    @property
    def name(self) -> str:
        """What the method is called."""

    def prepare(self, task: EffectTask, graph: AdjustableGraph) -> PreparedEstimate:
        """Read the columns, check the graph, and refuse what can't be estimated."""
