"""Data frames of rows that a named engine draws, for models of all kinds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.base.seeds import Seed
from plausible.data import decode
from plausible.factors import Factor
from plausible.inference.approximate_samples import SamplingEngine, check_sampling_engine, reseeded
from plausible.inference.engines import check_mentioned
from plausible.inference.info import QueryInfo
from plausible.variables import Evidence, Variable

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DrawChoice", "draw_by", "drawn_exactly"]

DrawChoice: TypeAlias = SamplingEngine | Literal["auto"] | None


def draw_by(
    engine: Any,
    factors: Iterable[Factor],
    num_rows: int,
    evidence: Evidence,
    seed: Seed,
    variables: Mapping[str, Variable],
) -> pd.DataFrame:
    """Rows that an engine draws, in the order of the variables; `.attrs` has its "info" and the "effective_size".

    Observed variables that no factor has, such as numbers and inputs, are as observed in every row.
    """
    check_sampling_engine(engine)
    check_mentioned(engine, variables)
    drawn = reseeded(engine, seed).draw_states(factors, num_rows, replace(evidence, values={}))
    observed: dict[str, npt.NDArray[Any]] = {
        name: np.full(num_rows, value) for name, value in {**evidence.hard, **evidence.values}.items()
    }
    frame = decode({**observed, **drawn.columns}, variables)
    frame.attrs.update(info=drawn.info, effective_size=drawn.effective_size)
    return frame


def drawn_exactly(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame of independent rows that says so."""
    frame.attrs.update(info=QueryInfo("independent samples", num_steps=len(frame)), effective_size=float(len(frame)))
    return frame
