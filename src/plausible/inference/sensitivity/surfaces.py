"""A posterior as a function of two parameters: each of its two sums is bilinear, so that four corners tell it all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from plausible.base import Floats, Result, chart_by, record
from plausible.errors import InvalidArgument
from plausible.inference.sensitivity.parameters import Event, Parameter
from plausible.variables import Evidence, EvidenceLike, likelihood
from plausible.variables.evidence import findings_of

if TYPE_CHECKING:
    from plausible.base.pictured import Axes, Chart


@record(eq=False)
class SensitivitySurface(Result):
    """P(x | e) as a function of two parameters, the other entries of their rows in proportion.

    P(x, e) and P(e) are aθη + bθ + cη + d, where θ and η are entries of different rows (Chan & Darwiche 2004). Corners
    are arrays with axes (θ, η), each at 0 and at 1; both are relative to the largest P(e) among them. Where the
    evidence is impossible the answer is NaN.
    """

    _told = ("parameters", "event", "current", "value")

    parameters: tuple[Parameter, Parameter]  # Which entries θ and η are
    event: str  # x, as text
    current: tuple[float, float]  # The present values of θ and η
    joint_corners: Floats  # P(x, e)
    evidence_corners: Floats  # P(e)

    @overload
    def __call__(self, first: float, second: float) -> float: ...
    @overload
    def __call__(self, first: Floats, second: Floats) -> Floats: ...
    def __call__(self, first: float | Floats, second: float | Floats) -> float | Floats:
        """P(x | e) where θ and η have these values, or each of these."""
        at = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
        if not all(((values >= 0) & (values <= 1)).all() for values in at):
            raise InvalidArgument(f"Parameters of tables are probabilities, from 0 to 1, not {first!r} and {second!r}.")
        above, below = (_bilinear(corners, *at) for corners in (self.joint_corners, self.evidence_corners))
        answer = np.divide(above, below, out=np.full(np.shape(below), np.nan), where=below > 0)
        return float(answer) if np.ndim(answer) == 0 else answer

    @property
    def value(self) -> float:
        """P(x | e) at the present values."""
        return self(*self.current)

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw lines of equal probability over both parameters; it needs matplotlib (the extra `plot`)."""
        return chart_by("plot_surface", self, ax)

    def __str__(self) -> str:
        at = " and ".join(f"{p} = {value:.6g}" for p, value in zip(self.parameters, self.current, strict=True))
        return f"P({self.event} | e) = {self.value:.6g} at {at}"


def _bilinear(corners: Floats, first: Floats, second: Floats) -> Floats:
    before, after = (corners[i, 0] * (1 - second) + corners[i, 1] * second for i in (0, 1))
    return np.asarray(before * (1 - first) + after * first)


def check_rows(parameters: tuple[Parameter, Parameter]) -> None:
    """Refuse two entries of one row: what one gets, the other loses."""
    first, second = parameters
    if (first.child, first.place[:-1]) == (second.child, second.place[:-1]):
        raise InvalidArgument(f"{first} and {second} are in one row, which sums to one: vary one of them alone.")


def with_entry(table: Floats, place: tuple[int, ...], value: float) -> Floats:
    """A table with one entry set, the others of its row in proportion; equal where all of them are zero."""
    changed = np.array(table)
    row = changed[place[:-1]]
    others = np.arange(len(row)) != place[-1]
    left = row[others].sum()
    row[others] = (1 - value) * (row[others] / left if left > 0 else 1 / max(others.sum(), 1))
    row[place[-1]] = value if len(row) > 1 else 1.0
    return changed


def with_event(evidence: EvidenceLike | None, event: Event) -> dict[str, Any] | None:
    """The findings, and that a variable is in a state; `None` where they contradict each other at once."""
    findings, variable = dict(findings_of(evidence)), event.variable
    weights = np.ones(variable.num_states)
    if variable.name in findings:
        own = Evidence.read({variable.name: findings[variable.name]}, {variable.name: variable})
        weights = own.soft.get(variable.name, np.arange(variable.num_states) == own.hard.get(variable.name))
    weights = np.where(np.arange(variable.num_states) == variable.index(event.state), weights, 0.0)
    return {**findings, variable.name: likelihood(weights)} if weights.any() else None
