"""The experiments of a table, and tests of a graph in each: what is cut must not depend, what is not cut may."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations
from types import MappingProxyType

import numpy as np

from plausible.causal.queries.observed import CausalLike
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.graphs import DAG, CausalGraph
from plausible.graphs.causal_graph import read_causes
from plausible.learn.independence.choice import TestName, read_test
from plausible.learn.independence.independence_test import IndependenceResult


@dataclass(frozen=True, slots=True, eq=False)
class Regime:
    """An experiment; made by `regimes`."""

    targets: tuple[str, ...]  # The variables that were set from outside, in the order of the table; none in observation
    #: Its rows, without marks of what was set: their independencies are those of `graph.without_incoming(targets)`, and
    #: can be tested as any others, where there are enough rows.
    table: Table = field(repr=False)


def regimes(data: TableLike) -> tuple[Regime, ...]:
    """The experiments of which a table consists, observation first, then by fewer and earlier targets.

    >>> table = Table.read({"A": [0, 1, 1], "B": [0, 0, 1], "set": [None, "A", "A,B"]}, interventions="set")
    >>> for regime in regimes(table):
    ...     print(regime.targets, regime.table.num_rows)
    () 1
    ('A',) 1
    ('A', 'B') 1
    """
    table = Table.read(data)
    names = [name for name in table.variables if name in table.interventions]
    if not names:
        return (Regime((), table),)
    marks = np.array([table.interventions[name] for name in names])
    patterns, places = np.unique(marks, axis=1, return_inverse=True)
    plain = replace(table, interventions=MappingProxyType({}))
    found = [
        Regime(
            tuple(name for name, is_set in zip(names, pattern.tolist(), strict=True) if is_set),
            plain.take(np.flatnonzero(places.ravel() == place)),
        )
        for place, pattern in enumerate(patterns.T)
    ]
    return tuple(sorted(found, key=lambda regime: (len(regime.targets), [names.index(n) for n in regime.targets])))


@dataclass(frozen=True, slots=True)
class RegimeTest:
    """A test that two variables are independent in an experiment, as the graph without edges into its targets says."""

    targets: tuple[str, ...]  # What was set from outside
    #: x ⟂ y | given.
    x: str
    y: str
    given: tuple[str, ...]
    result: IndependenceResult  # Of the test on the rows of the experiment


@dataclass(frozen=True, slots=True)
class RegimeTests:
    """All tests of a graph; made by `check_regimes`."""

    tests: tuple[RegimeTest, ...]  # One for each pair that is not joined in an experiment's graph
    alpha: float  # The probability that a true graph is rejected, at most

    @property
    def violations(self) -> tuple[RegimeTest, ...]:
        """Those that reject the graph, at alpha divided by the number of tests (Bonferroni); few rows reject none."""
        level = self.alpha / max(len(self.tests), 1)
        return tuple(test for test in self.tests if test.result.is_reliable and test.result.p_value <= level)


def check_regimes(graph: CausalLike, data: TableLike, *, alpha: float = 0.05, test: TestName = "auto") -> RegimeTests:
    """Test the independencies of the mutilated graph of each experiment on its own rows.

    In an experiment on Z the graph without edges into Z holds: for each pair that is not joined in it, the later one is
    independent of the earlier one given its parents; with latent causes, `<->`, given a set that m-separates the two,
    and pairs without such a set are not tested. Each experiment is tested by itself, so that it takes many rows of
    each; scores, as those of `gies`, use all rows together.

    Parameters
    ----------
    data
        What `Table.read` takes, complete, with interventions.
    alpha
        The probability that a true graph is rejected, at most.
    test
        "auto" for the kind of variables, "g", "chi-square", "permutation", "fisher-z" or "conditional-gaussian".

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> a, noise = rng.normal(size=(2, 400))
    >>> b = np.where(np.arange(400) < 200, a + noise, noise)
    >>> rows = {"a": a, "b": b, "set": [None] * 200 + ["b"] * 200}
    >>> from plausible.data.table import Table
    >>> table = Table.read(rows, interventions="set")
    >>> [len(check_regimes(graph, table).violations) for graph in ("a -> b", "b -> a")]
    [0, 0]
    >>> len(check_regimes(DAG(nodes=["a", "b"]), table).violations)
    1
    """
    if not 0 < alpha < 1:
        raise InvalidArgument(f"alpha={alpha!r} is a probability between 0 and 1.")
    causes = read_causes(graph)
    found = regimes(data)
    for node in causes.nodes:
        if node not in found[0].table.variables:
            raise UnknownVariable.named(str(node), found[0].table.variables, "the data, though the graph has it")
    return RegimeTests(tuple(each for regime in found for each in _tests(causes, regime, test)), alpha)


def _tests(causes: DAG | CausalGraph, regime: Regime, name: TestName) -> Iterator[RegimeTest]:
    cut = causes.without_incoming([target for target in regime.targets if target in causes])
    order = (cut if isinstance(cut, DAG) else cut.directed_part()).topological_order
    # What does not vary in an experiment depends on nothing there.
    varying = [str(node) for node in order if len(set(regime.table.column(str(node)).tolist())) > 1]
    if len(varying) < 2:
        return
    asked = read_test(regime.table.select(varying), name)
    for earlier, later in combinations(varying, 2):
        if cut.is_adjacent(earlier, later):
            continue
        separator = cut.parents(later) if isinstance(cut, DAG) else cut.minimal_separator(earlier, later)
        if separator is not None:
            given = tuple(name for name in varying if name in separator)
            yield RegimeTest(regime.targets, earlier, later, given, asked.test(earlier, later, given))
