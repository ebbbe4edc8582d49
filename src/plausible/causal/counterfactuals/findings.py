"""Findings about several worlds as evidence for one network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.causal.counterfactuals.potential import Potential, Setting
from plausible.errors import ImpossibleEvidence, InvalidArgument, InvalidEvidence, UnknownVariable
from plausible.variables import Evidence, Jeffrey, Variable, likelihood
from plausible.variables.evidence import Likelihood, findings_of

__all__ = ["Finding", "as_evidence", "findings_under", "joint_evidence", "refuse_idle_do", "state_positions"]


class Finding(NamedTuple):
    """What is known about a variable in one world."""

    term: Potential
    value: Any


def findings_under(evidence: Mapping[Any, Any] | None, do: Mapping[str, Setting]) -> list[Finding]:
    """Findings by name, which are about the world of `do`, or by `Potential`, which says its own."""
    pairs: Iterable[tuple[Any, Any]] = findings_of(evidence).items()
    return [Finding(name if isinstance(name, Potential) else Potential(name, do), value) for name, value in pairs]


def refuse_idle_do(do: Mapping[str, Setting], keys: Iterable[Any], argument: str = "do") -> None:
    """Refuse interventions on a world that no key is about.

    Parameters
    ----------
    do
        What is set.
    keys
        Those of all outcomes and findings that may be about the world of `do`: names are, a `Potential` is not.
    argument
        The name under which the caller got `do`.
    """
    listed = list(keys)
    if do and listed and all(isinstance(key, Potential) for key in listed):
        raise InvalidArgument(
            f"{argument}={dict(do)} touches nothing: {', '.join(map(str, listed))} "
            f"{'is a Potential' if len(listed) == 1 else 'are Potentials'}, and a Potential names its whole world. "
            f"Write what is set into it, as in {Potential(listed[0].variable, do)!r}, or leave {argument}= out."
        )


def joint_evidence(
    evidence: Mapping[Any, Any] | None, more: Mapping[str, Any], variables: Mapping[str, Variable]
) -> dict[Potential, Any]:
    """What is known about the real world, together with more about it: where both speak of a variable, both hold.

    Parameters
    ----------
    evidence
        Name or `Potential` -> finding.
    more
        Name -> finding.
    variables
        Name -> variable.

    Examples
    --------
    >>> size = Variable("size", ["small", "medium", "large"])
    >>> joint_evidence({"size": ["medium", "large"]}, {"size": ["small", "medium"]}, {"size": size})
    {Potential('size'): 'medium'}
    """
    found: dict[Potential, Finding] = {}
    for finding in (*findings_under(evidence, {}), *findings_under(more, {})):
        term = finding.term
        if term in found:
            if term.variable not in variables:
                raise UnknownVariable.named(term.variable, variables, "this functional model")
            finding = Finding(term, _both(variables[term.variable], found[term].value, finding, found[term]))
        found[term] = finding
    return {term: finding.value for term, finding in found.items()}


def state_positions(variable: Variable, value: Any) -> set[int]:
    """The positions of a state or of several: of an event, which weights are not.

    >>> sorted(state_positions(Variable("size", ["small", "medium", "large"]), ["large", "medium"]))
    [1, 2]
    """
    if isinstance(value, (Likelihood, Jeffrey)):
        raise InvalidEvidence(
            f"{variable.name!r} is said to be {value!r}; here events are states, or lists of them. Add the uncertain "
            f"observation to the model as a child of {variable.name!r}, and give its state."
        )
    found = Evidence.read({variable.name: value}, {variable.name: variable})
    if variable.name in found.hard:
        return {found.hard[variable.name]}
    return set(np.flatnonzero(found.soft[variable.name]).tolist())


def as_evidence(
    findings: Iterable[Finding], nodes: Mapping[Potential, str], variables: Mapping[str, Variable]
) -> dict[str, Any]:
    """Node -> finding; findings about variables that are one node, as they can't differ, are taken together.

    Parameters
    ----------
    findings
        What is known, in any world.
    nodes
        The node of each potential response.
    variables
        The variable of each node.
    """
    evidence: dict[str, Any] = {}
    origin: dict[str, Finding] = {}
    for finding in findings:
        node = nodes[finding.term]
        if node in evidence:
            evidence[node] = _both(variables[node], evidence[node], finding, origin[node])
        else:
            evidence[node], origin[node] = finding.value, finding
    return evidence


def _both(variable: Variable, earlier: Any, finding: Finding, origin: Finding) -> Any:
    """Two findings about one variable as one."""
    if isinstance(finding.value, Jeffrey) or isinstance(earlier, Jeffrey):
        raise InvalidEvidence(
            f"{origin.term}={origin.value!r} and {finding.term}={finding.value!r} are about one variable, which "
            "jeffrey(...) speaks of alone; leave one of them out."
        )
    weights = _weights(variable, earlier) * _weights(variable, finding.value)
    if not weights.any():
        why = f": the interventions can't make {finding.term.variable!r} differ between these worlds"
        if origin.term == finding.term:
            why = ", which the question takes to be so"
        raise ImpossibleEvidence(f"{origin.term}={origin.value!r} contradicts {finding.term}={finding.value!r}{why}.")
    if np.count_nonzero(weights) == 1:
        return variable.states[int(np.flatnonzero(weights)[0])]
    return likelihood(weights.tolist())


def _weights(variable: Variable, value: Any) -> Floats:
    """A weight for each state."""
    found = Evidence.read({variable.name: value}, {variable.name: variable})
    if variable.name in found.soft:
        return found.soft[variable.name]
    weights = np.zeros(variable.num_states)
    weights[found.hard[variable.name]] = 1.0
    return weights
