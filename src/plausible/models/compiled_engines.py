"""Compiled models, for one evidence or a table of it: of discrete variables, and networks with continuous ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from plausible.base import Codes, Flags, Floats, logarithms, own_methods
from plausible.cpds import CPD
from plausible.data import encode_evidence
from plausible.data.columns import EvidenceColumns, row_name
from plausible.data.row_files import WrittenRows
from plausible.errors import NotSupported, PlausibleWarning, counted
from plausible.factors import GaussianMixture, MomentGaussian
from plausible.factors.alignment import Scope, check_size, num_entries
from plausible.inference.budget import LARGEST_FAMILY, Budget, refuse_large_families
from plausible.inference.compiled import CompiledFactors, compile_factors
from plausible.inference.gaussian.regression import EvidenceWeight
from plausible.inference.hybrid.hybrid_rows import HybridAnswers, HybridRows
from plausible.inference.plan import Plan, plan_factors, plan_of
from plausible.inference.posterior import read_targets
from plausible.models.compiled_model import CompiledModel, checked_weights
from plausible.models.lowering import lower
from plausible.models.numbers import Numbers, ancestors_of, regression_of
from plausible.models.question import Parts, Question, QuestionKind
from plausible.models.row_answers import RowsLike
from plausible.models.samples import Progress
from plausible.models.ways import Tree
from plausible.variables import Assignment, Evidence, EvidenceLike, Variable

if TYPE_CHECKING:
    import pandas as pd
    from narwhals.typing import IntoDataFrame


@own_methods
@dataclass(frozen=True, slots=True, eq=False)
class ExactEngine(CompiledModel):
    """Exact answers from a clique tree that was laid out once; made by `model.compile()`."""

    variables: Mapping[str, Variable]  # Name -> variable, as in the model
    sums: CompiledFactors  # The compiled factors that sums are taken of
    #: Finds a best assignment, where there are auxiliary variables that have to be summed first.
    maxima: Callable[[Evidence], Assignment] | None
    log_normalizer: float  # log Z, by which the product of the factors exceeds the probability
    #: Name -> (parents..., child), for expected counts; empty for a Markov network.
    families: Mapping[str, tuple[Variable, ...]]
    place: str = "this compiled model"  # What errors call it

    def __repr__(self) -> str:
        return f"<ExactEngine: {counted(len(self.variables), 'variable')}, {self.sums.program}>"

    def _parts(self, names: Iterable[str], evidence: Evidence) -> Parts:
        return Parts(factors=self.sums.factors)

    def _exact_way(self, question: Question) -> Tree:
        return Tree(question, self.sums, self.maxima)

    @property
    def _log_constant(self) -> float:
        return self.log_normalizer

    def _row_log_totals(self, frame: Any) -> Floats:
        rows = encode_evidence(frame, self.variables, self.place)
        return self.sums.answer_rows(rows).log_totals - self.log_normalizer

    def _countable(self) -> Mapping[str, Scope]:
        if not self.families:
            raise NotSupported(
                "A Markov network has no families to count: ask for expected counts of a Bayesian network."
            )
        return self.families

    def _counts(self, frame: Any, weights: npt.ArrayLike | None, asked: Mapping[str, Scope]) -> dict[str, Floats]:
        """Those that are named all get a clique; of all families, those are counted that lie in one."""
        sums = self.sums if asked is self.families else self._with_cliques(asked)
        cliques = sums.family_cliques(asked)
        if lost := [name for name in asked if name not in cliques]:
            warnings.warn(
                f"Families without a clique are not counted: {', '.join(map(repr, lost[:8]))}"
                f"{f', ... ({len(lost)} in all)' if len(lost) > 8 else ''}. "
                f"Name those with up to {LARGEST_FAMILY} entries (families=...) to have them too.",
                PlausibleWarning,
                stacklevel=3,
            )
        rows = encode_evidence(frame, self.variables, self.place)
        answers = sums.answer_rows(rows, weights=checked_weights(weights, len(rows)))
        self._refuse_impossible(frame, rows, answers.log_totals)
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

    def _refuse_impossible(self, frame: Any, rows: Codes, log_totals: Floats) -> None:
        """A row that can't happen is an error with its number, and the cells that contradict each other."""
        impossible = np.isneginf(log_totals)
        if impossible.any():
            row = int(np.argmax(impossible))
            cells = zip(self.variables.values(), rows[row].tolist(), strict=True)
            findings = {variable.name: variable.states[state] for variable, state in cells if state >= 0}
            raise self._impossible_row(row_name(frame, row), findings)

    def _row_beliefs(self, frame: Any, target: Variable) -> Floats:
        rows = encode_evidence(frame, self.variables, self.place)
        answers = self.sums.answer_rows(rows, target.name)
        self._refuse_impossible(frame, rows, answers.log_totals)
        assert answers.marginals is not None
        return answers.marginals

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


_NUMBERS = QuestionKind(takes_numbers=True)


@own_methods
@dataclass(frozen=True, slots=True, eq=False)
class HybridEngine(CompiledModel):
    """Exact answers where variables are continuous, hidden or not; made by `net.compile()`.

    Linear Gaussian variables whose parameters may depend on discrete ones. A discrete variable that depends on
    numbers can be asked about, and observed, where these numbers are observed.

    >>> from plausible import BayesianNetwork, ConditionalGaussianCPD, TableCPD
    >>> kind = TableCPD("kind", [0.5, 0.5], states=["small", "large"])
    >>> height = ConditionalGaussianCPD("height", [10.0, 12.0], {}, 1.0, [kind.variable])
    >>> engine = BayesianNetwork(kind, height).compile()
    >>> engine.predict_proba({"height": [12.0, None]}, "kind").round(3)
       small  large
    0  0.119  0.881
    1  0.500  0.500
    >>> engine.predict({"kind": ["small", None]}, "height").tolist()
    [10.0, 11.0]
    """

    cpds: Mapping[str, CPD]  # Name -> conditional distribution
    variables: Mapping[str, Variable]  # Name -> variable, as in the network
    place: str = "this compiled model"  # What errors call it
    #: The most that one answer, or one row of a table of evidence, may cost; by default `Budget()`.
    budget: Budget | None = None

    def __repr__(self) -> str:
        numbers = sum(variable.is_continuous for variable in self.variables.values())
        return f"<HybridEngine: {counted(len(self.variables), 'variable')}, {numbers} of them continuous>"

    def _parts(self, names: Iterable[str], evidence: Evidence) -> Parts:
        kept = ancestors_of(self.cpds, names)
        return Parts([cpd for name, cpd in self.cpds.items() if name in kept])

    def _exact_way(self, question: Question) -> Numbers:
        return Numbers(question if question.budget is not None else replace(question, budget=self.budget))

    def continuous_marginals(self, evidence: EvidenceLike | None = None) -> dict[str, MomentGaussian]:
        """The exact mean and variance of every continuous variable."""
        return Question.read(self, _NUMBERS, None, evidence).answer(lambda way: way.all_moments())

    def moments(self, targets: str | Sequence[str], evidence: EvidenceLike | None = None) -> MomentGaussian:
        """The mean and the covariance of continuous targets given the evidence."""
        answer: MomentGaussian = Question.read(self, _NUMBERS, targets, evidence).answer(lambda way: way.moments())
        return answer

    def mixture(self, targets: str | Sequence[str], evidence: EvidenceLike | None = None) -> GaussianMixture:
        """P(targets | evidence) as a mixture of Gaussians."""
        answer: GaussianMixture = Question.read(self, _NUMBERS, targets, evidence).answer(lambda way: way.mixture())
        return answer

    def _row_beliefs(self, frame: Any, target: Variable) -> Floats:
        """By the pattern of missing numbers, so that 100,000 rows take seconds."""
        if target.is_continuous:
            raise NotSupported(
                f"{target.name!r} is continuous: it has no states with probabilities. "
                f"predict_moments(frame, {target.name!r}) gives its mean and variance for each row, moments(...) and "
                "mixture(...) its distribution for one."
            )
        return self._answers(self._rows(frame), groups=[(target,)]).joints[0]

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
        """For each row the most probable state of a discrete target, or the mean of a continuous one."""
        import pandas as pd

        if not self._target(target).is_continuous:
            return CompiledModel.predict(self, frame, target, output=output, progress=progress)
        question = self._of_rows({target: float}, lambda rows: self._row_moments(rows, target)[:, 0], target)
        if output is not None:
            return question.write(frame, output, progress)
        means, index = question.answers(frame, progress)
        return pd.Series(means, index=index, name=target)

    @overload
    def predict_moments(
        self, frame: RowsLike, target: str, *, output: None = ..., progress: Progress | None = ...
    ) -> pd.DataFrame: ...
    @overload
    def predict_moments(
        self, frame: RowsLike, target: str, *, output: str | PathLike[str], progress: Progress | None = ...
    ) -> WrittenRows: ...
    def predict_moments(
        self,
        frame: RowsLike,
        target: str,
        *,
        output: str | PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> pd.DataFrame | WrittenRows:
        """The exact mean and variance of a continuous target for each row of evidence, in columns of these names.

        >>> from plausible import BayesianNetwork, LinearGaussianCPD
        >>> net = BayesianNetwork(
        ...     LinearGaussianCPD("x", 1.0, variance=4.0), LinearGaussianCPD("y", -3.5, {"x": 0.5}, 4.0)
        ... )
        >>> net.compile().predict_moments({"y": [2.0, None]}, "x")
           mean  variance
        0   3.0       3.2
        1   1.0       4.0
        """
        import pandas as pd

        if not self._target(target).is_continuous:
            raise NotSupported(f"{target!r} is discrete: predict_proba(frame, {target!r}) gives its probabilities.")
        kinds = {"mean": float, "variance": float}
        question = self._of_rows(kinds, lambda rows: self._row_moments(rows, target), target)
        if output is not None:
            return question.write(frame, output, progress)
        moments, index = question.answers(frame, progress)
        return pd.DataFrame(moments, columns=list(kinds), index=index)

    def _row_moments(self, frame: Any, target: str) -> Floats:
        """The mean and the variance of a number, for each row."""
        answers = self._answers(self._rows(frame), target=target)
        return np.column_stack([answers.mean, answers.variance])

    def _row_log_totals(self, frame: Any) -> Floats:
        return self._answers(self._rows(frame), refuse_impossible=False).log_totals

    def _countable(self) -> dict[str, Scope]:
        return {n: cpd.scope for n, cpd in self.cpds.items() if not any(v.is_continuous for v in cpd.scope)}

    def _counts(self, frame: Any, weights: npt.ArrayLike | None, asked: Mapping[str, Scope]) -> dict[str, Floats]:
        rows = self._rows(frame)
        counted = checked_weights(weights, rows.num_rows)
        for name, scope in asked.items():
            check_size(scope, f"The family of {name!r}")
        found = self._answers(rows, groups=list(asked.values()))
        return {name: np.tensordot(counted, joint, 1) for name, joint in zip(asked, found.joints, strict=True)}

    def _rows(self, frame: IntoDataFrame | Mapping[str, Sequence[Any]]) -> EvidenceColumns:
        return EvidenceColumns.read(frame, self.variables, self.place)

    def _answers(
        self,
        rows: EvidenceColumns,
        groups: Sequence[Scope] = (),
        target: str | None = None,
        *,
        refuse_impossible: bool = True,
    ) -> HybridAnswers:
        """From the distributions of what is observed anywhere, of what is asked for, and of all above."""
        asked = {*(variable.name for group in groups for variable in group), *([] if target is None else [target])}
        kept = ancestors_of(self.cpds, {*asked, *rows.states, *rows.numbers})
        relevant = [cpd for name, cpd in self.cpds.items() if name in kept]
        discrete = [cpd for cpd in relevant if not cpd.variable.is_continuous]
        mixed = [cpd for cpd in discrete if any(parent.is_continuous for parent in cpd.parents)]
        lowered = lower([cpd for cpd in discrete if cpd not in mixed], self.variables, {})
        regressions = [regression_of(cpd) for cpd in relevant if cpd.variable.is_continuous]
        model = HybridRows.of(lowered.factors, regressions, self.budget)
        tables = [self._table_of_rows(cpd, rows, asked) for cpd in mixed]
        found = model.answer(rows, tables, groups, target)
        impossible = np.isneginf(found.log_totals)
        if refuse_impossible and impossible.any():
            row = int(np.argmax(impossible))
            raise self._impossible_row(row_name(rows.source, row), rows.findings(row))
        return replace(found, log_totals=found.log_totals + lowered.log_scale)

    def _table_of_rows(self, cpd: CPD, rows: EvidenceColumns, asked: Iterable[str]) -> EvidenceWeight:
        """log P(child | parents) of a discrete child of numbers, at the numbers of each row."""
        numbers = [parent.name for parent in cpd.parents if parent.is_continuous]
        scope = tuple(variable for variable in cpd.scope if not variable.is_continuous)
        check_size(scope, f"The family of {cpd.variable.name!r}")
        columns = {name: rows.numbers.get(name, np.full(rows.num_rows, np.nan)) for name in numbers}
        hidden = np.isnan(np.column_stack(list(columns.values()))).any(axis=1)
        self._refuse_hidden(cpd, rows, hidden, asked)
        known = {name: np.where(np.isnan(column), 0.0, column) for name, column in columns.items()}
        table = np.empty((rows.num_rows, *(variable.num_states for variable in scope)))
        flat = table.reshape(rows.num_rows, -1, scope[-1].num_states)
        for place, positions in enumerate(np.ndindex(table.shape[1:-1])):
            states = {v.name: np.full(rows.num_rows, i) for v, i in zip(scope[:-1], positions, strict=True)}
            flat[:, place] = cpd.distribution({**known, **states})
        # Nothing depends on the child there, so any distribution will do.
        table[hidden] = 1.0 / scope[-1].num_states
        return EvidenceWeight(scope, logarithms(table), np.zeros(table.shape, dtype=np.int64))

    def _refuse_hidden(self, cpd: CPD, rows: EvidenceColumns, hidden: Flags, asked: Iterable[str]) -> None:
        """Refuse rows in which a discrete variable matters and a number that it depends on is missing."""
        name = cpd.variable.name
        matters = np.full(rows.num_rows, name in ancestors_of(self.cpds, asked))
        for other, column in rows.states.items():
            if name in ancestors_of(self.cpds, [other]):
                matters |= column >= 0
        for other, numbers in rows.numbers.items():
            if name in ancestors_of(self.cpds, [other]):
                matters |= ~np.isnan(numbers)
        if (matters & hidden).any():
            parents = " or ".join(repr(parent.name) for parent in cpd.parents if parent.is_continuous)
            raise NotSupported(
                f"{row_name(rows.source, int(np.argmax(matters & hidden)))} has no number for {parents}, on which the "
                f"discrete {name!r} depends: exact inference can't integrate that. Fill it in, or leave {name!r} out."
            )

    def explain(self, targets: str | Sequence[str] | None = None) -> Plan:
        """What the marginals of all variables, or the joint of some, would cost, without any evidence."""
        return self._exact_way(Question.read(self, _NUMBERS, targets)).plan()
