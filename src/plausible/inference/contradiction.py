"""Which findings contradict each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from plausible.errors import ImpossibleEvidence
from plausible.variables import Jeffrey

__all__ = ["impossible_evidence", "smallest_contradiction"]


def smallest_contradiction(
    evidence: Mapping[str, Any], is_possible: Callable[[Mapping[str, Any]], bool]
) -> dict[str, Any] | None:
    """Findings that can't hold together, none of which can be spared; `None` where all can hold together.

    A deletion filter: each finding in turn is left out for good if the rest is still impossible. One call of
    `is_possible` for each finding.

    Parameters
    ----------
    evidence
        Name -> finding.
    is_possible
        Whether some findings have positive probability; it must not turn true when findings are added.

    Examples
    --------
    >>> smallest_contradiction({"a": 1, "b": 2, "c": 3}, lambda found: not {"a", "c"} <= found.keys())
    {'a': 1, 'c': 3}
    """
    if is_possible(evidence):
        return None
    kept = dict(evidence)
    for name in evidence:
        fewer = {other: finding for other, finding in kept.items() if other != name}
        if not is_possible(fewer):
            kept = fewer
    return kept


def impossible_evidence(
    evidence: Mapping[str, Any], is_possible: Callable[[Mapping[str, Any]], bool]
) -> ImpossibleEvidence | None:
    """The error that names the smallest contradiction that was found; `None` where the evidence is possible."""
    certain = {name: finding for name, finding in evidence.items() if not isinstance(finding, Jeffrey)}
    contradiction = smallest_contradiction(certain, is_possible)
    if contradiction is None:
        return None
    findings = ", ".join(f"{name}={finding!r}" for name, finding in contradiction.items())
    if len(contradiction) == 1:
        return ImpossibleEvidence(f"The evidence {findings} has probability zero.")
    rest = "" if len(contradiction) == len(certain) else ", whatever the other findings"
    return ImpossibleEvidence(f"The evidence {findings} has probability zero together{rest}.")
