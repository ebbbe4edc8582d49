"""Evidence turned into distributions: a diagram given what is known, whatever floats have room for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import ImpossibleEvidence
from plausible.factors import Factor

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["absorbed"]


def absorbed(diagram: InfluenceDiagram, findings: Mapping[str, Floats]) -> dict[str, Factor]:
    """The distributions, given the evidence, of all variables that it says something about.

    From the last variable to the first, what is known from later ones is a likelihood λ of it and of variables before
    it: P(x | before) λ(x, before) is summed to a likelihood of what is before, and divided by that it is a distribution
    again. All arcs into observed nodes are turned by this. Likelihoods are kept as logarithms, as those of many
    observations may be further apart than floats are before others bring them together.

    Parameters
    ----------
    diagram
        The influence diagram; no decision has an influence on the evidence.
    findings
        What is known beforehand: see `read_findings`.

    Returns
    -------
    dict
        Variable -> its distribution given variables before it in the graph's topological order, a factor. The product
        of these and of the distributions of all other variables is the joint distribution given the evidence.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> from plausible.utilities import Utility
    >>> alarm = TableCPD("alarm", [[0.99, 0.01], [0.1, 0.9]], ["fire"])
    >>> diagram = InfluenceDiagram([TableCPD("fire", [0.9, 0.1]), alarm], [Decision("D", 2)], [Utility("D", [0, 1])])
    >>> absorbed(diagram, {"alarm": np.array([0.0, 1.0])})["fire"].values.round(6)
    array([0.090909, 0.909091])
    """
    order = [str(node) for node in diagram.graph.topological_order if node in diagram.chance]
    rank = {name: place for place, name in enumerate(order)}
    likelihoods: dict[str, list[Factor]] = {name: [] for name in order}
    for name, weights in findings.items():
        likelihoods[name].append(Factor((diagram.variables[name],), weights).log())
    found = {}
    for name in reversed(order):
        if likelihoods[name]:
            found[name], left = _turned(diagram.chance[name].to_factor(), likelihoods[name], name)
            if left.max() == -np.inf:
                raise ImpossibleEvidence.outright()
            if left.names:
                likelihoods[max(left.names, key=rank.__getitem__)].append(left)
    return found


def _turned(distribution: Factor, likelihoods: list[Factor], name: str) -> tuple[Factor, Factor]:
    """A distribution given likelihoods of its variable, and the logarithm of what these say about its parents."""
    joint = distribution.log()
    for likelihood in likelihoods:
        joint = joint + likelihood
    peaks = joint.maximize(name)
    peaks = Factor.from_flat(peaks.scope, np.where(peaks.flat > -np.inf, peaks.flat, 0.0))
    weights = (joint - peaks).exp()
    total = weights.marginalize(name)
    return weights / total, total.log() + peaks
