"""Questions about parameters: how probabilities depend on the numbers in conditional tables."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from plausible.base import Floats
from plausible.cpds import CPD, TableCPD
from plausible.data.columns import EvidenceColumns
from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.factors.alignment import num_entries
from plausible.graphs import DAG
from plausible.inference.budget import Budget
from plausible.inference.sensitivity.derivatives import (
    FLOOR,
    NOISE,
    SAFE_LOG,
    Derivatives,
    FamilyProduct,
    derivatives,
    hessian,
)
from plausible.inference.sensitivity.functions import (
    EventSensitivity,
    SensitivityFunction,
    Variation,
    event_sensitivity,
    tornado,
)
from plausible.inference.sensitivity.parameters import (
    Event,
    OtherEntries,
    Parameter,
    ParameterLike,
    covarying,
    is_covarying,
    sensitivity_set,
)
from plausible.inference.sensitivity.surfaces import SensitivitySurface, check_rows, with_entry, with_event
from plausible.models.beliefs import Beliefs
from plausible.models.compiled_model import impossible_row
from plausible.models.lowering import SMALL_TABLE, lower
from plausible.models.numbers import densities, refuse_hidden_parents
from plausible.models.question import Question, QuestionKind, contradiction_of
from plausible.models.uncertainty import HasPosterior, ParameterUncertainty, with_error_bars
from plausible.variables import EvidenceLike, State
from plausible.variables.evidence import findings_of

if TYPE_CHECKING:
    import pandas as pd
    from narwhals.typing import IntoDataFrame


_PARAMETERS = QuestionKind(
    refuses_beliefs=(
        "jeffrey evidence fixes a belief whatever the parameters are: derivatives take states and likelihood(...)."
    )
)
_ALL = QuestionKind(takes_numbers=True)


class ParameterAnalyses(Beliefs):
    """What can be asked of a Bayesian network about its parameters, besides its evidence.

    Parameters are the entries of conditional tables. A distribution that is no table, such as a noisy-or, counts as the
    table that it makes, if that is small; the families of larger ones are left out.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def cpds(self) -> Mapping[str, CPD]:
        """Name -> conditional distribution, for all variables except the inputs."""

    @property
    @abstractmethod
    def graph(self) -> DAG:
        """The directed acyclic graph."""

    @abstractmethod
    def with_cpd(self, cpd: CPD) -> Self:
        """A model with another distribution."""

    def _with_error_bars(
        self,
        answer: Factor,
        evidence: EvidenceLike | None,
        do: Mapping[str, State] | None,
        uncertainty: ParameterUncertainty | HasPosterior,
    ) -> Factor:
        return with_error_bars(self, answer, evidence, do, uncertainty)

    def derivatives(
        self,
        evidence: EvidenceLike | None = None,
        query: tuple[str, State] | None = None,
        others: OtherEntries = "fixed",
        *,
        budget: Budget | None = None,
    ) -> Derivatives:
        """Compute dP(e)/dθ or dP(x | e)/dθ for every table entry θ = P(child = c | parents = u) (Darwiche 2003).

        This is correct for θ = 0 too. It takes one calibration for P(e) and two for P(x | e), no matter how many
        entries there are.

        Parameters
        ----------
        query
            x as (variable, state); by default, differentiate P(e).
        others
            What happens to the other entries of the same row: `fixed` gives partial derivatives; with `proportional`
            they keep their ratios, and the row still sums to one.

        Returns
        -------
        Derivatives
            `.of_value[child]`, or just `[child]`, is an array with axes (parents..., child); so is `.of_log[child]`.

        Examples
        --------
        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(TableCPD("A", [0.7, 0.3]), TableCPD("B", [[0.9, 0.1], [0.0, 1.0]], parents=["A"]))
        >>> net.derivatives({"B": 0})["B"].round(6)
        array([[0.7, 0. ],
               [0.3, 0. ]])
        >>> net.derivatives({"B": 0}, query=("A", 1))["B"].round(6)
        array([[0.     , 0.     ],
               [0.47619, 0.     ]])
        >>> net.derivatives({"B": 1}, others="proportional")["A"].round(6)
        array([-0.9,  0.9])
        """
        question = Question.read(self, _PARAMETERS, None, evidence, budget=budget)
        if query is not None and (not isinstance(query, (tuple, list)) or len(query) != 2):
            raise InvalidArgument(f"query= takes a variable and its state, such as ('rain', 'heavy'), not {query!r}.")
        event = None if query is None else Event.read(*query, self.variables, "this network")
        product = self._product(question, only_relative=event is not None)
        return question.explained(lambda: derivatives(product, question.certain, event, others))

    def hessian(
        self,
        parameters: Sequence[ParameterLike],
        evidence: EvidenceLike | None = None,
        *,
        budget: Budget | None = None,
    ) -> Floats:
        """Compute ∂² log P(e) / ∂θ_i ∂θ_j for some table entries, all others fixed; one calibration per entry.

        Parameters
        ----------
        parameters
            Entries as (child, states of its parents, state).

        Examples
        --------
        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(TableCPD("A", [0.5, 0.5]), TableCPD("B", [[0.8, 0.2], [0.4, 0.6]], parents=["A"]))
        >>> net.hessian([("A", {}, 0), ("B", {"A": 0}, 1)], {"B": 1}).round(4)
        array([[-0.25  ,  1.875 ],
               [ 1.875 , -1.5625]])
        """
        question = Question.read(self, _PARAMETERS, None, evidence, budget=budget)
        product = self._product(question)
        entries = [self._parameter(parameter) for parameter in parameters]
        return question.explained(lambda: hessian(product, question.certain, entries))

    def gradient(
        self,
        frame: IntoDataFrame | Mapping[str, Sequence[Any]],
        weights: npt.ArrayLike | None = None,
        others: OtherEntries = "fixed",
        *,
        budget: Budget | None = None,
    ) -> dict[str, Floats]:
        """Compute dℓ/dθ for every table entry θ, where ℓ = Σ log P(row) over rows that may have missing cells.

        Σ_m P(x, u | o[m]) / θ_{x|u}, all families from one calibration for each different row (Binder et al. 1997;
        Koller & Friedman 2009, theorem 19.2 and algorithm 19.1); right also where θ = 0.

        Parameters
        ----------
        others
            What happens to the other entries of the same row of a table: `fixed` or `proportional`; see `derivatives`.

        Examples
        --------
        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(TableCPD("A", [0.5, 0.5]), TableCPD("B", [[0.8, 0.2], [0.4, 0.6]], parents=["A"]))
        >>> net.gradient({"A": [0, None], "B": [1, 1]})["A"].round(4)
        array([2.5, 1.5])
        """
        covary = is_covarying(others)
        tables = {name: cpd.to_factor().values for name, cpd in self.cpds.items() if _has_table(cpd)}
        slopes = self._row_slopes(tables, frame, weights, budget)
        if not covary:
            return slopes
        return {name: covarying(tables[name], array) for name, array in slopes.items()}

    def _row_slopes(
        self,
        tables: Mapping[str, Floats],
        frame: Any,
        weights: npt.ArrayLike | None,
        budget: Budget | None,
    ) -> dict[str, Floats]:
        """Expected counts divided by the entries, under which there are floors; see `inference.sensitivity`."""
        engine = self.compile(budget=budget)
        if all(table.min() >= FLOOR for table in tables.values()):
            counts = engine.expected_counts(frame, weights, families=list(tables))
            return {name: counts[name] / table for name, table in tables.items()}
        log_rows = engine.log_likelihood(frame)
        if np.isneginf(log_rows).any():
            first = int(np.argmin(log_rows))
            cells = EvidenceColumns.read(frame, self.variables).findings(first)
            raise impossible_row(first, contradiction_of(self, cells))
        counted = np.ones(len(log_rows)) if weights is None else np.asarray(weights, dtype=np.float64)
        if counted.shape != log_rows.shape:
            raise InvalidArgument(f"There must be a weight for each of the {len(log_rows)} rows.")
        is_deep = log_rows < SAFE_LOG
        floored = self._with_floors(tables).compile(budget=budget)
        counts = floored.expected_counts(frame, np.where(is_deep, 0.0, counted), families=list(tables))
        noise = NOISE * float(counted[~is_deep] @ np.exp(-log_rows[~is_deep]))
        slopes = {name: counts[name] / np.maximum(table, FLOOR) for name, table in tables.items()}
        slopes = {name: np.where(array < noise, 0.0, array) for name, array in slopes.items()}
        rows = EvidenceColumns.read(frame, self.variables)
        product = None
        for row in np.flatnonzero(is_deep):  # too improbable for floors
            question = Question.read(self, _ALL, None, rows.findings(int(row)), budget=budget)
            if product is None or question.evidence.values:  # numbers are built into the product
                product = self._product(question)
            relative = product.gradient(question.certain, product.log_total(question.certain))
            slopes = {name: array + counted[row] * relative[name] for name, array in slopes.items()}
        return slopes

    def _with_floors(self, tables: Mapping[str, Floats]) -> Self:
        """The network with tables that have no zeros; rows sum to one as before, up to rounding."""
        cpds = (
            TableCPD(cpd.variable, np.maximum(tables[name], FLOOR), cpd.parents) if name in tables else cpd
            for name, cpd in self.cpds.items()
        )
        return type(self)(*cpds)

    def sensitivity(
        self,
        target: str,
        state: State,
        evidence: EvidenceLike | None = None,
        *,
        parameter: ParameterLike,
        budget: Budget | None = None,
    ) -> SensitivityFunction:
        """Return P(target = state | evidence) as a function of one table entry θ: f(θ) = (aθ + b) / (cθ + d).

        The other entries of the row keep their ratios. You can call and differentiate the function, get its range, and
        solve it for the θ that gives the posterior you want.

        Parameters
        ----------
        parameter
            θ as (child, states of its parents, state); give the parents' states by name or in order.

        Examples
        --------
        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(
        ...     TableCPD("ill", [0.99, 0.01], states=["no", "yes"]),
        ...     TableCPD("test", [[0.95, 0.05], [0.1, 0.9]], parents=["ill"], states=["-", "+"]),
        ... )
        >>> f = net.sensitivity("ill", "yes", {"test": "+"}, parameter=("test", {"ill": "no"}, "+"))
        >>> print(f)
        P(ill=yes | e) = 0.153846 at P(test=+ | ill=no) = 0.05
        >>> round(f.solve(0.5), 5)  # the rate of false alarms at which illness is as probable as not
        0.00909
        """
        event = Event.read(target, state, self.variables, "this network")
        entry = self._parameter(parameter)
        # The family of the parameter may be barren: it is kept, and its function comes out constant.
        question = Question.read(self, _PARAMETERS, {target, entry.child}, evidence, budget=budget)
        product = self._product(question)
        return question.explained(
            lambda: event_sensitivity(product, question.certain, event, [entry.child]).function(entry)
        )

    def sensitivity_surface(
        self,
        target: str,
        state: State,
        evidence: EvidenceLike | None = None,
        *,
        parameters: tuple[ParameterLike, ParameterLike],
        budget: Budget | None = None,
    ) -> SensitivitySurface:
        """Return P(target = state | evidence) as a function of two table entries of different rows, from four corners.

        Parameters
        ----------
        parameters
            Two entries, each as for `sensitivity`.

        Examples
        --------
        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(
        ...     TableCPD("ill", [0.99, 0.01], states=["no", "yes"]),
        ...     TableCPD("test", [[0.95, 0.05], [0.1, 0.9]], parents=["ill"], states=["-", "+"]),
        ... )
        >>> entries = ("ill", {}, "yes"), ("test", {"ill": "no"}, "+")
        >>> surface = net.sensitivity_surface("ill", "yes", {"test": "+"}, parameters=entries)
        >>> round(surface.value, 6), round(surface(0.1, 0.05), 6)
        (0.153846, 0.666667)
        """
        event = Event.read(target, state, self.variables, "this network")
        if not isinstance(parameters, (tuple, list)) or len(parameters) != 2:
            raise InvalidArgument(f"parameters= takes two entries of tables, not {parameters!r}.")
        first, second = map(self._parameter, parameters)
        check_rows((first, second))
        Question.read(self, _PARAMETERS, target, evidence, budget=budget)  # refuses what can't be asked
        seen, both = findings_of(evidence), with_event(evidence, event)
        logs = np.full((2, 2, 2), -np.inf)
        for i, j in np.ndindex(2, 2):
            corner = self._with_entries((first, float(i)), (second, float(j)))
            logs[0, i, j] = corner.log_probability(seen, budget=budget)
            logs[1, i, j] = -np.inf if both is None else corner.log_probability(both, budget=budget)
        if np.isneginf(logs[0]).all():
            self.query(target, evidence, budget=budget)  # says what contradicts what
        evidence_corners, joint_corners = np.exp(logs - logs[0].max())
        tables = [self.cpds[entry.child].to_factor().values for entry in (first, second)]
        now = float(tables[0][first.place]), float(tables[1][second.place])
        return SensitivitySurface((first, second), str(event), now, joint_corners, evidence_corners)

    def _with_entries(self, *entries: tuple[Parameter, float]) -> Self:
        """The network with some entries of tables set, the others of their rows in proportion."""
        changed = self
        for parameter, value in entries:
            cpd = changed.cpds[parameter.child]
            table = with_entry(cpd.to_factor().values, parameter.place, value)
            changed = changed.with_cpd(TableCPD(cpd.variable, table, cpd.parents))
        return changed

    def sensitivities(
        self, target: str, state: State, evidence: EvidenceLike | None = None, *, budget: Budget | None = None
    ) -> EventSensitivity:
        """Show how P(target = state | evidence) depends on each parameter that can affect it.

        Families that the evidence separates from the target, or that lie below all findings, are skipped. This takes
        two calibrations, no matter how many parameters there are.
        """
        event = Event.read(target, state, self.variables, "this network")
        question = Question.read(self, _PARAMETERS, target, evidence, budget=budget)
        product = self._product(question)
        names = [name for name in sensitivity_set(self.graph, target, question.evidence) if name in product.families]
        return question.explained(lambda: event_sensitivity(product, question.certain, event, names))

    def tornado(
        self,
        target: str,
        state: State,
        evidence: EvidenceLike | None = None,
        *,
        vary: Variation = "relative",
        amount: float = 0.1,
        limit: int | None = 20,
        budget: Budget | None = None,
    ) -> pd.DataFrame:
        """List the parameters that change P(target = state | evidence) most when varied alone, largest swing first.

        Parameters
        ----------
        vary
            How to vary θ: `relative` means θ (1 ± amount), `absolute` θ ± amount, and `odds` divides and multiplies the
            odds of θ by 1 + amount. θ stays within [0, 1], and the other entries of its row keep their ratios.
        limit
            How many parameters to list; `None` for all.

        Returns
        -------
        pandas.DataFrame
            `parameter`, `value`, `low`, `high`, `at_low`, `at_high`, `swing`, `derivative`.

        Examples
        --------
        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(
        ...     TableCPD("ill", [0.99, 0.01], states=["no", "yes"]),
        ...     TableCPD("test", [[0.95, 0.05], [0.1, 0.9]], parents=["ill"], states=["-", "+"]),
        ... )
        >>> table = net.tornado("ill", "yes", {"test": "+"}, vary="odds", amount=1.0, limit=3)
        >>> print(table[["parameter", "low", "high", "at_low", "at_high"]].round(4).to_string(index=False))
                 parameter    low   high  at_low  at_high
                 P(ill=no) 0.9802 0.9950  0.2667   0.0833
                P(ill=yes) 0.0050 0.0198  0.0833   0.2667
        P(test=- | ill=no) 0.9048 0.9744  0.0871   0.2617
        """
        return tornado(self.sensitivities(target, state, evidence, budget=budget), vary, amount, limit)

    def _product(self, question: Question, *, only_relative: bool = True) -> FamilyProduct:
        """Tables to differentiate in, and the compact factors of all other distributions.

        Where numbers are hidden, they are integrated out of the density of the observed ones.
        """
        cpds, evidence, budget = question.parts.cpds, question.evidence, question.budget
        families = {cpd.variable.name: cpd.to_factor() for cpd in cpds if _has_table(cpd)}
        others = [cpd for cpd in cpds if not _has_table(cpd)]
        if question.has_hidden_numbers:
            refuse_hidden_parents(cpds, evidence)
            seen = densities(cpds, evidence, only_relative=only_relative)
            rest = lower([cpd for cpd in others if not cpd.variable.is_continuous], self.variables, evidence.values)
            return FamilyProduct(families, (*rest.factors, *seen.factors), rest.log_scale + seen.log_scale, budget)
        rest = lower(others, self.variables, evidence.values)
        return FamilyProduct(families, rest.factors, rest.log_scale, budget)

    def _parameter(self, parameter: ParameterLike) -> Parameter:
        return Parameter.read(parameter, {name: cpd.scope for name, cpd in self.cpds.items() if _has_table(cpd)})


def _has_table(cpd: CPD) -> bool:
    """Whether the entries of a table are the parameters: always of a table, else where it is small."""
    if any(variable.is_continuous for variable in cpd.scope):
        return False
    return isinstance(cpd, TableCPD) or num_entries(cpd.scope) <= SMALL_TABLE
