"""What learns each distribution of a network, by its kind."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from plausible.errors import (
    InvalidArgument,
    NotSupported,
    PlausibleWarning,
    UnknownVariable,
    suggestion,
)
from plausible.learn.estimation.families import CPDLearner, Families
from plausible.learn.estimation.gaussian import GaussianLearner
from plausible.learn.estimation.knowledge import ParameterKnowledge
from plausible.learn.estimation.logistic import LogisticLearner
from plausible.learn.estimation.noisy_or import NoisyOrLearner
from plausible.learn.estimation.tree import TreeLearner

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
    for name in families.variables:
        kind = kinds.get(name) or _usual_kind(families, name)
        if name in knowledge.fixed_cpds or kind == "table":
            continue
        if name in tied:
            raise NotSupported(f"Only tables can be tied, but {name!r} has the kind {kind!r}.")
        learners[name] = _learner(name, kind)
    return learners


def _usual_kind(families: Families, name: str) -> str:
    if families.variables[name].is_continuous:
        return "linear-gaussian"
    return "logistic" if any(parent.is_continuous for parent in families.parents_of(name)) else "table"


def _learner(name: str, kind: str | CPDLearner) -> CPDLearner:
    if isinstance(kind, str):
        if kind not in _LEARNERS:
            raise InvalidArgument(f"{kind!r} is no kind to learn {name!r} as.{suggestion(kind, ('table', *_LEARNERS))}")
        return _LEARNERS[kind]
    if not isinstance(kind, CPDLearner):
        raise InvalidArgument(f"kinds= says how to learn {name!r}: by a word, such as 'tree', or a learner.")
    return kind
