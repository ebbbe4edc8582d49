"""The ways to run EM, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

from plausible.errors import InvalidArgument, suggestion
from plausible.learn.incomplete.accelerated_em import OverrelaxedEM, SquaredEM
from plausible.learn.incomplete.annealed_em import AnnealedEM, ReweightedEM
from plausible.learn.incomplete.em_state import EMMethod, PlainEM
from plausible.learn.incomplete.family_em import FamilyEM
from plausible.learn.incomplete.hard_em import HardEM
from plausible.learn.incomplete.hybrid_em import HybridEM
from plausible.learn.incomplete.incremental_em import IncrementalEM
from plausible.learn.incomplete.population_em import BeamEM, PerturbedEM
from plausible.learn.incomplete.variational_em import VariationalEM

__all__ = ["EM_METHODS", "EMMethodLike", "read_em_method"]

#: A method with its options, or its name.
EMMethodLike: TypeAlias = (
    EMMethod
    | Literal[
        "em",
        "hard",
        "incremental",
        "family",
        "squared",
        "overrelaxed",
        "hybrid",
        "annealed",
        "reweighted",
        "beam",
        "perturbed",
        "variational",
    ]
)

#: Name -> method with its usual options.
EM_METHODS: Mapping[str, Callable[[], EMMethod]] = MappingProxyType(
    {
        "em": PlainEM,
        "hard": HardEM,
        "incremental": IncrementalEM,
        "family": FamilyEM,
        "squared": SquaredEM,
        "overrelaxed": OverrelaxedEM,
        "hybrid": HybridEM,
        "annealed": AnnealedEM,
        "reweighted": ReweightedEM,
        "beam": BeamEM,
        "perturbed": PerturbedEM,
        "variational": VariationalEM,
    }
)


def read_em_method(method: EMMethodLike) -> EMMethod:
    """The method that a name stands for.

    >>> read_em_method("squared")
    SquaredEM(longest=1000.0)
    """
    if isinstance(method, EMMethod):
        return method
    if method not in EM_METHODS:
        raise InvalidArgument(f"method={method!r} is no way to run EM.{suggestion(str(method), EM_METHODS)}")
    return EM_METHODS[method]()
