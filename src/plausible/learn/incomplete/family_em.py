"""EM for one distribution at a time, all others frozen: what a case says of a family is worked out once."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from plausible.base.arrays import Codes, Floats, Ints
from plausible.base.options import check_count
from plausible.cpds import TableCPD
from plausible.data.table import TableLike
from plausible.errors import counted
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.expectations import compile_cases, impossible_case
from plausible.learn.incomplete.methods import EMMethod, exact_step
from plausible.learn.incomplete.problem import EMProblem, EMState
from plausible.models import BayesianNetwork


@dataclass(frozen=True, slots=True, eq=False)
class FrozenFamily:
    """How likely each case is, as a linear function of one table: P(case) = Σ_{x,u} w_case[x, u] θ_{x|u}.

    The weights w are what all other distributions say, so that any number of steps of EM on this table cost no
    inference (Koller & Friedman 2009, exercise 19.15). Made by `FrozenFamily.of`.

    Examples
    --------
    >>> coin = BayesianNetwork(TableCPD("coin", [0.5, 0.5]), TableCPD("call", [[0.9, 0.1], [0.2, 0.8]], ["coin"]))
    >>> frozen = FrozenFamily.of(coin, "coin", {"call": [0, 0, 1]})
    >>> frozen.learned(coin.cpd("coin").values, num_steps=1000).round(4)
    array([0.6667, 0.3333])
    """

    name: str  # Whose distribution θ is
    shape: tuple[int, ...]  # That of θ: axes (parents..., child)
    weights: Floats  # How much each case weighs
    #: Of each case, a logarithm taken out of its w; that of P(case) where the variable was set from outside.
    offsets: Floats
    #: The entries of w that are not zero: which case, which entry of θ, and w over exp(offset).
    entry_cases: Ints
    entry_places: Ints
    entry_weights: Floats

    @classmethod
    def of(cls, network: BayesianNetwork, name: str, data: TableLike | Cases) -> FrozenFamily:
        """Work out w: log P of each case with each state of the family that agrees with it.

        Parameters
        ----------
        network
            Its other distributions are those that stay.
        name
            The variable whose distribution is left open.
        data
            Rows with missing cells.
        """
        cases = Cases.of(network.variables, data)
        cpd = network.cpd(name)
        shape = tuple(variable.num_states for variable in cpd.scope)
        names = list(cases.variables)
        case, places = _agreeing(cases.codes[:, [names.index(v.name) for v in cpd.scope]], shape)
        codes = cases.codes[case]
        for variable, column in zip(cpd.scope, np.unravel_index(places, shape), strict=True):
            codes[:, names.index(variable.name)] = column
        expanded = replace(cases, codes=codes, weights=cases.weights[case], settings=cases.settings[case])
        open_network = network.with_cpd(TableCPD.uniform(cpd.variable, cpd.parents))
        logs = _log_rows(open_network, expanded, name)
        offsets = np.full(cases.num_cases, -np.inf)
        np.maximum.at(offsets, case, logs)
        if np.isneginf(offsets).any():
            raise impossible_case(open_network, cases, int(np.argmin(offsets)))
        is_set = cases.is_set(name)
        counted = ~is_set[case] & ~np.isneginf(logs)
        entries = np.exp(logs - offsets[case])
        summed = np.bincount(case, entries, cases.num_cases)
        offsets[is_set] += np.log(summed[is_set])
        return cls(name, shape, cases.weights, offsets, case[counted], places[counted], entries[counted])

    def __repr__(self) -> str:
        return f"<FrozenFamily: {self.name!r} with shape {self.shape}, {counted(len(self.weights), 'case')}>"

    def at(self, table: Floats) -> tuple[float, Floats]:
        """The log-likelihood with a table, and the expected counts of the family under it.

        Parameters
        ----------
        table
            θ, with axes (parents..., child).
        """
        terms = self.entry_weights * table.ravel()[self.entry_places]
        num_cases = len(self.weights)
        totals = np.bincount(self.entry_cases, terms, num_cases)
        is_free = np.bincount(self.entry_cases, minlength=num_cases) > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(is_free, np.log(totals), 0.0) + self.offsets
            shares = self.weights[self.entry_cases] * terms / totals[self.entry_cases]
        counts = np.bincount(self.entry_places, np.nan_to_num(shares), math.prod(self.shape))
        return float(self.weights @ logs), np.asarray(counts, dtype=np.float64).reshape(self.shape)

    def learned(
        self, start: Floats, exponents: Floats | float = 0.0, num_steps: int = 100, tolerance: float = 1e-10
    ) -> Floats:
        """The table after steps of EM on it alone.

        Parameters
        ----------
        start
            The table before; rows of which nothing is expected stay as they are there.
        exponents
            Those of the prior Π θ^e.
        num_steps
            At most so many.
        tolerance
            Fewer where no entry changes by more.
        """
        table = np.asarray(start, dtype=np.float64).reshape(self.shape)
        for _ in range(num_steps):
            before, weights = table, np.maximum(self.at(table)[1] + exponents, 0.0)
            totals = weights.sum(axis=-1, keepdims=True)
            table = np.where(totals > 0, weights / np.where(totals > 0, totals, 1.0), before)
            if np.abs(table - before).max(initial=0.0) <= tolerance:
                break
        return table


@dataclass(frozen=True, slots=True)
class FamilyEM(EMMethod):
    """One distribution after the other, each with expectations under all that were learned before it.

    The log-likelihood does not fall, distribution by distribution (Koller & Friedman 2009, box 19.C). A table of its
    own is taken through several steps with the others frozen; see `FrozenFamily`. Tied tables and other kinds make one
    ordinary step.

    Cost of a step, which goes through all distributions: one E-step for each of them.

    Parameters
    ----------
    inner_steps
        The steps of EM on a table before the next one's turn.

    Examples
    --------
    >>> from plausible.learn.incomplete.em import learn_em
    >>> rows = {"rain": ["no", "yes", None, "no"], "grass": ["dry", "wet", "wet", None]}
    >>> round(learn_em("rain -> grass", rows, method=FamilyEM()).log_likelihood, 3)
    -2.773
    """

    inner_steps: int = 3

    def __post_init__(self) -> None:
        check_count("inner_steps", self.inner_steps, 1)

    def step(self, problem: EMProblem, state: EMState) -> EMState:
        """Each distribution in turn."""
        exact_step(problem, "FamilyEM")
        network, maximization = state.network, problem.maximization
        for name, exponents in maximization.exponents.items():
            users = maximization.sharing(name)
            if len(users) == 1:
                start = network.cpd(name).to_factor().values.reshape(exponents.shape)
                frozen = FrozenFamily.of(network, name, problem.cases)
                table = frozen.learned(start, exponents, self.inner_steps, 0.0)
                network = maximization.with_tables(network, {name: table})
            else:
                network = _updated(problem, network, users)
        for name in maximization.learners:
            network = _updated(problem, network, [name])
        after = problem.at(network, before=state)
        return replace(after, kept_rows=problem.maximized(after).kept_rows)


def _updated(problem: EMProblem, network: BayesianNetwork, names: list[str]) -> BayesianNetwork:
    """The network with some distributions from an ordinary M-step."""
    learned = problem.maximized(problem.at(network)).network
    return BayesianNetwork([learned.cpd(name) if name in names else cpd for name, cpd in network.cpds.items()])


def _agreeing(codes: Codes, shape: tuple[int, ...]) -> tuple[Ints, Ints]:
    """All pairs of a row and a joint state that agrees with it, rows ascending; joint states as flat places."""
    rows, places = np.arange(len(codes)), np.zeros(len(codes), dtype=np.int64)
    for column, size in zip(codes.T, shape, strict=True):
        there = column[rows]
        repeats = np.where(there < 0, size, 1)
        first = np.repeat(np.cumsum(repeats) - repeats, repeats)
        states = np.repeat(np.maximum(there, 0), repeats) + np.arange(int(repeats.sum())) - first
        rows, places = np.repeat(rows, repeats), np.repeat(places, repeats) * size + states
    return rows.astype(np.int64), places


def _log_rows(network: BayesianNetwork, cases: Cases, name: str) -> Floats:
    """log P of each case, where the distribution of one variable counts for nothing; -inf for those ruled out."""
    compiled, logs = compile_cases(network, cases), np.zeros(len(cases.codes))
    tables = [cpd.to_factor().values for cpd in network.cpds.values()]
    for set_names, (places, rows) in zip(cases.setting_names, compiled.rows, strict=True):
        logs[places] = rows.answer(compiled.sources(tables, (*set_names, name))).log_totals
    return logs
