"""Models in time as Bayesian networks of so many slices, and a hidden Markov model as distributions of slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plausible.base.arrays import Floats
from plausible.cpds import CPD, LinearGaussianCPD, TableCPD
from plausible.data.sequences import Sequences
from plausible.errors import NotSupported
from plausible.models.bayesian_network import BayesianNetwork
from plausible.models.sequences.cpd_emission_rows import LAG
from plausible.models.sequences.cpd_emissions import CPDEmission
from plausible.models.sequences.emissions import Emission, ProductEmission
from plausible.models.sequences.linear_answers import LinearAnswers
from plausible.variables import Variable
from plausible.variables.evidence import likelihood


def unrolled_chain(
    state: Variable, initial: Floats, transition: Floats, emission: Emission, length: int
) -> BayesianNetwork:
    """The slices one after the other; variables are called `name[t]`, from 0."""
    cpds: list[CPD] = []
    for t in range(length):
        here = at(state, t)
        if t:
            cpds.append(TableCPD(here, transition, [at(state, t - 1)]))
        else:
            cpds.append(TableCPD(here, initial))
        cpds += [in_slice(cpd, t) for cpd in emission_cpds(emission, state, is_first=t == 0)]
    return BayesianNetwork(cpds)


def slice_cpds(
    state: Variable, initial: Floats, transition: Floats, emission: Emission, inputs: tuple[Variable, ...]
) -> tuple[list[CPD], list[CPD]]:
    """The distributions of the first step, and those of all later ones; "x[-1]" is x one step before."""
    before = state.renamed(f"{state.name}{LAG}")
    first = [TableCPD(state, initial), *emission_cpds(emission, state, is_first=True)]
    later = [TableCPD(state, transition, [*inputs, before]), *emission_cpds(emission, state, is_first=False)]
    return first, later


def emission_cpds(emission: Emission, state: Variable, *, is_first: bool) -> tuple[CPD, ...]:
    """The distributions of what is observed at the first step, or at later ones."""
    if isinstance(emission, ProductEmission):
        return tuple(cpd for part in emission.parts for cpd in emission_cpds(part, state, is_first=is_first))
    return emission.at(is_first) if isinstance(emission, CPDEmission) else emission.to_cpds(state)


def at(variable: Variable, t: int) -> Variable:
    """A variable in a slice."""
    return variable.renamed(f"{variable.name}[{t}]")


def in_slice(cpd: CPD, t: int) -> CPD:
    """The same distribution over variables of a slice; those one step before are of the slice before."""
    parents = tuple(
        at(parent.renamed(parent.name.removesuffix(LAG)), t - 1) if parent.name.endswith(LAG) else at(parent, t)
        for parent in cpd.parents
    )
    return type(cpd).from_record(at(cpd.variable, t), parents, cpd.to_record())


def unrolled_system(model: LinearAnswers, inputs: Floats) -> BayesianNetwork:
    """The steps one after the other; variables are called `name[t]`, from 0."""
    _refuse_diffuse(model)
    cpds: list[CPD] = []
    for t in range(len(inputs)):
        here, before = _names_at(model.states, t), _names_at(model.states, t - 1)
        if t:
            means, noise = inputs[t] @ model.transition_input.T, model.transition_noise
            cpds += _regressions(here, means, before, model.transition, noise)
        else:
            empty = np.zeros((len(here), 0))
            cpds += _regressions(here, model.initial.mean, (), empty, model.initial.covariance)
        seen, moved = _names_at(model.observations, t), inputs[t] @ model.observation_input.T
        cpds += _regressions(seen, moved, here, model.observation, model.observation_noise)
    return BayesianNetwork(cpds)


def system_slices(model: LinearAnswers) -> tuple[list[CPD], list[CPD]]:
    """The distributions of the first step, and those of all later ones; "x[-1]" is x one step before."""
    _refuse_diffuse(model)
    nothing, states = np.zeros(len(model.states)), model.states
    first = _regressions(states, model.initial.mean, (), np.zeros((len(states), 0)), model.initial.covariance)
    moves = np.hstack([model.transition, model.transition_input])
    before = (*(f"{name}{LAG}" for name in states), *model.inputs)
    later = _regressions(states, nothing, before, moves, model.transition_noise)
    shows = np.hstack([model.observation, model.observation_input])
    seen = (model.observations, np.zeros(len(model.observations)), (*states, *model.inputs), shows)
    later += _regressions(*seen, model.observation_noise)
    return first, later


def _refuse_diffuse(model: LinearAnswers) -> None:
    if len(model.initial.diffuse):
        raise NotSupported(
            "The first state has infinite variance, which no distribution of a network has: give initial_covariance= "
            "with finite variances."
        )


def _names_at(names: Sequence[str], t: int) -> tuple[str, ...]:
    return tuple(f"{name}[{t}]" for name in names)


def _regressions(
    names: Sequence[str], means: Floats, parents: Sequence[str], gains: Floats, noise: Floats
) -> list[CPD]:
    """names = means + gains · parents + noise, one after the other: each given the ones before it, too."""
    cpds: list[CPD] = []
    for i, name in enumerate(names):
        shares = np.linalg.lstsq(noise[:i, :i], noise[:i, i], rcond=None)[0] if i else np.zeros(0)
        variance = float(noise[i, i] - shares @ noise[:i, i])
        weights = dict(zip(parents, gains[i] - shares @ gains[:i], strict=True))
        weights |= dict(zip(names[:i], shares, strict=True))
        kept = {parent: float(weight) for parent, weight in weights.items() if weight != 0.0}
        intercept = float(means[i] - shares @ means[:i])
        cpds.append(LinearGaussianCPD(name, intercept, kept, variance if variance > 1e-12 * noise[i, i] else 0.0))
    return cpds


def unrolled_findings(sequences: Sequences) -> dict[str, Any]:
    """The observations of one sequence as evidence of the network unrolled over its steps."""
    findings: dict[str, Any] = {}
    for name, column in sequences.columns.items():
        variable = sequences.variables[name]
        is_seen = ~np.isnan(column) if variable.is_continuous else column >= 0
        places, cells = np.flatnonzero(is_seen).tolist(), column[is_seen].tolist()
        seen = cells if variable.is_continuous else [variable.states[cell] for cell in cells]
        findings |= {f"{name}[{at}]": cell for at, cell in zip(places, seen, strict=True)}
        if name in sequences.soft:
            soft = sequences.soft[name]
            weights = map(likelihood, soft.weights)
            findings |= {f"{name}[{at}]": cell for at, cell in zip(soft.steps.tolist(), weights, strict=True)}
    return findings
