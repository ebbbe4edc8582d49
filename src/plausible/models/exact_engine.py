"""A compiled model of discrete variables: one clique tree, for one evidence or a table of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Codes, Floats
from plausible.base.method_names import own_methods
from plausible.data import encode_evidence
from plausible.errors import NotSupported, PlausibleWarning, counted
from plausible.factors.alignment import num_entries
from plausible.inference.compiled import CompiledFactors, compile_factors
from plausible.inference.plan import Plan, plan_factors, plan_of
from plausible.inference.posterior import read_targets
from plausible.models.compiled_model import (
    LARGEST_FAMILY,
    CompiledModel,
    checked_weights,
    named_families,
    refuse_large_families,
)
from plausible.models.question import Parts, Question
from plausible.models.ways import Tree
from plausible.variables import Assignment, Evidence, Variable

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame


@own_methods
@dataclass(frozen=True, slots=True, eq=False)
class ExactEngine(CompiledModel):
    """Exact answers from a clique tree that was laid out once; made by `model.compile()`."""

    variables: Mapping[str, Variable]  # Name -> variable, as in the model
    sums: CompiledFactors  # The compiled factors that sums are taken of
    #: Finds a best assignment, where the factors of the sums have auxiliary variables.
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

    # --- a table of evidence ---

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
                f"Name those with up to {LARGEST_FAMILY} entries (families=...) to have them too.",
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
            raise self._impossible_row(row, findings)

    def _families(self, names: str | Iterable[str] | None) -> Mapping[str, tuple[Variable, ...]]:
        """The families of the children named, or all."""
        if not self.families:
            raise NotSupported(
                "A Markov network has no families to count: ask for expected counts of a Bayesian network."
            )
        if names is None:
            return self.families
        return named_families(names, self.families, self.variables, self.place)

    def _row_beliefs(self, frame: Any, target: Variable) -> Floats:
        rows = encode_evidence(frame, self.variables, self.place)
        answers = self.sums.answer_rows(rows, target.name)
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
