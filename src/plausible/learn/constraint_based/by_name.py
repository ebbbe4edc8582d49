"""Learners of classes of graphs by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from plausible.learn.constraint_based.blanket_structure import structure_from_blankets
from plausible.learn.constraint_based.pc import ConstraintResult, pc

__all__ = ["CLASS_LEARNERS", "ClassLearner"]


class ClassLearner(NamedTuple):
    """The name of a function in `plausible.learn`, and what learns a class of graphs from data by it."""

    function: str
    learn: Callable[..., ConstraintResult]


#: Name, in lower case -> learner.
CLASS_LEARNERS: Mapping[str, ClassLearner] = MappingProxyType(
    {
        "pc": ClassLearner("pc", pc),
        "pc-stable": ClassLearner("pc", pc),
        "grow-shrink": ClassLearner("structure_from_blankets", structure_from_blankets),
        "gs": ClassLearner("structure_from_blankets", structure_from_blankets),
        "iamb": ClassLearner("structure_from_blankets", partial(structure_from_blankets, method="iamb")),
    }
)
