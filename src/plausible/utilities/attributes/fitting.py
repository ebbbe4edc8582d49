"""A decomposed utility from elicited values of whole outcomes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.base import DETERMINED, SMALLEST, Floats, Result, record
from plausible.data.columns import encode_columns
from plausible.errors import InvalidArgument, close_match, counted, shortened
from plausible.factors.alignment import read_scope
from plausible.factors.definite import pivoted_root
from plausible.utilities.attributes.additive_utility import AdditiveUtility, UtilityBasis, sum_text, utility_basis
from plausible.utilities.attributes.outcome_tables import Names, lost_by_rounding, read_numbers
from plausible.variables import State, Variable

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame


#: Variables, or a mapping from names to states.
Attributes: TypeAlias = Iterable[Variable] | Mapping[str, Iterable[State] | int]
#: A frame, a mapping from names to columns, or a list of outcomes, each a mapping from attributes to states.
Outcomes: TypeAlias = "IntoDataFrame | Mapping[str, Sequence[Any]] | Sequence[Mapping[str, State]]"


@record(eq=False)
class UtilityFit(Result):
    """A decomposed utility fitted to answers."""

    #: The sum of parts with the least weighted squares of residuals; of several, the one of least norm.
    utility: AdditiveUtility
    residuals: Floats  # Answer less fit, for each outcome
    num_identified: int  # How many free parameters the answers determine
    #: Orthogonal directions in which the utility can be changed without a change of any fitted answer: what to ask
    #: about next. Empty where the answers determine the utility.
    unidentified: tuple[AdditiveUtility, ...]

    @property
    def root_mean_square(self) -> float:
        """The root of the mean square of the residuals; zero where there are none."""
        return float(np.sqrt(np.sum(self.residuals**2) / max(1, len(self.residuals))))

    @property
    def num_free_parameters(self) -> int:
        """The number of free parameters of the decomposition."""
        return self.num_identified + len(self.unidentified)

    def is_determined(self, outcome: Mapping[str, State], tolerance: float = 1e-9) -> bool:
        """Whether the answers determine the utility of an outcome."""
        return all(abs(direction[outcome]) <= tolerance for direction in self.unidentified)

    def __str__(self) -> str:
        known = f"{self.num_identified} of {counted(self.num_free_parameters, 'free parameter')}"
        answers = f"{counted(len(self.residuals), 'answer')}, residuals {self.root_mean_square:.3g}"
        return f"{sum_text(self.utility.scopes)}: {known} from {answers}"


def fit_additive_utility(
    outcomes: Outcomes,
    values: npt.ArrayLike,
    scopes: Iterable[Names],
    attributes: Attributes,
    weights: npt.ArrayLike | None = None,
) -> UtilityFit:
    """Least squares of a sum Σ_i U_i(Z_i) to the elicited utilities of whole outcomes.

    By a singular value decomposition of answers × free parameters.

    Parameters
    ----------
    outcomes, values
        A row for each answer, a column for each attribute, or a list of outcomes, each a mapping; and the answers.
    scopes, attributes
        Z_i, as names or lists of names; all attributes with their states.
    weights
        How much each answer counts: the inverse of its variance. One each where left out.

    Examples
    --------
    >>> asked = {"pay": ["low", "high", "low", "high"], "place": ["here", "here", "there", "there"]}
    >>> states = {"pay": ["low", "high"], "place": ["here", "there"]}
    >>> fit = fit_additive_utility(asked, [0.0, 6.0, 1.0, 8.0], ["pay", "place"], states)
    >>> fit.residuals.round(9)
    array([ 0.25, -0.25, -0.25,  0.25])
    >>> listed = [{"pay": "low", "place": "here"}, {"pay": "high", "place": "here"}]
    >>> few = fit_additive_utility(listed, [0.0, 6.0], ["pay", "place"], states)
    >>> few.num_identified, few.is_determined({"pay": "high", "place": "there"})
    (2, False)
    """
    basis = utility_basis(read_scope(attributes), scopes)
    design = outcome_rows(basis, outcomes)
    answers = _numbers(values, len(design), "answer")
    spread = np.sqrt(_numbers(np.ones(len(design)) if weights is None else weights, len(design), "weight"))
    left, singular, right = np.linalg.svd(design * spread[:, None], full_matrices=True)
    rank = int((singular > DETERMINED * max(SMALLEST, singular.max(initial=0.0))).sum())
    coordinates = right[:rank].T @ ((left.T[:rank] @ (answers * spread)) / singular[:rank])
    open_space = pivoted_root(right[rank:].T @ right[rank:], DETERMINED)
    directions = tuple(_utility(basis, direction) for direction in open_space.root.T)
    residuals = answers - design @ coordinates
    residuals[np.abs(residuals) <= lost_by_rounding(answers)] = 0.0
    return UtilityFit(_utility(basis, coordinates), residuals, rank, directions)


def outcome_rows(basis: UtilityBasis, outcomes: Outcomes) -> Floats:
    """For each row of a frame of outcomes the vector b with U(outcome) = b · θ."""
    variables = {variable.name: variable for variable in basis.variables}
    table: Any = outcomes
    if isinstance(outcomes, (list, tuple)):
        for number, outcome in enumerate(outcomes):
            if not isinstance(outcome, Mapping):
                raise InvalidArgument(
                    f"Outcome {number} is {shortened(outcome)}: give a mapping from attributes to states."
                )
            if missing := [name for name in variables if name not in outcome]:
                close = close_match(missing[0], outcome)
                raise InvalidArgument(f"Outcome {number}, {shortened(dict(outcome))}, has no {missing[0]!r}.{close}")
        table = {name: [outcome[name] for outcome in outcomes] for name in variables}
    columns = encode_columns(table, variables)
    return basis.rows(columns, len(next(iter(columns.values()), ())))


def _utility(basis: UtilityBasis, coordinates: Floats) -> AdditiveUtility:
    return AdditiveUtility(basis.parts(coordinates), variables=basis.variables)


def _numbers(values: npt.ArrayLike, length: int, what: str) -> Floats:
    array = read_numbers(values, f"The {what}s")
    if array.shape != (length,):
        raise InvalidArgument(f"Each of the {length} outcomes needs one {what}; there are {array.shape}.")
    wrong = np.flatnonzero(~np.isfinite(array) | ((what == "weight") & (array < 0)))
    if wrong.size:
        raise InvalidArgument(f"The {what} of outcome {wrong[0]} is {array[wrong[0]]:g}: leave that outcome out.")
    return array
