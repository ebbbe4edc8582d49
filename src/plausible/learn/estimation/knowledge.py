"""What is known about distributions besides data: their kinds, and parameters that are given, shared, or a start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from plausible.cpds import CPD
from plausible.errors import InvalidArgument, NotSupported, PlausibleWarning, UnknownVariable, suggestion
from plausible.learn.estimation.families import CPDLearner, Families
from plausible.learn.estimation.learners import GaussianLearner, LogisticLearner, NoisyOrLearner, TreeLearner
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
        for name, cpds in (("fixed_cpds", self.fixed), ("start_cpds", self.start)):
            listed = cpds.cpds.values() if isinstance(cpds, BayesianNetwork) else cpds
            for cpd in listed:
                if not isinstance(cpd, CPD):
                    raise InvalidArgument(f"Known parameters are given as CPDs, not as {cpd!r}.")
            object.__setattr__(self, name, {cpd.variable.name: cpd for cpd in listed})
        owners: dict[str, str] = {}
        seen: set[str] = set()
        for group in self.tied:
            if isinstance(group, str):
                raise InvalidArgument(
                    f"tied= is a list of groups of names, such as [['X1', 'X2']]; {group!r} is no group."
                )
            names = list(group)
            if not names:
                raise InvalidArgument("A group of tied= is empty. Leave it out, or name variables: [['X1', 'X2']].")
            for name in names:
                if name in seen:
                    raise InvalidArgument(f"{name!r} is tied twice; join its groups.")
                if name in self.fixed_cpds and len(names) > 1:
                    raise InvalidArgument(f"{name!r} is fixed and tied to others; fix all of its group, or none.")
                seen.add(name)
            owners |= dict.fromkeys(names[1:], names[0])
        object.__setattr__(self, "owners", owners)


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


_LEARNERS: Mapping[str, CPDLearner] = MappingProxyType(
    {
        "tree": TreeLearner(),
        "noisy-or": NoisyOrLearner(),
        "logistic": LogisticLearner(),
        "linear-gaussian": GaussianLearner(),
        "conditional-gaussian": GaussianLearner(),
    }
)


class UnidentifiedParameters(PlausibleWarning):
    """Some parameters are not determined by the data and the prior; a policy chose them."""


def find_learners(
    families: Families, kinds: Mapping[str, str | CPDLearner], knowledge: ParameterKnowledge
) -> dict[str, CPDLearner]:
    """Name -> what learns its distribution, for all that are neither tables nor fixed."""
    for name in kinds:
        if name not in families.variables:
            raise UnknownVariable.named(name, families.variables, "this graph, though kinds= names it")
    tied = {*knowledge.owners, *knowledge.owners.values()}
    learners = {}
    for name, variable in families.variables.items():
        usual = "logistic" if any(parent.is_continuous for parent in families.parents_of(name)) else "table"
        kind = kinds.get(name) or ("linear-gaussian" if variable.is_continuous else usual)
        if name in knowledge.fixed_cpds or kind == "table":
            continue
        if name in tied:
            raise NotSupported(f"Only tables can be tied, but {name!r} has the kind {kind!r}.")
        if isinstance(kind, str) and kind not in _LEARNERS:
            raise InvalidArgument(f"{kind!r} is no kind to learn {name!r} as.{suggestion(kind, ('table', *_LEARNERS))}")
        if not isinstance(kind, (str, CPDLearner)):
            raise InvalidArgument(f"kinds= says how to learn {name!r}: by a word, such as 'tree', or a learner.")
        learners[name] = _LEARNERS[kind] if isinstance(kind, str) else kind
    return learners
