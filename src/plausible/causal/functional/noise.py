"""The joint distribution of noise: independent parts, groups given by one table each, or a network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.cpds import CPD, TableCPD
from plausible.errors import InvalidFactor, InvalidModel
from plausible.factors import Factor
from plausible.factors.alignment import scope_text
from plausible.models import BayesianNetwork
from plausible.models.rebuilding import conditional_table

__all__ = ["NoiseLike", "chain_rule", "read_noise"]

#: A network over all noise, name -> probabilities, or CPDs and joint tables of groups that are independent.
NoiseLike: TypeAlias = "BayesianNetwork | CPD | Factor | Iterable[CPD | Factor] | Mapping[str, npt.ArrayLike]"


def read_noise(noise: NoiseLike) -> BayesianNetwork:
    """One network over all noise variables.

    >>> from plausible.variables import Variable
    >>> group = Factor([Variable("U", 2), Variable("V", 2)], [[0.5, 0.0], [0.0, 0.5]])
    >>> read_noise([TableCPD("W", [0.5, 0.5]), group]).graph
    DAG('U -> V; W')
    >>> read_noise({"U": [0.5, 0.5], "V": [0.1, 0.2, 0.7]}).num_parameters
    3
    """
    if isinstance(noise, BayesianNetwork):
        network = noise
    elif isinstance(noise, Mapping):
        network = BayesianNetwork([_independent(name, probabilities) for name, probabilities in noise.items()])
    else:
        parts = [noise] if isinstance(noise, (CPD, Factor)) else list(noise)
        network = BayesianNetwork([cpd for part in parts for cpd in _cpds(part)])
    if network.inputs:
        raise InvalidModel(f"The noise variable {network.inputs[0]!r} has no distribution.")
    if not network.is_discrete:
        continuous = next(v.name for v in network.variables.values() if v.is_continuous)
        raise InvalidModel(
            f"The noise variable {continuous!r} is continuous: a FunctionalModel is discrete. "
            "See LinearEquations and AdditiveEquations."
        )
    return network


def chain_rule(joint: Factor) -> list[TableCPD]:
    """P(A, B, C) as P(A) P(B | A) P(C | A, B)."""
    if not abs(float(joint.values.sum()) - 1.0) <= 1e-9:
        raise InvalidFactor(
            f"The joint table of the noise {scope_text(joint.scope)} sums to {joint.values.sum():.10g}, not to one."
        )
    names = [variable.name for variable in joint.scope]
    return [conditional_table(joint.marginal(names[: place + 1]), name) for place, name in enumerate(names)]


def _independent(name: str, probabilities: npt.ArrayLike) -> CPD:
    if isinstance(probabilities, (CPD, Factor)):
        raise InvalidModel(f"The noise {name!r} is mapped to {probabilities!r}: list such parts without names.")
    return TableCPD(name, np.asarray(probabilities))


def _cpds(part: object) -> list[CPD]:
    if isinstance(part, CPD):
        return [part]
    if isinstance(part, Factor):
        return list(chain_rule(part))
    raise InvalidModel(
        "Noise is given by a mapping such as {'U': [0.5, 0.5]}, CPDs, joint Factors of groups or a BayesianNetwork, "
        f"not by {part!r}."
    )
