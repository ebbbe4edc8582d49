"""Expected counts of the families of a model, by its clique tree or by a named engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.data import encode_evidence
from plausible.factors import Factor
from plausible.inference.approximate_counts import ExpectedCounts, ImpossibleRow, expected_counts
from plausible.inference.engines import Engine
from plausible.inference.info import QueryInfo
from plausible.models.exact_engine import ExactEngine, checked_weights, impossible_row, refuse_large_families
from plausible.models.hybrid_engine import HybridEngine
from plausible.variables import Variable

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

__all__ = ["WeightedTable", "counts_by", "exact_counts"]

#: A table of evidence, and how often each of its rows counts; once each for `None`.
WeightedTable: TypeAlias = tuple["IntoDataFrame | Mapping[str, Sequence[Any]]", npt.ArrayLike | None]


def counts_by(
    engine: Engine,
    factors: Iterable[Factor],
    families: Mapping[str, tuple[Variable, ...]],
    variables: Mapping[str, Variable],
    table: WeightedTable,
) -> ExpectedCounts:
    """The expected counts that a named engine finds; see `expected_counts`."""
    refuse_large_families(families)
    frame, weights = table
    listed = list(factors)
    rows = encode_evidence(frame, variables, "this network")
    auxiliary = {v.name: v for factor in listed for v in factor.scope if v.name not in variables}
    rows = np.pad(rows, ((0, 0), (0, len(auxiliary))), constant_values=-1)
    columns = [*variables.values(), *auxiliary.values()]
    numbers = checked_weights(weights, len(rows))
    try:
        return expected_counts(listed, families, columns, rows, numbers, engine)
    except ImpossibleRow as error:
        raise impossible_row(error.row, error) from None


def exact_counts(
    compiled: ExactEngine | HybridEngine,
    frame: IntoDataFrame | Mapping[str, Sequence[Any]],
    weights: npt.ArrayLike | None,
    families: str | Iterable[str] | None = None,
) -> ExpectedCounts:
    """The expected counts of a compiled model, with how they were got."""
    counts = compiled.expected_counts(frame, weights, families=families)
    info = compiled.sums.info if isinstance(compiled, ExactEngine) else QueryInfo("hybrid clique tree")
    return ExpectedCounts(counts, info)
