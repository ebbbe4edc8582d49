"""Evidence from before all decisions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import ImpossibleEvidence, InvalidEvidence, NotSupported, UnknownVariable
from plausible.inference.contradiction import impossible_evidence
from plausible.variables import Evidence
from plausible.variables.evidence import EvidenceLike, findings_of

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["impossible", "read_findings"]


def impossible(diagram: InfluenceDiagram, evidence: EvidenceLike | None) -> ImpossibleEvidence:
    """The error for evidence that is impossible, which names findings that contradict each other.

    >>> from plausible.cpds import TableCPD
    >>> from plausible.decisions import InfluenceDiagram
    >>> raise impossible(InfluenceDiagram([TableCPD("x", [1.0, 0.0])]), {"x": 1})
    Traceback (most recent call last):
        ...
    plausible.errors.ImpossibleEvidence: The evidence x=1 has probability zero.
    """
    network = diagram.network(diagram.uniform_strategy())
    found = impossible_evidence(findings_of(evidence), lambda some: network.log_probability(some) > -math.inf)
    return found or ImpossibleEvidence.outright()


def read_findings(diagram: InfluenceDiagram, evidence: EvidenceLike | None) -> dict[str, Floats]:
    """Name -> weight of each state, for evidence that is there before any decision is made."""
    if evidence is None:
        return {}
    if utility := next((name for name in findings_of(evidence) if name in diagram.utilities), None):
        raise UnknownVariable(f"{utility!r} is a utility of this diagram, and nothing that can be observed.")
    found = Evidence.read(evidence, diagram.variables, "this diagram")
    if found.jeffrey:
        raise NotSupported(f"A diagram is solved given states or likelihoods, not jeffrey(): {sorted(found.jeffrey)}.")
    for name in found.names:
        if name in diagram.decisions:
            raise InvalidEvidence(
                f"{name!r} is a decision: no evidence is possible before it is made. To set it, solve "
                f"diagram.with_rules({{{name!r}: action}})."
            )
        if causes := [decision for decision in diagram.decisions if name in diagram.graph.descendants(decision)]:
            raise InvalidEvidence(
                f"{name!r} depends on the decision {causes[0]!r}, so it can't be known before all decisions. If "
                f"{causes[0]!r} is made, set it: diagram.with_rules({{{causes[0]!r}: action}})."
            )
    vectors = dict(found.soft)
    for name, state in found.hard.items():
        vectors[name] = np.eye(diagram.variables[name].num_states)[state]
    return vectors
