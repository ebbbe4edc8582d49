"""Abduction: what the evidence says about the noise."""

from __future__ import annotations

from collections.abc import Mapping

from plausible.causal.functional.model import FunctionalModel
from plausible.factors.alignment import MAX_ENTRIES, check_size
from plausible.variables import EvidenceLike, State

__all__ = ["abduct"]


def abduct(
    model: FunctionalModel,
    evidence: EvidenceLike,
    do: Mapping[str, State] | None = None,
    *,
    max_entries: int = MAX_ENTRIES,
) -> FunctionalModel:
    """The same functions with the noise of the units that the evidence describes: P(U | evidence).

    Counterfactuals in three steps: abduction gives this model, action is its `intervene`, prediction its `query`. The
    posterior is one table over all noise, so `counterfactual`, which never writes it down, is the one for large models.

    Parameters
    ----------
    model
        A functional model.
    evidence
        What is known about the real world.
    do
        What was set in the real world.
    max_entries
        The largest table of noise that may be made.

    References
    ----------
    Pearl (2009), Causality, theorem 7.1.7.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> model = FunctionalModel(
    ...     {"X": lambda U_X: U_X, "Y": lambda X, U_Y: X != U_Y},
    ...     noise=[TableCPD("U_X", [0.3, 0.7]), TableCPD("U_Y", [0.9, 0.1])],
    ... )
    >>> abduct(model, {"X": 1, "Y": False}).query("Y", do={"X": 0}).values
    array([0., 1.])
    """
    check_size(tuple(model.noise.variables.values()), "The posterior of the noise", max_entries)
    posterior = model.query(list(model.noise.variables), evidence, do)
    return FunctionalModel(model.functions.values(), posterior if len(model.noise) else model.noise)
