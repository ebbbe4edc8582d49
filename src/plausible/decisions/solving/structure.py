"""What each decision has to know and which others it relies on: the order in which a diagram can be solved."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plausible.decisions.structure.reduced_information import reduced_information
from plausible.decisions.structure.relevance import ordered_components

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["Structure", "read_structure"]


@dataclass(frozen=True, slots=True)
class Structure:
    """What can be said about a solution before a number is looked at.

    Attributes
    ----------
    information
        Decision -> what it has to know, of what it sees.
    relies_on
        Decision -> the decisions whose rules matter to its own.
    components
        The decisions in an order in which they can be settled; those that rely on each other together.
    relevant
        The variables that matter to any utility or decision.
    """

    information: Mapping[str, tuple[str, ...]]
    relies_on: Mapping[str, tuple[str, ...]]
    components: tuple[tuple[str, ...], ...]
    relevant: frozenset[str]

    @property
    def is_acyclic(self) -> bool:
        """Whether no decisions rely on each other."""
        return all(len(component) == 1 for component in self.components)


def read_structure(diagram: InfluenceDiagram, evidence: Collection[str] = ()) -> Structure:
    """Drop what decisions need not know until nothing is left to drop, then see which of them rely on which.

    One Bayes ball for each decision answers both questions: see `plausible.decisions.structure.reduced_information`.

    Parameters
    ----------
    diagram
        The influence diagram.
    evidence
        What is known beforehand.

    References
    ----------
    Lauritzen & Nilsson (2001), Representing and solving decision problems with limited information. Shachter (1998),
    Bayes-ball. Koller & Friedman (2009), Probabilistic graphical models, 23.5 and 23.6.
    """
    found = reduced_information(diagram, evidence)
    return Structure(
        information=found.sees,
        relies_on=found.reliance,
        components=ordered_components(found.reliance),
        relevant=_relevant(diagram, found.sees, evidence),
    )


def _relevant(
    diagram: InfluenceDiagram, information: Mapping[str, Iterable[str]], evidence: Iterable[str]
) -> frozenset[str]:
    """All variables but the barren ones: decisions, and what utilities, evidence and decisions depend on."""
    stack = [*evidence, *diagram.decisions]
    for utility in diagram.utilities.values():
        stack += utility.parent_names
    reached = set(stack)
    while stack:
        name = stack.pop()
        parents = information[name] if name in information else diagram.chance[name].parent_names
        fresh = [parent for parent in parents if parent not in reached]
        reached.update(fresh)
        stack += fresh
    return frozenset(reached)
