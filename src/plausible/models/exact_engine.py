"""A compiled model: the same questions as the model's own, from one clique tree, for one evidence or a table of it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Codes, Floats
from plausible.base.display import html_page
from plausible.base.seeds import Seed, generator_of
from plausible.data import decode, encode_evidence
from plausible.errors import (
    ImpossibleEvidence,
    InvalidArgument,
    NotSupported,
    PlausibleWarning,
    TooLarge,
    UnknownVariable,
    counted,
)
from plausible.factors import Factor
from plausible.factors.alignment import num_entries
from plausible.factors.marginals import Marginals
from plausible.inference.compiled import CompiledFactors, compile_factors
from plausible.inference.contradiction import impossible_evidence
from plausible.inference.plan import Plan, plan_factors, plan_of
from plausible.inference.posterior import read_targets
from plausible.models.display import title_of, variables_table
from plausible.variables import Assignment, Evidence, EvidenceLike, Variable
from plausible.variables.evidence import findings_of

if TYPE_CHECKING:
    import pandas as pd
    from narwhals.typing import IntoDataFrame

__all__ = [
    "ExactEngine",
    "checked_count",
    "checked_weights",
    "impossible_row",
    "named_families",
    "read_one_target",
    "refuse_large_families",
]

_Answer = TypeVar("_Answer")

#: Families with more entries are not counted: they have no table in any question.
_LARGEST_FAMILY = 2**18


@dataclass(frozen=True, slots=True, eq=False)
class ExactEngine:
    """Exact answers from a clique tree that was laid out once; made by `model.compile()`.

    Attributes
    ----------
    variables
        Name -> variable, as in the model.
    sums
        The compiled factors that sums are taken of.
    maxima
        Finds a best assignment, where the factors of the sums have auxiliary variables.
    log_normalizer
        log Z, by which the product of the factors exceeds the probability.
    families
        Name -> (parents..., child), for expected counts; empty for a Markov network.
    place
        What errors call it.
    """

    variables: Mapping[str, Variable]
    sums: CompiledFactors
    maxima: Callable[[Evidence], Assignment] | None
    log_normalizer: float
    families: Mapping[str, tuple[Variable, ...]]
    place: str = "this compiled model"

    def __repr__(self) -> str:
        return f"<ExactEngine: {counted(len(self.variables), 'variable')}, {self.sums.program}>"

    def _repr_html_(self) -> str:
        return html_page(title_of(self), variables_table(self.variables.values()))

    # --- one evidence ---

    def query(self, targets: str | Sequence[str], evidence: EvidenceLike | None = None) -> Factor:
        """Compute P(targets | evidence) as a normalised factor; its `.info` has the cost.

        >>> from plausible.cpds import TableCPD
        >>> from plausible.models import BayesianNetwork
        >>> engine = BayesianNetwork(
        ...     TableCPD("A", [0.6, 0.4]), TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"])
        ... ).compile()
        >>> engine.query("A", evidence={"B": 1}).values.round(4)
        array([0.36, 0.64])
        """
        wanted = read_targets(targets, self.variables, self.place)
        return self._explained(evidence, lambda found: self.sums.joint(wanted, found))

    def marginals(self, evidence: EvidenceLike | None = None) -> dict[str, Factor]:
        """Compute P(X | evidence) for every variable X in one calibration."""
        answers = self._explained(evidence, self.sums.marginals)
        if len(answers) == len(self.variables):
            return answers
        return Marginals((name, answers[name]) for name in self.variables)  # others are auxiliary

    def log_probability(self, evidence: EvidenceLike) -> float:
        """Compute log P(evidence), or -inf if it is impossible."""
        found = self._read(evidence)
        if found.jeffrey:
            raise NotSupported("jeffrey evidence has no probability: it replaces a belief. See likelihood(...).")
        return self.sums.log_total(found) - self.log_normalizer

    def mpe(self, evidence: EvidenceLike | None = None) -> Assignment:
        """A most probable assignment to all variables given the evidence; `.log_probability` is that of it all.

        Of several equally probable ones, one is given, always the same.
        """
        best = self._explained(evidence, self.maxima or self.sums.best)
        log_best = (best.log_probability or 0.0) - self.log_normalizer
        states = {name: best[name] for name in self.variables}
        return Assignment(states, log_probability=log_best, log_product=best.log_probability, info=best.info)

    def sample(self, num_rows: int, seed: Seed = None, evidence: EvidenceLike | None = None) -> pd.DataFrame:
        """Independent samples from the exact distribution given the evidence: a column for each variable.

        Parameters
        ----------
        num_rows
            How many.
        seed
            A number or a generator: the same one gives the same rows.
        evidence
            What holds in every row (likelihoods weigh the states).
        """
        generator = generator_of(seed)
        codes = self._explained(evidence, lambda found: self.sums.sample(checked_count(num_rows), found, generator))
        return decode({name: codes[:, place] for place, name in enumerate(self.sums.variables)}, self.variables)

    def _read(self, evidence: EvidenceLike | None) -> Evidence:
        return Evidence.read(evidence, self.variables, self.place)

    def _explained(self, evidence: EvidenceLike | None, answer: Callable[[Evidence], _Answer]) -> _Answer:
        """The answer, or an error that names the findings that contradict each other."""
        try:
            return answer(self._read(evidence))
        except ImpossibleEvidence as error:
            found = impossible_evidence(findings_of(evidence), lambda some: self.log_probability(some) > -math.inf)
            raise found or error from None

    # --- a table of evidence ---

    def predict_proba(self, frame: IntoDataFrame | Mapping[str, Sequence[Any]], target: str) -> pd.DataFrame:
        """Compute P(target | row) for each row of evidence, a column per state; missing cells are not observed.

        A column of the target itself is not looked at. Identical rows are computed once; a row that can't happen is
        an error with its number and the cells that contradict each other.

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

        probabilities = self._posteriors(frame, target)
        states = list(self.variables[target].states)
        index = frame.index if isinstance(frame, pd.DataFrame) else None
        columns = pd.Index(states, dtype=object, tupleize_cols=False)
        return pd.DataFrame(probabilities, columns=columns, index=index)

    def predict(self, frame: IntoDataFrame | Mapping[str, Sequence[Any]], target: str) -> pd.Series[Any]:
        """Find the most probable state of the target for each row; ties go to the first state."""
        import pandas as pd

        probabilities = self._posteriors(frame, target)
        states = self.variables[target].states
        index = frame.index if isinstance(frame, pd.DataFrame) else None
        return pd.Series([states[i] for i in probabilities.argmax(axis=1)], index=index, name=target)

    def log_likelihood(self, frame: IntoDataFrame | Mapping[str, Sequence[Any]]) -> Floats:
        """Compute log P(row) for each row of evidence, with missing cells summed out; -inf for impossible rows."""
        rows = encode_evidence(frame, self.variables, self.place)
        return self.sums.answer_rows(rows).log_totals - self.log_normalizer

    def expected_counts(
        self,
        frame: IntoDataFrame | Mapping[str, Sequence[Any]],
        weights: npt.ArrayLike | None = None,
        *,
        families: str | Iterable[str] | None = None,
    ) -> dict[str, Floats]:
        """Σ over rows of P(child, parents | row): for each family an array with axes (parents..., child).

        Parameters
        ----------
        frame
            Rows of evidence; missing cells are not observed.
        weights
            How often each row counts; by default once.
        families
            The children whose families to count; a family that lies in no clique gets one. By default, all families
            that lie in a clique; a warning names the others, such as a noisy-or with many parents, which is held as
            small factors.

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
        asked = self._families(families)
        sums = self.sums if families is None else self._with_cliques(asked)
        cliques = sums.family_cliques(asked)
        if lost := [name for name in asked if name not in cliques]:
            warnings.warn(
                f"Families without a clique are not counted: {', '.join(map(repr, lost[:8]))}"
                f"{f', ... ({len(lost)} in all)' if len(lost) > 8 else ''}. "
                f"Name those with up to {_LARGEST_FAMILY} entries (families=...) to have them too.",
                PlausibleWarning,
                stacklevel=2,
            )
        rows = encode_evidence(frame, self.variables, self.place)
        answers = sums.answer_rows(rows, weights=checked_weights(weights, len(rows)))
        self._refuse_impossible(rows, answers.log_totals)
        assert answers.totals is not None
        return sums.family_totals(answers.totals, asked, cliques)

    def _with_cliques(self, families: Mapping[str, tuple[Variable, ...]]) -> CompiledFactors:
        """The sums by a tree in which each of the families lies in a clique."""
        refuse_large_families(families)
        if len(self.sums.family_cliques(families)) == len(families):
            return self.sums
        names = list(self.sums.variables)
        return compile_factors(
            self.sums.factors,
            self.sums.variables.values(),
            order=[names[number] for number in self.sums.program.order],
            together=[[variable.name for variable in family] for family in families.values()],
            budget=self.sums.budget,
        )

    def _refuse_impossible(self, rows: Codes, log_totals: Floats) -> None:
        """A row that can't happen is an error with its number, and the cells that contradict each other."""
        impossible = np.isneginf(log_totals)
        if impossible.any():
            row = int(np.argmax(impossible))
            cells = zip(self.variables.values(), rows[row].tolist(), strict=True)
            findings = {variable.name: variable.states[state] for variable, state in cells if state >= 0}
            found = impossible_evidence(findings, lambda some: self.log_probability(some) > -math.inf)
            raise impossible_row(row, found)

    def _families(self, names: str | Iterable[str] | None) -> Mapping[str, tuple[Variable, ...]]:
        """The families of the children named, or all."""
        if not self.families:
            raise NotSupported(
                "A Markov network has no families to count: ask for expected counts of a Bayesian network."
            )
        if names is None:
            return self.families
        return named_families(read_targets(names, self.variables, self.place), self.families)

    def _posteriors(self, frame: IntoDataFrame | Mapping[str, Sequence[Any]], target: str) -> Floats:
        read_one_target(target, self.variables, self.place)
        rows = encode_evidence(frame, self.variables, self.place)
        rows[:, list(self.variables).index(target)] = -1
        answers = self.sums.answer_rows(rows, target)
        self._refuse_impossible(rows, answers.log_totals)
        assert answers.marginals is not None
        return answers.marginals

    # --- the plan ---

    def explain(self, targets: str | Sequence[str] | None = None) -> Plan:
        """The clique tree and its cost: order, width, entries, memory, a rough time, and the largest clique.

        With targets, what `query(targets)` costs: another tree, where they share no clique of this one.
        """
        if targets is None:
            return plan_of(self.sums)
        wanted = read_targets(targets, self.variables, self.place)
        if self.sums.family_cliques({"targets": tuple(wanted)}):
            return plan_of(self.sums, answer_entries=num_entries(wanted))
        together = [[variable.name for variable in wanted]]
        return plan_factors(self.sums.factors, self.sums.variables.values(), together=together, budget=self.sums.budget)


def read_one_target(target: str, variables: Mapping[str, Variable], place: str) -> Variable:
    """The one variable that rows are asked about."""
    if not isinstance(target, str):
        raise InvalidArgument(f"Name one target at a time, by its name, not {type(target).__name__}.")
    if target not in variables:
        raise UnknownVariable.named(target, variables, place)
    return variables[target]


def refuse_large_families(families: Mapping[str, tuple[Variable, ...]]) -> None:
    """Refuse families whose tables of counts would be too large."""
    for name, family in families.items():
        if num_entries(family) > _LARGEST_FAMILY:
            raise TooLarge(
                f"The family of {name!r} has {len(family)} variables, so that its expected counts have "
                f"{num_entries(family):.3g} entries; up to {_LARGEST_FAMILY} are counted. Leave it out."
            )


def named_families(
    children: Iterable[Variable], families: Mapping[str, tuple[Variable, ...]]
) -> dict[str, tuple[Variable, ...]]:
    """The families of some children, all of which must have a table of counts."""
    names = [child.name for child in children]
    if lacking := [name for name in names if name not in families]:
        raise NotSupported(f"The family of {lacking[0]!r} has continuous variables: there is no table of counts.")
    return {name: families[name] for name in names}


def checked_count(num_rows: int) -> int:
    """A number of rows: an integer that is not negative."""
    if not isinstance(num_rows, (int, np.integer)) or num_rows < 0:
        raise InvalidArgument(f"The number of rows must be an integer that is not negative, not {num_rows!r}.")
    return int(num_rows)


def impossible_row(row: int, contradiction: ImpossibleEvidence | None) -> ImpossibleEvidence:
    """The error for a row of data that can't happen, and what is known about why."""
    why = contradiction or "It has probability zero."
    return ImpossibleEvidence(
        f"Row {row} of the data can't happen. {why} Drop the row, or mend the cell that is wrong."
    )


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
