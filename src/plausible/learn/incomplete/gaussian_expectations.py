"""The E-step where variables are continuous: expected counts of tables, expected second moments of Gaussians."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.base import Floats
from plausible.cpds import CPD, LinearGaussianCPD, TableCPD
from plausible.data.columns import EvidenceColumns
from plausible.errors import NotSupported
from plausible.factors.alignment import Scope
from plausible.inference.budget import refuse_large_families
from plausible.inference.gaussian.regression import EvidenceWeight, Regression
from plausible.inference.gaussian.rows import GaussianBlock, connected_parts
from plausible.inference.hybrid.hybrid_rows import HybridRows
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.expectations import Expectations
from plausible.learn.incomplete.gaussian_rows import NumberUnits, PatternRows
from plausible.models import BayesianNetwork
from plausible.models.compiled_model import impossible_row
from plausible.models.numbers import regression_of
from plausible.models.question import contradiction_of

Places: TypeAlias = NDArray[np.intp]

#: Numbers that one array of a batch of rows may have.
_MAX_BATCH = 2**22


class _Part(NamedTuple):
    """Gaussians that depend on each other, in the units: one for each configuration of `scope`."""

    names: tuple[str, ...]
    scope: Scope
    means: Floats
    covariances: Floats
    units: NumberUnits


@dataclass(frozen=True, eq=False)
class HybridExpectations:
    """Exact expectations under linear Gaussians, conditional linear Gaussians and tables (Lauritzen 1995).

    Given the states that it depends on, a group of connected numbers is jointly Gaussian. Its density, for each
    configuration, is evidence about the states; their posterior in turn weighs the conditional moments of the missing
    numbers. The `counts` of a continuous child are Σ_rows weight · E[z zᵀ; discrete parents | row] for z = (1,
    continuous parents..., child) in the `units`: axes (discrete parents..., z, z). A discrete child of numbers must be
    observed with all of its parents, as it then says nothing about the rest.

    Cost of a step: for each group of n connected numbers with C configurations O(patterns C n³ + rows C n²), and the
    sums over the discrete variables of each row.

    >>> net = BayesianNetwork(LinearGaussianCPD("x", 0.0), LinearGaussianCPD("y", 0.0, {"x": 1.0}))
    >>> cases = Cases.of(net.variables, {"y": [2.0]}, has_numbers=True)
    >>> units = NumberUnits(("x", "y"), np.zeros(2), np.ones(2))
    >>> HybridExpectations(cases, units).at(net).counts["y"]
    array([[1. , 1. , 2. ],
           [1. , 1.5, 2. ],
           [2. , 2. , 4. ]])
    """

    cases: Cases  # what is completed
    units: NumberUnits  # of the moments
    _kept: dict[tuple[object, ...], PatternRows] = field(default_factory=dict, repr=False)

    def at(self, network: BayesianNetwork) -> Expectations:
        """The expectations under a network; a case that it rules out is an error that names a row."""
        counts, logs = {}, np.zeros(self.cases.num_cases)
        for name, cpd in network.cpds.items():
            discrete = [variable.num_states for variable in cpd.scope if not variable.is_continuous]
            size = len(cpd.scope) - len(discrete) + 1
            if not _is_mixed(cpd):
                counts[name] = np.zeros([*discrete, size, size] if cpd.variable.is_continuous else discrete)
        for names, places in self.cases.groups():
            if len(places):
                mutilated, shift = self._mutilated(network, names, places)
                logs[places] = _Answer(self, mutilated, frozenset(names), counts).add(places) + shift
        return Expectations(float(self.cases.weights @ logs), logs, counts, units=self.units)

    def determined(self, network: BayesianNetwork) -> float:
        """Σ weight · log P of discrete children of numbers: the part of the log-likelihood that `counts` leave out."""
        total = 0.0
        for name, cpd in network.cpds.items():
            if _is_mixed(cpd):
                is_free = ~self.cases.is_set(name)
                total += float(self.cases.weights[is_free] @ _observed(cpd, self.cases, np.flatnonzero(is_free)))
        return total

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle without what is made ready."""
        return HybridExpectations, (self.cases, self.units)

    def _mutilated(
        self, network: BayesianNetwork, names: Sequence[str], places: Places
    ) -> tuple[BayesianNetwork, Floats]:
        """The network in which what was set depends on nothing, and what to add to log P: it has no probability."""
        total = np.zeros(len(places))
        for name in names:
            if name in self.cases.continuous:
                units, column = self.units.some([name]), list(self.cases.continuous).index(name)
                center, scale = float(units.center[0]), float(units.scale[0])
                network = network.with_cpd(LinearGaussianCPD(self.cases.continuous[name], center, variance=scale**2))
                standard = units.standard(self.cases.numbers[places, column][:, None])[:, 0]
                total += 0.5 * (standard**2 + math.log(2 * math.pi)) + math.log(scale)
            else:
                network = network.with_cpd(TableCPD.uniform(self.cases.variables[name]))
                total += math.log(self.cases.variables[name].num_states)
        return network, total

    def rows(self, part: _Part, batch: tuple[object, ...], places: Places) -> PatternRows:
        """The numbers of a part in some cases, made ready once."""
        key = (part.names, len(part.means), *batch)
        if key not in self._kept:
            columns = [list(self.cases.continuous).index(name) for name in part.names]
            numbers = part.units.standard(self.cases.numbers[places[:, None], columns])
            self._kept[key] = PatternRows.of(numbers, len(part.means))
        return self._kept[key]


@dataclass(frozen=True, slots=True, eq=False)
class _Answer:
    """One network, for the cases of one setting; sums go into `counts`."""

    step: HybridExpectations
    network: BayesianNetwork
    is_set: frozenset[str]
    counts: dict[str, Floats]

    def add(self, places: Places) -> Floats:
        """log P of the cases; their expectations are added to the counts."""
        cpds = self.network.cpds
        tables = {name: cpd for name, cpd in cpds.items() if not any(v.is_continuous for v in cpd.scope)}
        refuse_large_families({name: cpd.scope for name, cpd in tables.items()})
        model = HybridRows(tuple(cpd.to_factor() for cpd in tables.values()), ())
        regressions = [regression_of(cpd) for cpd in cpds.values() if cpd.variable.is_continuous]
        parts = [self._part(lines) for lines in connected_parts(regressions)]
        wanted = {name: cpd.scope for name, cpd in tables.items() if name not in self.is_set}
        sizes = [part.means.size for part in parts] + [math.prod(v.num_states for v in s) for s in wanted.values()]
        size = max(_MAX_BATCH // max(sizes, default=1), 1)  # few enough rows at a time for their arrays
        batches = (places[start : start + size] for start in range(0, len(places), size))
        logs = np.concatenate([self._batch(model, parts, wanted, batch) for batch in batches])
        for cpd in cpds.values():
            if _is_mixed(cpd):
                logs += _observed(cpd, self.step.cases, places)
        if np.isneginf(logs).any():
            cases = self.step.cases
            case = min(places[np.isneginf(logs)].tolist(), key=cases.first_row)
            raise impossible_row(cases.first_row(case), contradiction_of(self.network, cases.findings(case)))
        return logs

    def _part(self, lines: Sequence[Regression]) -> _Part:
        for line in lines:
            if (line.variance <= 0).any():
                raise NotSupported(
                    f"{line.name!r} has the variance zero somewhere: EM needs Gaussians with some noise."
                )
        block = GaussianBlock.of(lines)
        if block is None:
            raise NotSupported(
                f"The numbers {[line.name for line in lines][:5]} depend on each other and on too many joint states of "
                "discrete variables for an exact E-step. Remove edges between them."
            )
        units = self.step.units.some(block.names)
        root = block.root / units.scale[:, None]
        return _Part(block.names, block.scope, units.standard(block.mean), root @ np.swapaxes(root, 1, 2), units)

    def _batch(self, model: HybridRows, parts: Sequence[_Part], wanted: Mapping[str, Scope], places: Places) -> Floats:
        cases, weights, codes = self.step.cases, self.step.cases.weights[places], self.step.cases.codes[places]
        key = (self.is_set, int(places[0]), int(places[-1]))
        rows = [self.step.rows(part, key, places) for part in parts]
        densities, tables = [], []
        for part, own in zip(parts, rows, strict=True):
            try:
                densities.append(own.density(part.means, part.covariances))
            except np.linalg.LinAlgError:
                raise NotSupported(
                    f"The numbers {list(part.names)[:5]} all but determine each other under this network. Raise their "
                    "variances: GaussianMomentLearner(variance_floor=1e-4)."
                ) from None
            shape = (len(places), *(variable.num_states for variable in part.scope))
            logs = densities[-1].log_density.reshape(shape)
            tables.append(EvidenceWeight(part.scope, logs, np.zeros(shape, dtype=np.int64)))
        states = {name: column for name, column in zip(cases.variables, codes.T, strict=True) if (column >= 0).any()}
        scopes = [*wanted.values(), *(part.scope for part in parts if part.scope)]
        answers = model.answer(EvidenceColumns(cases.variables, states, {}, len(places)), tables, scopes)
        joints = iter(answers.joints)
        for name in wanted:
            self.counts[name] += np.tensordot(weights, next(joints), 1)
        for part, own, density in zip(parts, rows, densities, strict=True):
            shares = next(joints).reshape(len(places), -1) if part.scope else np.ones((len(places), 1))
            self._add_moments(part, own.moments(density, shares * weights[:, None], part.means, part.covariances))
        shift = np.isnan(cases.numbers[places]) - 1.0
        return np.asarray(answers.log_totals + shift @ np.log(self.step.units.scale))

    def _add_moments(self, part: _Part, moments: Floats) -> None:
        """Read the families of a part off its moments."""
        table = moments.reshape(*(variable.num_states for variable in part.scope), *moments.shape[1:])
        for name in part.names:
            if name in self.is_set:
                continue
            cpd = self.network.cpd(name)
            family = [0, *(1 + part.names.index(v.name) for v in cpd.scope if v.is_continuous)]
            own = table[..., family, :][..., family]
            discrete = [v.name for v in cpd.parents if not v.is_continuous and v.num_states > 1]
            scope = [variable.name for variable in part.scope]
            own = own.sum(axis=tuple(axis for axis, other in enumerate(scope) if other not in discrete))
            kept = [other for other in scope if other in discrete]
            own = own.transpose([*(kept.index(other) for other in discrete), len(kept), len(kept) + 1])
            self.counts[name] += own.reshape(self.counts[name].shape)


def _observed(cpd: CPD, cases: Cases, places: Places) -> Floats:
    """log P of a discrete child of numbers, all of them observed."""
    columns = {}
    for variable in cpd.scope:
        column: NDArray[Any]
        if variable.is_continuous:
            column = cases.numbers[places, list(cases.continuous).index(variable.name)]
            lost = np.isnan(column)
        else:
            column = cases.codes[places, list(cases.variables).index(variable.name)].astype(np.intp)
            lost = column < 0
        if lost.any():
            row = cases.first_row(int(places[np.argmax(lost)]))
            raise NotSupported(
                f"{variable.name!r} is missing in row {row}, and the discrete {cpd.variable.name!r} depends on "
                "numbers: exact inference can't integrate that. Fill it in, or leave the row out."
            )
        columns[variable.name] = column
    return cpd.log_probability(columns)


def _is_mixed(cpd: CPD) -> bool:
    """Whether it is a discrete child of numbers."""
    return not cpd.variable.is_continuous and any(parent.is_continuous for parent in cpd.parents)
