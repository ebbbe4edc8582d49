"""What single observations are worth, each by itself, the best first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from plausible.base import Result, TextTable, chart_by, format_number, ranked, record
from plausible.decisions.diagram import Diagram
from plausible.decisions.information.observing import (
    informative,
    observing,
    read_candidates,
    seen_tables,
)
from plausible.decisions.information.value import NOT_PROVED, gain
from plausible.decisions.solving.problem import SolvingOptions
from plausible.decisions.solving.solve import Asked
from plausible.decisions.totals import utility_rounding
from plausible.errors import TooLarge, UnknownVariable
from plausible.variables.evidence import EvidenceLike

if TYPE_CHECKING:
    from plausible.base.pictured import Axes, Chart

#: Beyond so many entries one tree for all variables takes longer than a small one for each.
_MAX_TREE = 2**22


@record
class InformationValue(Result):
    """What it is worth to see some variables, and what it costs."""

    _also = ("net_value",)

    variables: tuple[str, ...]  # What is seen
    value: float  # MEU with them less MEU without
    cost: float  # What it costs to see them all, in units of utility or of a budget
    is_charged: bool = True  # Whether the cost is taken off the value

    @property
    def net_value(self) -> float:
        """The value less the cost; the value itself where that counts for a budget alone."""
        return self.value - self.cost if self.is_charged else self.value

    def __str__(self) -> str:
        what = ", ".join(self.variables) or "nothing"
        return f"{what}: worth {format_number(self.value)}, net {format_number(self.net_value)}"


@record
class ObservationRanking(Result):
    """Single observations by what they are worth, net of their costs; the best first."""

    _rows = "values"

    decision: str  # The first decision that would see the variable; later ones would, too
    expected_utility: float  # MEU without any of them
    values: tuple[InformationValue, ...]  # The value of each
    is_exact: bool = True  # Whether all strategies behind it are proved best

    @property
    def best(self) -> InformationValue | None:
        """The single observation to make; none where no one is worth its cost."""
        return self.values[0] if self.values and self.values[0].net_value > 0 else None

    def __getitem__(self, variable: str) -> InformationValue:
        for single in self.values:
            if single.variables == (variable,):
                return single
        raise UnknownVariable.named(variable, [single.variables[0] for single in self.values], "this ranking")

    def to_table(self) -> TextTable:
        """A row for each variable."""
        rows = tuple(
            (single.variables[0], *map(format_number, (single.value, single.cost, single.net_value)))
            for single in self.values
        )
        return TextTable(("variable", "value", "cost", "net"), rows, 1)

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw what each observation is worth; it needs matplotlib (the extra `plot`)."""
        return chart_by("plot_values", self.values, ax, f"Observations at {self.decision}")

    def __str__(self) -> str:
        title = f"Observations at {self.decision}; expected utility without {format_number(self.expected_utility)}."
        notes = [] if self.is_exact else [NOT_PROVED]
        return "\n".join([title, *notes, str(self.to_table()) if self.values else "There is nothing to observe."])


def rank_observations(
    diagram: Diagram,
    decision: str | None = None,
    candidates: Iterable[str] | None = None,
    costs: float | Mapping[str, float] | None = None,
    evidence: EvidenceLike | None = None,
    options: SolvingOptions | None = None,
) -> ObservationRanking:
    """VPI(D | X) of every variable X that could be seen at D: myopic, each as if it were the only one.

    With one decision all values come from one calibration of a clique tree in which each variable lies together with
    what the decision sees; with several, or where such a tree is too large, a diagram is solved for each variable.
    Variables that are d-separated from the utilities are worth nothing, and not looked at.

    Dittmer & Jensen (1997), Myopic value of information in influence diagrams, UAI. Koller & Friedman (2009),
    Probabilistic graphical models, exercise 23.14.

    Parameters
    ----------
    decision
        D; not needed where there is only one.
    candidates
        The variables to rank; by default all chance variables that D neither sees nor influences.
    costs
        What it costs to see each variable, or a number for all; what is not named is free.
    evidence
        What is known before any decision is made; rank again with more of it as observations come in.

    Examples
    --------
    >>> import plausible as pb
    >>> diagram = pb.examples.load("startup")
    >>> print(rank_observations(diagram, costs={"survey": 1, "market": 4}))
    Observations at found; expected utility without 2.
    variable | value | cost |  net
    ---------+-------+------+-----
    survey   |  1.25 |    1 | 0.25
    market   |   3.5 |    4 | -0.5
    """
    first, prices = read_candidates(diagram, decision, candidates, costs)
    names = tuple(prices)
    asked = Asked(diagram, evidence, options)
    before = asked.solved()
    gains, is_exact = _values(asked, first, names, before.expected_utility)
    values = [InformationValue((name,), gains[name], prices[name]) for name in names]
    ordered = tuple(ranked(values, lambda value: value.net_value, utility_rounding(diagram)))
    return ObservationRanking(first, before.expected_utility, ordered, is_exact and before.is_optimal)


def _values(asked: Asked, decision: str, names: tuple[str, ...], before: float) -> tuple[dict[str, float], bool]:
    """Variable -> VPI, and whether all solutions are proved best."""
    diagram, left = asked.diagram, names
    rounding = utility_rounding(diagram)
    if len(diagram.decisions) == 1:
        useful = informative(diagram, decision, asked.evidence)
        left = tuple(name for name in names if name in useful and name not in diagram.decisions[decision].sees)
        try:
            tables = seen_tables(diagram, decision, [[name] for name in left], asked.evidence, _MAX_TREE)
        except TooLarge:  # one at a time needs less room: what a decision need not know is dropped
            tables = None
        if tables is not None:
            worths = (table.expected_utility() for table in tables)
            worth = {name: gain(value, before, rounding) for name, value in zip(left, worths, strict=True)}
            return {name: worth.get(name, 0.0) for name in names}, True
    solutions = {name: asked.solved(observing(diagram, [name], decision)) for name in left}
    worth = {name: gain(solution.expected_utility, before, rounding) for name, solution in solutions.items()}
    is_exact = all(solution.is_optimal for solution in solutions.values())
    return {name: worth.get(name, 0.0) for name in names}, is_exact
