"""What setting variables does to others, for all their states at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plausible.base.arrays import Floats
from plausible.cpds import TableCPD
from plausible.models import BayesianNetwork
from plausible.variables import EvidenceLike, Variable

__all__ = ["association_table", "effect_table"]


def association_table(
    network: BayesianNetwork,
    outcome: Sequence[Variable],
    treatment: Sequence[Variable],
    evidence: EvidenceLike | None = None,
) -> Floats:
    """P(Y | x, e) for every x: an axis for each treatment, then one for each outcome; NaN where P(x, e) = 0."""
    joint = network.query([variable.name for variable in (*treatment, *outcome)], evidence).values
    total = joint.sum(axis=tuple(range(len(treatment), joint.ndim)), keepdims=True)
    with np.errstate(invalid="ignore"):
        table = np.where(total > 0, joint / np.where(total > 0, total, 1.0), np.nan)
    table.setflags(write=False)
    return table


def effect_table(
    network: BayesianNetwork,
    outcome: Sequence[Variable],
    treatment: Sequence[Variable],
    evidence: EvidenceLike | None = None,
) -> Floats:
    """P(Y | do(x), e) for every x: an axis for each treatment, then one for each outcome; NaN where P(e | do(x)) = 0.

    One inference for all x: in the network in which the treatments are uniform and have no parents, seeing is doing.
    """
    for variable in treatment:
        network = network.with_cpd(TableCPD(variable, np.full(variable.num_states, 1.0 / variable.num_states)))
    return association_table(network, outcome, treatment, evidence)
