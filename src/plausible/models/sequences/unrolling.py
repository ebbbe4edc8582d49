"""A hidden Markov model as distributions of slices, and as a Bayesian network of so many."""

from __future__ import annotations

from plausible.base.arrays import Floats
from plausible.cpds import CPD, TableCPD
from plausible.models.bayesian_network import BayesianNetwork
from plausible.models.sequences.cpd_emission_rows import LAG
from plausible.models.sequences.cpd_emissions import CPDEmission
from plausible.models.sequences.emissions import Emission, ProductEmission
from plausible.variables import Variable


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
