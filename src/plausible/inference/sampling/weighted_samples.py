"""Rows drawn from a Bayesian network with the evidence put in, and their weights."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Codes, Floats
from plausible.base.options import check_count
from plausible.base.seeds import Seed, generator_of
from plausible.factors import Factor
from plausible.inference.sampling.directed_sampling import LikelihoodWeighting
from plausible.inference.sampling.sampling_plan import log_constant, ordered_families
from plausible.variables import Evidence, Variable


@dataclass(frozen=True, slots=True, eq=False)
class WeightedSamples:
    """Samples, a row each."""

    variables: tuple[Variable, ...]  # The variables, in the order of the families
    states: Codes  # Positions of states: a row for each sample, a column for each variable
    log_weights: Floats  # The logarithm of each sample's weight; their mean weight estimates P(evidence)


def draw(families: Iterable[Factor], num_rows: int, evidence: Evidence, seed: Seed = None) -> WeightedSamples:
    """Forward samples of a Bayesian network with the evidence put in, weighed by its likelihood.

    Without evidence all weights are one, and the rows are independent samples of the network.

    Parameters
    ----------
    families
        One factor P(child | parents) for each variable, the child last; other factors multiply the weights.
    num_rows
        How many.
    evidence
        States, collections of states and likelihoods.

    Examples
    --------
    >>> a, b = Variable("A", 2), Variable("B", 2)
    >>> factors = [Factor((a,), [0.6, 0.4]), Factor((a, b), [[0.7, 0.3], [0.2, 0.8]])]
    >>> samples = draw(factors, 5, Evidence.read({"B": 1}, {"B": b}), seed=1)
    >>> samples.states.tolist(), np.exp(samples.log_weights).round(6).tolist()
    ([[0, 1], [1, 1], [0, 1], [0, 1], [0, 1]], [0.3, 0.8, 0.3, 0.3, 0.3])
    """
    check_count("num_rows", num_rows, 0)
    listed = list(families)
    ordered = ordered_families(listed, evidence)
    plan = LikelihoodWeighting().plan(list(ordered.families.values()), evidence, ordered.likelihoods)
    plan = plan.scaled(log_constant(listed))
    key = generator_of(seed).integers(0, 2**64, dtype=np.uint64, endpoint=False)
    drawn, log_weights = plan.draw(num_rows, key)
    columns = {variable.name: drawn[:, place] for place, variable in enumerate(plan.variables)}
    variables = tuple({family.names[-1]: family.scope[-1] for family in listed if family.scope}.values())
    states = np.empty((num_rows, len(variables)), dtype=np.int32)
    for place, variable in enumerate(variables):
        name = variable.name
        states[:, place] = evidence.hard[name] if name in evidence.hard else columns[name]
    return WeightedSamples(variables, states, log_weights)
