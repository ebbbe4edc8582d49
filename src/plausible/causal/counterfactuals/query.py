"""Counterfactual questions to a functional model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from plausible.causal.counterfactuals.findings import as_evidence, findings_under, refuse_idle_do
from plausible.causal.counterfactuals.potential import Potential, Setting
from plausible.causal.counterfactuals.worlds import ParallelWorlds, parallel_worlds
from plausible.causal.functional.model import FunctionalModel
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.factors import Factor
from plausible.inference.budget import Budget
from plausible.models.interventions import settings_of
from plausible.variables.evidence import findings_of

__all__ = ["Findings", "Outcome", "counterfactual"]

#: Name, or `Potential` where the world matters -> what is known about it.
Findings: TypeAlias = Mapping[Any, Any]
#: A variable or several, each by its name or as a `Potential`.
Outcome: TypeAlias = "str | Potential | Iterable[str | Potential]"


def counterfactual(
    model: FunctionalModel,
    outcome: Outcome,
    *,
    evidence: Findings | None = None,
    do: Mapping[str, Setting] | None = None,
    counterfactual_evidence: Findings | None = None,
    actual_do: Mapping[str, Setting] | None = None,
    budget: Budget | None = None,
) -> Factor:
    """P(Y_do | evidence): what the outcome would be under `do` for units of which the evidence is known.

    The real and the hypothetical world share their noise, so that evidence about one speaks of the other; exact
    inference in `parallel_worlds` answers. Had what was done anyway been done (do repeats the evidence), nothing would
    change.

    Parameters
    ----------
    model
        A functional model; see `functional_model` for one of a Bayesian network.
    outcome
        Variables under `do` by their names; those of other worlds as `Potential("Y", {"X": 0})`, several at once for
        joint probabilities such as P(Y_1, Y_0).
    evidence
        What is known about the real world: name -> state, states or `likelihood(...)`. A key may be a `Potential`, too,
        or a noise variable, which is how to ask about a type of unit.
    do
        What is set in the hypothetical world: name -> state, or `Potential("M", {"X": 0})` for nested counterfactuals.
        Refused where only `Potential`s are asked for, which say their own worlds.
    counterfactual_evidence
        What is known about the hypothetical world.
    actual_do
        What was set in the real world already, before the evidence was seen.
    budget
        The most that the answer may cost; by default `Budget()`.

    Returns
    -------
    Factor
        Normalised, over variables named as the outcome is; its `.info` says how it was got and what it cost.

    References
    ----------
    Balke & Pearl (1994), Probabilistic evaluation of counterfactual queries.

    Examples
    --------
    Nobody was hired with low grades. Would a high grade have helped? The same CPDs, opposite answers:

    >>> from plausible.causal.functional.responses import HIRING, ResponseVariable
    >>> from plausible.cpds import TableCPD
    >>> from plausible.variables import Variable
    >>> grade = ResponseVariable(Variable("G", ["low", "high"]))
    >>> job = ResponseVariable(Variable("J", ["no", "yes"]), [grade.variable], names=HIRING)
    >>> for types in ({"always hire": 0.5, "never hire": 0.5}, {"rational": 0.5, "underdog": 0.5}):
    ...     model = FunctionalModel([grade, job], [grade.distribution([0.5, 0.5]), job.distribution(types)])
    ...     print(counterfactual(model, "J", evidence={"G": "low", "J": "no"}, do={"G": "high"}).values)
    [1. 0.]
    [0. 1.]
    """
    if not isinstance(model, FunctionalModel):
        raise InvalidArgument(
            f"A counterfactual needs a FunctionalModel, not {model!r}. See functional_model(network); "
            "LinearEquations and AdditiveEquations have a method counterfactual."
        )
    hypothetical, actual = settings_of(do), settings_of(actual_do)
    listed = [outcome] if isinstance(outcome, (str, Potential)) else list(outcome)
    refuse_idle_do(hypothetical, [*listed, *findings_of(counterfactual_evidence)])
    refuse_idle_do(actual, findings_of(evidence), "actual_do")
    asked = _asked(listed, hypothetical)
    findings = [*findings_under(evidence, actual), *findings_under(counterfactual_evidence, hypothetical)]
    worlds = parallel_worlds(model, [*asked.values(), *(finding.term for finding in findings)])
    variables = worlds.network.variables
    known = {**worlds.constants, **as_evidence(findings, worlds.nodes, variables)}
    nodes = list(dict.fromkeys(worlds.nodes[term] for term in asked.values()))
    answer = worlds.network.query(nodes, known, budget=budget)
    return _named(answer, asked, worlds)


def _asked(outcome: Iterable[str | Potential], do: Mapping[str, Setting]) -> dict[str, Potential]:
    """The name in the answer of each variable asked for."""
    asked: dict[str, Potential] = {}
    for wanted in outcome:
        if not isinstance(wanted, (str, Potential)):
            raise UnknownVariable(f"{wanted!r} is no outcome: give a name or Potential('Y', {{'X': 1}}).")
        term = Potential(wanted, do) if isinstance(wanted, str) else wanted
        if asked.setdefault(str(wanted), term) != term:
            raise InvalidArgument(
                f"{str(wanted)!r} is asked for in two worlds. Write the hypothetical one as {term!r}, without do=."
            )
    return asked


def _named(answer: Factor, asked: Mapping[str, Potential], worlds: ParallelWorlds) -> Factor:
    """The answer over the variables asked for, of which several may be one node: these are surely equal."""
    axes = {variable.name: axis for axis, variable in enumerate(answer.scope)}
    nodes = [worlds.nodes[term] for term in asked.values()]
    scope = [answer.variable(node).renamed(name) for name, node in zip(asked, nodes, strict=True)]
    values = np.zeros([variable.num_states for variable in scope])
    grid = np.indices(answer.values.shape)
    values[tuple(grid[axes[node]] for node in nodes)] = answer.values
    return Factor(scope, values).with_info(answer.info)
