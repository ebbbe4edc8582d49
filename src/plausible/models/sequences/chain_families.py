"""Dynamic networks of several hidden chains: factorial and coupled hidden Markov models, and one chain as a network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from plausible.cpds import CPD
from plausible.errors import InvalidModel
from plausible.models.sequences.dynamic_network import DynamicBayesianNetwork
from plausible.models.sequences.template import lagged


def factorial_hmm(
    initial: Sequence[CPD], transition: Sequence[CPD], observation: CPD | Iterable[CPD]
) -> DynamicBayesianNetwork:
    """Hidden chains that move by themselves and are seen together (Ghahramani & Jordan 1997).

    Parameters
    ----------
    initial, transition
        The CPDs of each chain at first and later; the latter have one parent, the chain one step before.
    observation
        The CPDs of what is observed, given the chains.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> moves = [TableCPD(name, [[0.9, 0.1], [0.2, 0.8]], parents=[f"{name}[-1]"]) for name in ("A", "B")]
    >>> both = TableCPD("sum", [[[1, 0, 0], [0, 1, 0]], [[0, 1, 0], [0, 0, 1]]], parents=["A", "B"])
    >>> factorial_hmm([TableCPD("A", [0.5, 0.5]), TableCPD("B", [0.5, 0.5])], moves, both).graph
    DAG('A[-1] -> A; B[-1] -> B; A -> sum; B -> sum')
    """
    for cpd in transition:
        if cpd.parent_names != (f"{cpd.variable.name}[-1]",):
            raise InvalidModel(
                f"{cpd.variable.name!r} depends on {list(cpd.parent_names)}: the chains of a factorial model depend on "
                "themselves one step before and on nothing else. Those of coupled_hmm may depend on one another."
            )
    seen = [observation] if isinstance(observation, CPD) else list(observation)
    return DynamicBayesianNetwork(initial, [*transition, *seen])


def coupled_hmm(
    initial: Sequence[CPD], transition: Sequence[CPD], observations: Sequence[CPD]
) -> DynamicBayesianNetwork:
    """Hidden chains that look at each other's states one step before, each with observations of its own (Brand 1997).

    Parameters
    ----------
    initial, transition
        The CPDs of each chain at first and later; the latter have parents one step before only.
    observations
        The CPDs of what is observed, each given one chain.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> moves = [
    ...     TableCPD("A", [[0.9, 0.1], [0.2, 0.8]], parents=["A[-1]"]),
    ...     TableCPD("B", [[[0.9, 0.1], [0.5, 0.5]], [[0.5, 0.5], [0.1, 0.9]]], parents=["A[-1]", "B[-1]"]),
    ... ]
    >>> signs = [TableCPD(name.lower(), [[0.8, 0.2], [0.3, 0.7]], parents=[name]) for name in ("A", "B")]
    >>> coupled_hmm([TableCPD("A", [0.5, 0.5]), TableCPD("B", [0.5, 0.5])], moves, signs).interface
    ('A', 'B')
    """
    for cpd in transition:
        if any(lagged(name).lag != 1 for name in cpd.parent_names):
            raise InvalidModel(
                f"{cpd.variable.name!r} depends on {list(cpd.parent_names)}: coupled chains depend on chains one step "
                "before. DynamicBayesianNetwork takes any parents."
            )
    for cpd in observations:
        if len(cpd.parent_names) != 1:
            raise InvalidModel(
                f"{cpd.variable.name!r} depends on {list(cpd.parent_names)}: each observation is of one chain. Chains "
                "seen together make a factorial_hmm."
            )
    return DynamicBayesianNetwork(initial, [*transition, *observations])
