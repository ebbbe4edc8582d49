"""The beliefs about many variables at once, as a dictionary that prints as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from plausible.base import TextTable, chart_by, format_number, num_shown
from plausible.errors import UnknownVariable
from plausible.factors.factor import Factor
from plausible.variables import State

if TYPE_CHECKING:
    import pandas as pd

    from plausible.base.pictured import Axes, Chart

#: States beyond these are left out of a row.
_MAX_STATES = 8


class Marginals(dict[str, Factor]):
    """Name -> marginal distribution: a dictionary in all but its looks and its error for an unknown name.

    >>> Marginals({"coin": Factor({"coin": ["heads", "tails"]}, [0.25, 0.75])})
    variable | distribution
    ---------+-----------------------
    coin     | heads 0.25, tails 0.75
    """

    __slots__ = ()

    def __missing__(self, name: str) -> NoReturn:
        raise UnknownVariable.named(name, self, "these answers")

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw a strip for each variable, parted among its states; it needs matplotlib (the extra `plot`)."""
        return chart_by("plot_marginals", self, ax)

    def __repr__(self) -> str:
        return str(self._table()) if self else "{}"

    def _repr_html_(self) -> str:
        return self._table().to_html()

    def to_dict(self) -> dict[str, dict[State, float]]:
        """Name -> state -> probability.

        >>> Marginals({"coin": Factor({"coin": ["heads", "tails"]}, [0.25, 0.75])}).to_dict()
        {'coin': {'heads': 0.25, 'tails': 0.75}}
        """
        return {name: factor.to_dict() for name, factor in self.items()}

    def to_frame(self) -> pd.DataFrame:
        """A row for each state of each variable, with columns variable, state and probability."""
        import pandas as pd

        rows = [(name, state, chance) for name, chances in self.to_dict().items() for state, chance in chances.items()]
        return pd.DataFrame(rows, columns=["variable", "state", "probability"])

    def _table(self) -> TextTable:
        """A row for each variable."""
        shown = list(self.items())[: num_shown(len(self))]
        rows = tuple((name, _distribution(factor)) for name, factor in shown)
        return TextTable(("variable", "distribution"), rows, 2, len(self) - len(rows))


def _distribution(factor: Factor) -> str:
    states, values = factor.scope[0].states, factor.flat.tolist()
    parts = [f"{state} {format_number(value)}" for state, value in zip(states[:_MAX_STATES], values, strict=False)]
    more = [f"... ({len(states)} states)"] if len(states) > _MAX_STATES else []
    return ", ".join([*parts, *more])
