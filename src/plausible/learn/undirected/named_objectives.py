"""The objectives by their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from plausible.errors import InvalidArgument, NotSupported, suggestion
from plausible.learn.undirected.constrained_entropy import ConstrainedEntropy
from plausible.learn.undirected.contrastive import ContrastiveDivergence
from plausible.learn.undirected.margin import MaxMargin
from plausible.learn.undirected.objectives import (
    CompositeLikelihood,
    Likelihood,
    ObjectiveMethod,
    Piecewise,
    Pseudolikelihood,
    SubmodelLikelihood,
    Viterbi,
)
from plausible.learn.undirected.sampled import SampledLikelihood

OBJECTIVES: Mapping[str, type[ObjectiveMethod]] = {
    "likelihood": Likelihood,
    "pseudolikelihood": Pseudolikelihood,
    "composite": CompositeLikelihood,
    "piecewise": Piecewise,
    "viterbi": Viterbi,
    "submodels": SubmodelLikelihood,
    "margin": MaxMargin,
    "contrastive-divergence": ContrastiveDivergence,
    "sampled-likelihood": SampledLikelihood,
    "constrained-entropy": ConstrainedEntropy,
}

#: The name of an objective, or one with its options.
ObjectiveLike: TypeAlias = str | ObjectiveMethod


def read_objective(objective: ObjectiveLike) -> ObjectiveMethod:
    """The objective that a name stands for."""
    if isinstance(objective, ObjectiveMethod):
        return objective
    if objective == "pseudo-moment-matching":  # which is a closed form, and climbs nothing
        raise NotSupported("Pseudo-moment matching counts the tables of a network without inputs: it is for markov.")
    if not isinstance(objective, str) or objective not in OBJECTIVES:
        known = [*OBJECTIVES, "pseudo-moment-matching"]
        raise InvalidArgument(f"{objective!r} is no objective.{suggestion(str(objective), known)}")
    return OBJECTIVES[objective]()
