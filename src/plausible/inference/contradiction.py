"""Which findings contradict each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from plausible.base.plain_values import shown
from plausible.errors import ImpossibleEvidence, TooLarge


def smallest_contradiction(
    evidence: Mapping[str, Any], is_possible: Callable[[Mapping[str, Any]], bool]
) -> dict[str, Any] | None:
    """Findings that can't hold together, none of which can be spared; `None` where all can hold together.

    QuickXplain (Junker 2004): halves of the findings are kept or dropped as a whole, so that k findings out of n are
    found in O(k log(n/k) + k) calls of `is_possible`.

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
    needed = set(_needed((), True, list(evidence), lambda names: is_possible({name: evidence[name] for name in names})))
    return {name: finding for name, finding in evidence.items() if name in needed}


def _needed(
    background: Sequence[str],
    has_news: bool,
    candidates: Sequence[str],
    is_possible: Callable[[Iterable[str]], bool],
) -> Sequence[str]:
    """The candidates, none of which can be spared, that are impossible together with the background.

    With all candidates it is impossible; `has_news` says that the background was not yet tried alone.
    """
    if has_news and not is_possible(background):
        return ()
    if len(candidates) <= 1:
        return candidates
    middle = len(candidates) // 2
    first, second = candidates[:middle], candidates[middle:]
    from_second = _needed((*background, *first), bool(first), second, is_possible)
    from_first = _needed((*background, *from_second), bool(from_second), first, is_possible)
    return [*from_first, *from_second]


def impossible_evidence(
    evidence: Mapping[str, Any], is_possible: Callable[[Mapping[str, Any]], bool]
) -> ImpossibleEvidence | None:
    """The error that names the smallest contradiction that was found; `None` where there is nothing to name."""
    try:
        contradiction = smallest_contradiction(evidence, is_possible)
    except TooLarge:  # what an approximate engine has found is beyond what can be looked into
        return None
    if not contradiction:  # possible after all, or impossible whatever the evidence
        return None
    findings = ", ".join(f"{name}={shown(finding)}" for name, finding in contradiction.items())
    if len(contradiction) == 1:
        return ImpossibleEvidence(f"The evidence {findings} has probability zero.")
    rest = "" if len(contradiction) == len(evidence) else ", whatever the other findings"
    return ImpossibleEvidence(f"The evidence {findings} has probability zero together{rest}.")
