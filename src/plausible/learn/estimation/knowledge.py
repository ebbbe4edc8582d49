"""What is known about parameters besides data: some are given, some are shared, some have a place to start from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from plausible.cpds import CPD
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.models import BayesianNetwork


@dataclass(frozen=True, slots=True)
class ParameterKnowledge:
    """Knowledge in two of its three strengths; the third, a preference that data can overrule, is a prior.

    Parameters
    ----------
    fixed
        Hard constraints: CPDs that are kept as they are, or a network of them.
    tied
        Groups of variables whose tables are one and the same, learned from the cases of all; states and parents
        correspond by their order.
    start
        CPDs from which iterative learners set out (noisy-or, logistic); where an estimate has a closed form, or its
        likelihood one maximum, the answer does not depend on it. A noisy-or also tells which states are active.

    Examples
    --------
    >>> ParameterKnowledge(tied=[["rain today", "rain tomorrow"]]).owners
    {'rain tomorrow': 'rain today'}
    """

    fixed: Sequence[CPD] | BayesianNetwork = ()
    tied: Sequence[Iterable[str]] = ()
    start: Sequence[CPD] | BayesianNetwork = ()
    fixed_cpds: Mapping[str, CPD] = field(init=False, compare=False)
    start_cpds: Mapping[str, CPD] = field(init=False, compare=False)
    #: Variable -> the one whose table it shares, for all but the first of each group.
    owners: Mapping[str, str] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fixed_cpds", _by_name(self.fixed))
        object.__setattr__(self, "start_cpds", _by_name(self.start))
        object.__setattr__(self, "owners", _owners(self.tied))
        for name in {*self.owners, *self.owners.values()}:
            if name in self.fixed_cpds:
                raise InvalidArgument(f"{name!r} is fixed and tied to others; fix all of its group, or none.")


def _by_name(cpds: Sequence[CPD] | BayesianNetwork) -> dict[str, CPD]:
    listed = cpds.cpds.values() if isinstance(cpds, BayesianNetwork) else cpds
    for cpd in listed:
        if not isinstance(cpd, CPD):
            raise InvalidArgument(f"Known parameters are given as CPDs, not as {cpd!r}.")
    return {cpd.variable.name: cpd for cpd in listed}


def _owners(groups: Sequence[Iterable[str]]) -> dict[str, str]:
    owners: dict[str, str] = {}
    seen: set[str] = set()
    for group in groups:
        if isinstance(group, str):
            raise InvalidArgument(f"tied= is a list of groups of names, such as [['X1', 'X2']]; {group!r} is no group.")
        names = list(group)
        if not names:
            raise InvalidArgument("A group of tied= is empty. Leave it out, or name variables: [['X1', 'X2']].")
        for name in names:
            if name in seen:
                raise InvalidArgument(f"{name!r} is tied twice; join its groups.")
            seen.add(name)
        owners |= dict.fromkeys(names[1:], names[0])
    return owners


def check_knowledge(knowledge: ParameterKnowledge, families: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse knowledge of variables that are not there, and fixed CPDs with other parents than the graph has."""
    for name in (*knowledge.fixed_cpds, *knowledge.start_cpds, *knowledge.owners, *knowledge.owners.values()):
        if name not in families:
            raise UnknownVariable.named(name, families, "this graph, though knowledge= names it")
    for name, cpd in knowledge.fixed_cpds.items():
        if set(cpd.parent_names) != set(families[name]):
            raise InvalidArgument(
                f"The fixed CPD of {name!r} has the parents {list(cpd.parent_names)}, "
                f"but the graph {list(families[name])}."
            )
