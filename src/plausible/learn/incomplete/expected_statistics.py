"""Expected counts of any family: an incomplete table under a model is a source of statistics like any other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from plausible.base import Floats
from plausible.data.statistics import Counts, Request, Stack, Statistics, counted_each
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, TooLarge, UnknownVariable
from plausible.learn.incomplete.cases import Cases, completions_of
from plausible.learn.incomplete.expectations import ExactExpectations, compile_cases, impossible_case
from plausible.learn.incomplete.missing_parts import MissingParts
from plausible.models import BayesianNetwork
from plausible.variables import Variable

#: Up to so many completions, of rows or of their parts, are listed.
_MOST_COMPLETIONS = 2**20


def completed_table(network: BayesianNetwork, data: TableLike | Cases, max_rows: int = _MOST_COMPLETIONS) -> Table:
    """All completions of incomplete rows, each with the weight of its row times P(missing | observed).

    Cost: the number of completions times the number of variables. Completions that can't happen are left out.
    Variables without a column are hidden. More completions than `max_rows` are refused.

    >>> from plausible.cpds import TableCPD
    >>> net = BayesianNetwork(TableCPD("coin", [0.5, 0.5]), TableCPD("call", [[0.9, 0.1], [0.2, 0.8]], ["coin"]))
    >>> table = completed_table(net, {"coin": [0, None], "call": [0, 1]})
    >>> table.codes.tolist(), table.weights.round(3).tolist()
    ([[0, 1, 0], [1, 1, 0]], [0.111, 0.889, 1.0])
    """
    cases = Cases.of(network.variables, data)
    if cases.num_completions > max_rows:
        raise TooLarge(
            f"The rows have {cases.num_completions:.3g} completions; up to {max_rows} are listed. Ask for counts by "
            "inference: ExpectedStatistics."
        )
    case, codes = completions_of(cases.codes, [variable.num_states for variable in cases.variables.values()])
    places, logs = {name: place for place, name in enumerate(cases.variables)}, np.zeros(len(case))
    for name, cpd in network.cpds.items():  # distributions of variables that were set from outside do not count
        columns = {v.name: codes[:, places[v.name]].astype(np.intp) for v in cpd.scope}
        logs += np.where(cases.is_set(name)[case], 0.0, cpd.log_probability(columns))
    peaks = np.full(cases.num_cases, -np.inf)
    np.maximum.at(peaks, case, logs)
    if np.isneginf(peaks).any():
        raise impossible_case(network, cases, int(np.argmax(np.isneginf(peaks))))
    chances = np.exp(logs - peaks[case])
    weights = chances * (cases.weights / np.bincount(case, chances, cases.num_cases))[case]
    live = weights > 0
    rows = case[live]
    masks = {name: cases.is_set(name)[rows] for name in {name for names in cases.setting_names for name in names}}
    return Table(
        cases.variables,
        np.ascontiguousarray(codes[live].T),
        np.empty((0, len(rows))),
        weights[live],
        MappingProxyType(masks),
    )


class ExpectedStatistics(Statistics):
    """M̄[x, u] = Σ weight · P(x, u | row) of any family of variables, under a network.

    The missing cells of a row come in parts that are independent given the observed ones, mostly small (see
    `MissingParts`). Their completions are listed once, with the joint probabilities of all pairs; a family is counted
    by one pass over the rows that multiplies the parts it has cells in. Rows with larger parts are counted by a clique
    tree in which the family lies; families of the network's own all come from one. Counts are remembered. They sum to
    the weight of all rows (without those in which the child was set), and are those of a `TableStatistics` where no
    cell is missing.

    Variables without a column are hidden. Up to `max_completions` of parts are listed, the smallest parts first.

    >>> from plausible.cpds import TableCPD
    >>> net = BayesianNetwork(TableCPD("A", [0.5, 0.5]), TableCPD("B", [[0.9, 0.1], [0.2, 0.8]], ["A"]))
    >>> ExpectedStatistics(net, {"B": [1, 0, 1]}).counts("A", ["B"]).round(3)
    array([[0.818, 0.182],
           [0.222, 1.778]])
    """

    __slots__ = ("_cases", "_kept", "_network", "_own", "_parts")

    def __init__(
        self, network: BayesianNetwork, data: TableLike | Cases, *, max_completions: int = _MOST_COMPLETIONS
    ) -> None:
        self._network = network
        self._cases = Cases.of(network.variables, data)
        self._parts = MissingParts.of(network, self._cases, max_completions)
        self._kept: dict[tuple[str | None, tuple[str, ...]], Floats] = {}
        self._own: Mapping[str, Floats] | None = None

    @property
    def network(self) -> BayesianNetwork:
        """What completes the rows."""
        return self._network

    @property
    def cases(self) -> Cases:
        """What is completed."""
        return self._cases

    @property
    def variables(self) -> Mapping[str, Variable]:
        return self._cases.variables

    @property
    def total(self) -> float:
        return self._cases.total

    def estimated(self, num_draws: int, generator: np.random.Generator) -> ExpectedStatistics:
        """With so many draws from P(missing | observed) of each part of a row that is too large to be listed.

        Made for searches that ask for many families. They are these counts themselves where all parts are listed.
        """
        if not self._parts.has_large.any():
            return self
        drawn = copy(self)
        drawn._parts, drawn._kept = self._parts.drawn(num_draws, generator), {}
        return drawn

    @property
    def interventions(self) -> Mapping[str, float]:
        """Name -> how many cases it was set from outside in."""
        names = {name for setting in self._cases.setting_names for name in setting}
        return {name: int(self._cases.is_set(name).sum()) for name in sorted(names)}

    def counts_of(self, requests: Sequence[Request]) -> list[list[Stack]]:
        return counted_each(self._counts, requests)

    def _counts(self, child: str, parents: Sequence[str]) -> Counts:
        family = (*parents, child)
        if len(set(family)) < len(family):
            raise InvalidArgument(f"Each variable counts once, but {', '.join(map(repr, family))} has one twice.")
        UnknownVariable.check_all(family, self.variables, "this data")
        names = tuple(sorted(family))
        key = (child if any(child in setting for setting in self._cases.setting_names) else None, names)
        if key not in self._kept:
            self._kept[key] = self._count(child, names)
        return self._kept[key].transpose([names.index(name) for name in family])

    def _count(self, child: str, names: tuple[str, ...]) -> Floats:
        """The counts of some variables, in the order given, without cases in which the child was set."""
        cases, has_large = self._cases, self._parts.has_large
        scope = [variable.name for variable in self._network.cpd(child).scope] if has_large.any() else []
        if set(names) == set(scope):  # a family of the network's own
            if self._own is None:
                self._own = ExactExpectations(cases).at(self._network).counts
            return self._own[child].transpose([scope.index(name) for name in names])
        places = {name: place for place, name in enumerate(cases.variables)}
        weights = np.where(cases.is_set(child), 0.0, cases.weights)
        counts = self._parts.counts([places[name] for name in names], np.where(has_large, 0.0, weights))
        if (weights[has_large] > 0).any():  # by a clique tree that has the variables together
            large = replace(cases, weights=weights).some(np.flatnonzero(has_large))
            compiled = compile_cases(self._network, large, [[self.variables[name] for name in names]])
            tables = [cpd.to_factor().values for cpd in self._network.cpds.values()]
            counts = counts + compiled.answers(tables, large)[1]["0"]
        return counts
