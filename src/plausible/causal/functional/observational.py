"""What a functional model shows to someone who only looks: the network over its endogenous variables."""

from __future__ import annotations

import numpy as np

from plausible.causal.functional.model import FunctionalModel
from plausible.cpds import TableCPD
from plausible.factors import product
from plausible.models import BayesianNetwork
from plausible.models.rebuilding import conditional_table

__all__ = ["observational_network"]


def observational_network(model: FunctionalModel) -> BayesianNetwork:
    """The distribution of the endogenous variables as a Bayesian network; many functional models share one.

    A variable whose noise is its own keeps its parents: P(x | pa) = Σ_u P(u) 1(f(pa, u) = x), for all pa, seen or not.
    A confounded one depends on those before it in its district, and on their parents (Tian & Pearl 2002, lemma 1); its
    edges are not causal then, and its rows are uniform where the others never occur.

    Parameters
    ----------
    model
        A functional model.

    Examples
    --------
    >>> model = FunctionalModel(
    ...     {"X": lambda U: U, "Y": lambda X, U, V: X != (U and V)},
    ...     noise=[TableCPD("U", [0.5, 0.5]), TableCPD("V", [0.75, 0.25])],
    ... )
    >>> print(observational_network(model).cpd("Y"))
    X | Y=False | Y=True
    --+---------+-------
    0 |       1 |      0
    1 |    0.25 |   0.75
    """
    order = model.topological_order
    cpds: dict[str, TableCPD] = {}
    for place, name in enumerate(order):
        district = model.graph.subgraph(order[: place + 1]).district(name)
        if len(district) == 1:
            cpds[name] = _own_table(model, name)
            continue
        scope = {parent for member in map(str, district) for parent in model.parents(member)} | district
        family = model.query([*(node for node in order if node in scope and node != name), name])
        cpds[name] = conditional_table(family, name)
    return BayesianNetwork([cpds[name] for name in model.variables])


def _own_table(model: FunctionalModel, name: str) -> TableCPD:
    """P(x | pa) of a variable whose noise is independent of all that comes before it."""
    function, own = model.functions[name], model.noise_of(name)
    joint = [model.noise.query(own)] if own else []
    parents = [parent for parent in function.parents if parent.name not in own]
    family = product([function.to_factor(), *joint]).marginalize(own)
    values = family.reorder([*(parent.name for parent in parents), name]).values
    return TableCPD(function.variable, np.asarray(values), parents)
