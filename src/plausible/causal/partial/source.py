"""What is observed: tables of some variables, of a distribution or of data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from plausible.base.arrays import Floats
from plausible.causal.functional.model import FunctionalModel
from plausible.causal.queries.observed import ObservedModel
from plausible.data.statistics import Statistics
from plausible.data.table_statistics import DataLike, read_statistics
from plausible.errors import InvalidArgument, NotSupported, TooLarge, UnknownVariable
from plausible.factors import Factor
from plausible.models import BayesianNetwork
from plausible.variables import Variable

#: A joint distribution, a model whose observed variables have one, rows of data, or what was counted in them.
SourceLike: TypeAlias = "Factor | BayesianNetwork | ObservedModel | FunctionalModel | DataLike"


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """Joint tables of the observed variables."""

    variables: Mapping[str, Variable]  # Name -> variable.
    # Names -> their joint table, axes in the order asked for: probabilities, or counts of data.
    tables: Callable[[Sequence[str]], Floats]
    total: float | None  # How many rows there are; `None` for a distribution.
    # Several lists of names -> their joint tables, where these are cheaper at once than one by one.
    shared: Callable[[Sequence[Sequence[str]]], list[Floats]] | None = None

    @property
    def is_sample(self) -> bool:
        """Whether these are data, whose shares are not the probabilities."""
        return self.total is not None

    def joint_tables(self, groups: Sequence[Sequence[str]]) -> list[Floats]:
        """The joint table of each group of names."""
        return [self.tables(names) for names in groups] if self.shared is None else self.shared(groups)

    def variable(self, name: object) -> Variable:
        """The variable of a node of the graph; it must have states."""
        if not isinstance(name, str) or name not in self.variables:
            raise UnknownVariable.named(name, self.variables, "the observed distribution")
        if self.variables[name].is_continuous:
            raise NotSupported(f"{name!r} is continuous: response types need states. See binarize and discretize.")
        return self.variables[name]


def read_source(source: SourceLike) -> Observed:
    """What is observed, from any of the forms that it may have.

    >>> read_source({"X": [0, 1, 1], "Y": [0, 1, 0]}).tables(["Y", "X"])
    array([[1., 1.],
           [0., 1.]])
    """
    if isinstance(source, Factor):
        return _of_factor(source)
    if isinstance(source, ObservedModel):
        variables = {name: source.network.variables[name] for name in source.observed}
        return Observed(variables, partial(_asked, source), None, partial(_asked_at_once, source, source.network))
    if isinstance(source, (BayesianNetwork, FunctionalModel)):
        network = source.network if isinstance(source, FunctionalModel) else source
        return Observed(source.variables, partial(_asked, source), None, partial(_asked_at_once, source, network))
    statistics = read_statistics(source)
    if statistics.interventions:
        raise NotSupported(
            "The data have rows in which variables were set from outside; bounds need what is observed only. "
            "Take the other rows: table.take(...)."
        )
    if not statistics.total > 0:
        raise InvalidArgument("There are no rows, and so nothing is observed.")
    return Observed(statistics.variables, partial(_counted, statistics), float(statistics.total))


def _of_factor(factor: Factor) -> Observed:
    if not factor.is_distribution(1e-6):
        raise InvalidArgument(
            f"The table over {list(factor.names)} is no joint distribution: it sums to {factor.sum():.6g}. A table of "
            "P(rest | A) becomes one when it is multiplied by any positive P(A)."
        )
    return Observed({variable.name: variable for variable in factor.scope}, partial(_summed, factor), None)


# The ways to a table are partial functions, so that what holds them can cross process boundaries.


def _summed(factor: Factor, names: Sequence[str]) -> Floats:
    return np.asarray(factor.marginal(names).reorder(list(names)).values, dtype=np.float64) / factor.sum()


def _asked(model: Any, names: Sequence[str]) -> Floats:
    return np.asarray(model.query(list(names)).reorder(list(names)).values, dtype=np.float64)


def _asked_at_once(model: Any, network: BayesianNetwork, groups: Sequence[Sequence[str]]) -> list[Floats]:
    """Parts of families of a network from one calibration of what is upstream of them; other tables one by one."""
    scopes = {names[-1]: network.cpd(names[-1]).scope for names in groups}
    families = [names for names in groups if {v.name for v in scopes[names[-1]]}.issuperset(names)]
    found: dict[tuple[str, ...], Floats] = {}
    if len(families) > 1 and (upstream := network.subnetwork([names[-1] for names in families])).is_discrete:
        try:
            counts = upstream.expected_counts({families[0][-1]: [None]}, families=[names[-1] for names in families])
        except TooLarge:  # a table may need less of the network than all of them together
            return [_asked(model, names) for names in groups]
        for names in families:
            joint = Factor(scopes[names[-1]], counts[names[-1]])
            found[tuple(names)] = _summed(joint, names)
    return [found[key] if (key := tuple(names)) in found else _asked(model, names) for names in groups]


def _counted(statistics: Statistics, names: Sequence[str]) -> Floats:
    return np.asarray(statistics.counts(names[-1], list(names[:-1])), dtype=np.float64)
