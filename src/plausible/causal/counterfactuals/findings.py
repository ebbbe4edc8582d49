"""Findings about several worlds as evidence for one network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from plausible.causal.counterfactuals.potential import Potential
from plausible.errors import ImpossibleEvidence, InvalidEvidence
from plausible.variables import Evidence, Jeffrey, Variable, likelihood

__all__ = ["Finding", "as_evidence"]


class Finding(NamedTuple):
    """What is known about a variable in one world."""

    term: Potential
    value: Any


def as_evidence(
    findings: Iterable[Finding], nodes: Mapping[Potential, str], variables: Mapping[str, Variable]
) -> dict[str, Any]:
    """Node -> finding; findings about variables that are one node, as they can't differ, are taken together.

    Parameters
    ----------
    findings
        What is known, in any world.
    nodes
        The node of each potential response.
    variables
        The variable of each node.
    """
    evidence: dict[str, Any] = {}
    origin: dict[str, Finding] = {}
    for finding in findings:
        node = nodes[finding.term]
        if node in evidence:
            evidence[node] = _both(variables[node], evidence[node], finding, origin[node])
        else:
            evidence[node], origin[node] = finding.value, finding
    return evidence


def _both(variable: Variable, earlier: Any, finding: Finding, origin: Finding) -> Any:
    """Two findings about one variable as one."""
    if isinstance(finding.value, Jeffrey) or isinstance(earlier, Jeffrey):
        raise InvalidEvidence(f"{origin.term} and {finding.term} can't differ; give jeffrey(...) for one of them only.")
    weights = _weights(variable, earlier) * _weights(variable, finding.value)
    if not weights.any():
        raise ImpossibleEvidence(
            f"{origin.term}={origin.value!r} contradicts {finding.term}={finding.value!r}: the interventions can't "
            f"make {finding.term.variable!r} differ between these worlds."
        )
    if np.count_nonzero(weights) == 1:
        return variable.states[int(np.flatnonzero(weights)[0])]
    return likelihood(weights.tolist())


def _weights(variable: Variable, value: Any) -> npt.NDArray[np.float64]:
    """A weight for each state."""
    found = Evidence.read({variable.name: value}, {variable.name: variable})
    if variable.name in found.soft:
        return found.soft[variable.name]
    weights = np.zeros(variable.num_states)
    weights[found.hard[variable.name]] = 1.0
    return weights
