"""What is known of one person's utility: a Gaussian, or a mixture of them over decompositions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice, product

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.display import TextTable
from plausible.base.records import Result, record
from plausible.errors import UnknownVariable
from plausible.factors import Factor
from plausible.factors.alignment import Scope, check_size, num_entries
from plausible.utilities.attributes.additive_utility import AdditiveUtility, UtilityBasis
from plausible.variables import State

#: How many outcomes are printed.
_NUM_SHOWN = 16


@record
class Estimate(Result):
    """A number that is not known exactly."""

    mean: float  # Its expectation: all that matters to a decision under uncertainty about utilities
    standard_deviation: float  # How uncertain it is

    def __str__(self) -> str:
        return f"{self.mean:.6g} ± {self.standard_deviation:.3g}"


@record(eq=False)
class UserUtility(Result):
    """A utility Σ_i U_i(Z_i) whose parts are jointly Gaussian.

    >>> from plausible.utilities.attributes.additive_utility import utility_basis
    >>> from plausible.variables import Variable
    >>> basis = utility_basis([Variable("meal", ["fish", "meat"])], ["meal"])
    >>> user = UserUtility(basis, np.array([5.0, 2.0**0.5]), np.diag([0.0, 0.5]))
    >>> print(user)
    meal | utility | standard deviation
    -----+---------+-------------------
    fish |       4 |                0.5
    meat |       6 |                0.5
    >>> sure = [Factor({"meal": ["fish", "meat"]}, share) for share in ([0.0, 1.0], [1.0, 0.0])]
    >>> print(user.difference(*sure))
    2 ± 1
    """

    basis: UtilityBasis  # The decomposition
    #: Of its coordinates.
    mean: Floats
    covariance: Floats

    @property
    def utility(self) -> AdditiveUtility:
        """The expected utility function."""
        return AdditiveUtility(self.basis.parts(self.mean), variables=self.basis.variables)

    def at(self, outcome: Mapping[str, State]) -> Estimate:
        """What an outcome is worth to the person."""
        for variable in self.basis.variables:
            if variable.name not in outcome:
                raise UnknownVariable(f"The outcome lacks {variable.name!r}; it has {list(outcome)}.")
        columns = {v.name: np.array([v.index(outcome[v.name])]) for v in self.basis.variables}
        return self._along(self.basis.rows(columns, 1)[0])

    def expected_utility(self, lottery: Factor) -> Estimate:
        """What a lottery is worth to the person; a distribution over the attributes."""
        return self._along(self._row(lottery))

    def difference(self, first: Factor, second: Factor) -> Estimate:
        """How much better the first of two lotteries is."""
        return self._along(self._row(first) - self._row(second))

    def _row(self, lottery: Factor) -> Floats:
        return self.basis.expected_row([lottery.marginal(scope) for scope in self.basis.scopes])

    def standard_deviations(self) -> Factor:
        """The standard deviation of the utility of every outcome."""
        scope = self.basis.variables
        check_size(scope, "The table of standard deviations")
        cells = np.unravel_index(np.arange(num_entries(scope)), [variable.num_states for variable in scope])
        columns = {variable.name: cell for variable, cell in zip(scope, cells, strict=True)}
        rows = self.basis.rows(columns, num_entries(scope))
        variances = np.einsum("ni,ij,nj->n", rows, self.covariance, rows, optimize=True)
        return Factor.from_flat(scope, np.sqrt(np.maximum(variances, 0.0)))

    def __str__(self) -> str:
        return _table_text(self, self.basis.variables)

    def _along(self, row: Floats) -> Estimate:
        return Estimate(float(row @ self.mean), float(np.sqrt(max(0.0, float(row @ self.covariance @ row)))))


@record(eq=False)
class MixedUserUtility(Result):
    """A utility whose decomposition is not known either."""

    weights: Factor  # P(decomposition | answers): a factor
    components: tuple[UserUtility, ...]  # What is known of the utility under each

    @property
    def utility(self) -> AdditiveUtility:
        """The expected utility function: the parts of all decompositions, weighted."""
        parts = [
            part * float(weight)
            for component, weight in zip(self.components, self.weights.flat, strict=True)
            for part in component.utility.parts
        ]
        return AdditiveUtility(parts, variables=self.components[0].basis.variables)

    def at(self, outcome: Mapping[str, State]) -> Estimate:
        """What an outcome is worth to the person."""
        return self._mixed(component.at(outcome) for component in self.components)

    def expected_utility(self, lottery: Factor) -> Estimate:
        """What a lottery is worth to the person; a distribution over the attributes."""
        return self._mixed(component.expected_utility(lottery) for component in self.components)

    def __str__(self) -> str:
        return f"{self.weights}\n\n{_table_text(self, self.components[0].basis.variables)}"

    def _mixed(self, estimates: Iterable[Estimate]) -> Estimate:
        numbers = np.array([(one.mean, one.standard_deviation) for one in estimates])
        mean = float(self.weights.flat @ numbers[:, 0])
        variance = float(self.weights.flat @ (numbers[:, 1] ** 2 + (numbers[:, 0] - mean) ** 2))
        return Estimate(mean, float(np.sqrt(variance)))


def _table_text(user: UserUtility | MixedUserUtility, scope: Scope) -> str:
    """What outcomes are worth to a person, and how uncertain that is: the first few of many."""
    names = tuple(variable.name for variable in scope)
    rows = []
    for states in islice(product(*(variable.states for variable in scope)), _NUM_SHOWN):
        worth = user.at(dict(zip(names, states, strict=True)))
        rows.append((*map(str, states), f"{worth.mean:.6g}", f"{worth.standard_deviation:.3g}"))
    header = (*names, "utility", "standard deviation")
    return str(TextTable(header, tuple(rows), len(names), max(0, num_entries(scope) - len(rows))))
