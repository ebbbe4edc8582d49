"""What every compiled model answers, by the same way as the model itself, and how rows of evidence are read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from plausible.base import Floats, Seed, html_page
from plausible.data.row_files import ColumnKind, WrittenRows
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, UnknownVariable
from plausible.factors import Factor
from plausible.factors.alignment import Scope
from plausible.inference.budget import Budget
from plausible.models.question import (
    Model,
    Parts,
    Question,
    QuestionKind,
    Way,
    contradiction_of,
    read_names,
    refuse_numbers_alone,
)
from plausible.models.row_answers import Answering, RowQuestion, RowsLike
from plausible.models.samples import Progress, taking
from plausible.models.shown_parts import title_of, variables_table
from plausible.variables import Assignment, Evidence, EvidenceLike, State, Variable

if TYPE_CHECKING:
    import pandas as pd
    from narwhals.typing import IntoDataFrame


_BELIEFS = QuestionKind()
_TOTAL = QuestionKind(
    refuses_beliefs="jeffrey evidence has no probability: it replaces a belief. See likelihood(...).",
)
_BEST = QuestionKind(
    refuses_beliefs="A most probable explanation takes states and likelihoods as evidence, not jeffrey(...).",
    takes_numbers=True,
)
_ROWS = QuestionKind(takes_numbers=True)


class CompiledModel(ABC):
    """Questions to a model that was made ready for many of them; made by `model.compile()`."""

    __slots__ = ()

    variables: Mapping[str, Variable]
    place: str
    _is_normalized = True

    @property
    def _place(self) -> str:
        return self.place

    @property
    def inputs(self) -> tuple[str, ...]:
        """None: a compiled model says how all of its variables are distributed."""
        return ()

    @abstractmethod
    def _parts(self, names: Iterable[str], evidence: Evidence) -> Parts: ...

    def _requisite(self, question: Question) -> None:
        return None

    @abstractmethod
    def _exact_way(self, question: Question) -> Way: ...

    def _way_of(self, question: Question) -> Way:
        return self._exact_way(question)

    def _given(self, evidence: EvidenceLike | None, do: Mapping[str, State]) -> tuple[Model, EvidenceLike | None]:
        raise NotSupported("A compiled model takes no do=: net.intervene(...).compile() does.")

    def _log_normalizer(self, context: Mapping[str, Any], engine: Any, budget: Budget | None) -> float:
        return 0.0

    def _repr_html_(self) -> str:
        return html_page(title_of(self), variables_table(self.variables.values()))

    def query(self, targets: str | Iterable[str], evidence: EvidenceLike | None = None) -> Factor:
        """Compute P(targets | evidence) of discrete targets as a normalised factor; its `.info` has the cost.

        >>> from plausible.cpds import TableCPD
        >>> from plausible.models import BayesianNetwork
        >>> engine = BayesianNetwork(
        ...     TableCPD("A", [0.6, 0.4]), TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"])
        ... ).compile()
        >>> engine.query("A", evidence={"B": 1}).values.round(4)
        array([0.36, 0.64])
        """
        answer: Factor = Question.read(self, _BELIEFS, targets, evidence).answer(lambda way: way.table())
        return answer

    def marginals(self, evidence: EvidenceLike | None = None) -> dict[str, Factor]:
        """Compute P(X | evidence) for every discrete variable X in one calibration."""
        refuse_numbers_alone(self.variables, "marginals", "continuous_marginals gives the mean and variance of each.")
        return Question.read(self, _BELIEFS, None, evidence).answer(lambda way: way.marginals())

    def log_probability(self, evidence: EvidenceLike) -> float:
        """Compute log P(evidence), or -inf if it is impossible; with numbers, a log-density."""
        total: float = Question.read(self, _TOTAL, (), evidence).answer(lambda way: way.log_total())
        return total - self._log_constant

    @property
    def _log_constant(self) -> float:
        """By how much the logarithm of the product of the parts exceeds that of the probability."""
        return 0.0

    def mpe(self, evidence: EvidenceLike | None = None) -> Assignment:
        """Find a most probable assignment to all variables; `.log_probability` is that of it all.

        Of several equally probable ones, one is given, always the same. Numbers that are not observed are integrated
        out to find the most probable states; then come the most probable numbers given these.
        """
        best = Question.read(self, _BEST, None, evidence).answer(lambda way: way.best())
        states, log_product = {name: best[name] for name in self.variables}, best.log_probability
        log_best = (log_product or 0.0) - self._log_constant
        return Assignment(states, log_probability=log_best, log_product=log_product, info=best.info)

    @overload
    def sample(
        self,
        num_rows: int,
        seed: Seed = ...,
        evidence: EvidenceLike | None = ...,
        *,
        output: None = ...,
        progress: Progress | None = ...,
    ) -> pd.DataFrame: ...
    @overload
    def sample(
        self,
        num_rows: int,
        seed: Seed = ...,
        evidence: EvidenceLike | None = ...,
        *,
        output: str | PathLike[str],
        progress: Progress | None = ...,
    ) -> WrittenRows: ...
    def sample(
        self,
        num_rows: int,
        seed: Seed = None,
        evidence: EvidenceLike | None = None,
        *,
        output: str | PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> pd.DataFrame | WrittenRows:
        """Draw independent samples from the exact distribution given the evidence: a column for each variable."""
        number = checked_count(num_rows)
        take = taking(output, progress)
        rows: pd.DataFrame | WrittenRows = Question.read(self, _ROWS, None, evidence).answer(
            lambda way: take(way.samples(number, seed))
        )
        return rows

    @overload
    def predict_proba(
        self, frame: RowsLike, target: str, *, output: None = ..., progress: Progress | None = ...
    ) -> pd.DataFrame: ...
    @overload
    def predict_proba(
        self, frame: RowsLike, target: str, *, output: str | PathLike[str], progress: Progress | None = ...
    ) -> WrittenRows: ...
    def predict_proba(
        self,
        frame: RowsLike,
        target: str,
        *,
        output: str | PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> pd.DataFrame | WrittenRows:
        """Compute P(target | row) for each row of evidence, a column per state; missing cells are not observed.

        A column of the target itself is not looked at, so that rows with known answers can be given as they are; to
        `query` what is observed of its target is evidence like any other. Identical rows are computed once; a row that
        can't happen is an error with its number and the cells that contradict each other.

        Parameters
        ----------
        frame
            Rows of evidence, states and numbers: a pandas, polars or arrow frame, a mapping from names to columns, or
            files of any size: a path, a glob, a folder, a `Stream`.

        Examples
        --------
        >>> from plausible.cpds import TableCPD
        >>> from plausible.models import BayesianNetwork
        >>> engine = BayesianNetwork(
        ...     TableCPD("A", [0.6, 0.4]), TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"])
        ... ).compile()
        >>> engine.predict_proba({"B": [0, 1, None]}, "A").round(2)
              0     1
        0  0.84  0.16
        1  0.36  0.64
        2  0.60  0.40
        """
        import pandas as pd

        variable = self._target(target)
        kinds = dict.fromkeys(map(str, variable.states), float)
        question = self._of_rows(kinds, lambda rows: self._row_beliefs(rows, variable), target)
        if output is not None:
            if len(kinds) < variable.num_states:
                raise NotSupported(f"Some states of {target!r} print alike: they can't name columns of a file.")
            return question.write(frame, output, progress)
        beliefs, index = question.answers(frame, progress)
        columns = pd.Index(list(variable.states), dtype=object, tupleize_cols=False)
        return pd.DataFrame(beliefs, columns=columns, index=index)

    @overload
    def predict(
        self, frame: RowsLike, target: str, *, output: None = ..., progress: Progress | None = ...
    ) -> pd.Series[Any]: ...
    @overload
    def predict(
        self, frame: RowsLike, target: str, *, output: str | PathLike[str], progress: Progress | None = ...
    ) -> WrittenRows: ...
    def predict(
        self,
        frame: RowsLike,
        target: str,
        *,
        output: str | PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> pd.Series[Any] | WrittenRows:
        """Find the most probable state of the target for each row, as `predict_proba`; ties go to the first state."""
        import pandas as pd

        variable = self._target(target)
        question = self._of_rows(
            {target: variable}, lambda rows: self._row_beliefs(rows, variable).argmax(axis=1), target
        )
        if output is not None:
            return question.write(frame, output, progress)
        best, index = question.answers(frame, progress)
        return pd.Series([variable.states[place] for place in best], index=index, name=target)

    @overload
    def log_likelihood(self, frame: RowsLike, *, output: None = ..., progress: Progress | None = ...) -> Floats: ...
    @overload
    def log_likelihood(
        self, frame: RowsLike, *, output: str | PathLike[str], progress: Progress | None = ...
    ) -> WrittenRows: ...
    def log_likelihood(
        self, frame: RowsLike, *, output: str | PathLike[str] | None = None, progress: Progress | None = None
    ) -> Floats | WrittenRows:
        """Compute log P(row) for each row of evidence, with missing cells summed out; -inf for impossible rows.

        Numbers count by their density; +inf stands where one is certain given the rest. In an `output` the column is
        called log_likelihood.
        """
        question = self._of_rows({"log_likelihood": float}, self._row_log_totals)
        if output is not None:
            return question.write(frame, output, progress)
        return question.answers(frame, progress)[0]

    def _of_rows(self, kinds: Mapping[str, ColumnKind], answer: Answering, target: str | None = None) -> RowQuestion:
        return RowQuestion(self.variables, self.place, kinds, answer, target)

    def expected_counts(
        self,
        frame: IntoDataFrame | Mapping[str, Sequence[Any]],
        weights: npt.ArrayLike | None = None,
        *,
        families: str | Iterable[str] | None = None,
    ) -> dict[str, Floats]:
        """Σ over rows of P(child, parents | row): for each family of states an array with axes (parents..., child).

        Parameters
        ----------
        families
            The children whose families to count. By default, all families without continuous variables that are held
            as a table; a warning names the others, such as a noisy-or with many parents, which is held as small
            factors.

        Examples
        --------
        >>> from plausible.cpds import TableCPD
        >>> from plausible.models import BayesianNetwork
        >>> engine = BayesianNetwork(
        ...     TableCPD("A", [0.6, 0.4]), TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"])
        ... ).compile()
        >>> engine.expected_counts({"B": [0, 1, 1]}, families="A")["A"].round(2)
        array([1.56, 1.44])
        """
        countable = self._countable()
        if families is None:
            return self._counts(frame, weights, countable)
        return self._counts(frame, weights, named_families(families, countable, self.variables, self.place))

    @abstractmethod
    def _countable(self) -> Mapping[str, Scope]:
        """Name -> (parents..., child) of the families that can be counted."""

    @abstractmethod
    def _counts(self, frame: Any, weights: npt.ArrayLike | None, asked: Mapping[str, Scope]) -> dict[str, Floats]:
        """The expected counts of some families, or of all that can be counted."""

    @abstractmethod
    def _row_log_totals(self, frame: Any) -> Floats:
        """log P(row), a number each."""

    @abstractmethod
    def _row_beliefs(self, frame: Any, target: Variable) -> Floats:
        """P(target | row), a row each; nothing is observed of the target."""

    def _target(self, target: str) -> Variable:
        """The one variable that rows are asked about."""
        if not isinstance(target, str):
            raise InvalidArgument(f"Name one target at a time, by its name, not {type(target).__name__}.")
        UnknownVariable.check(target, self.variables, self.place)
        return self.variables[target]

    def _impossible_row(self, row: str, findings: Mapping[str, Any]) -> ImpossibleEvidence:
        """The error for a row that can't happen, with the cells that contradict each other; by what it is called."""
        return impossible_row(row, contradiction_of(self, findings))


def checked_count(num_rows: int) -> int:
    """A number of rows: an integer that is not negative."""
    if not isinstance(num_rows, (int, np.integer)) or num_rows < 0:
        raise InvalidArgument(f"The number of rows must be an integer that is not negative, not {num_rows!r}.")
    return int(num_rows)


def checked_weights(weights: npt.ArrayLike | None, num_rows: int) -> Floats:
    """How often each row counts: numbers that are not negative, one each where none are given."""
    if weights is None:
        return np.ones(num_rows)
    try:
        numbers = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument("The weights of rows must be numbers.") from None
    if numbers.shape != (num_rows,) or not np.all((numbers >= 0) & (numbers < np.inf)):
        raise InvalidArgument(f"There must be a weight for each of the {num_rows} rows, finite and not negative.")
    return numbers


def impossible_row(row: int | str, contradiction: ImpossibleEvidence | None) -> ImpossibleEvidence:
    """The error for a row that can't happen, by its number or what it is called, and what is known about why."""
    why = contradiction or "It has probability zero."
    called = row if isinstance(row, str) else f"Row {row} of the data"
    return ImpossibleEvidence(f"{called} can't happen. {why} Drop the row, or mend the cell that is wrong.")


def named_families(
    names: str | Iterable[str], families: Mapping[str, Scope], variables: Mapping[str, Variable], place: str
) -> dict[str, Scope]:
    """The families of some children, all of which must have a table of counts; or of some factors, by number."""
    listed = read_names(names, {*variables, *families}, place)
    if lacking := [name for name in listed if name not in families]:
        raise NotSupported(f"The family of {lacking[0]!r} has continuous variables: there is no table of counts.")
    return {name: families[name] for name in listed}
