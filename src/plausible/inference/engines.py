"""Named engines: small frozen objects that answer the same two questions about any set of factors, each in its way.

They make inference methods interchangeable: a model hands its factors to whichever engine it is given, and the
`.info` of the answer says which one that was.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from plausible.base import read_names
from plausible.errors import ImpossibleEvidence, InvalidArgument, TooLarge, UnknownVariable
from plausible.factors import Factor, product
from plausible.factors.alignment import MAX_ENTRIES
from plausible.inference.approximate_samples import DrawnStates, told_size
from plausible.inference.compiled import CompiledFactors, compile_factors
from plausible.inference.conditioning.recursive import MAX_CACHE_ENTRIES, MAX_COST, MAX_TABLE_ENTRIES, conditioned_sum
from plausible.inference.elimination import SumProduct, absorb, enumerate_sum, sum_product
from plausible.inference.engine_mistakes import mistaken_engine
from plausible.inference.polytree.pearl import polytree_sum
from plausible.variables import Evidence, Variable


@runtime_checkable
class Engine(Protocol):
    """A way to answer questions about the distribution that a product of factors stands for.

    Exact and approximate engines alike are frozen objects that hold their options and nothing else; what an answer is
    worth stands in its `.info`.

    Some engines have more, which those who need it look for: `joints(factors, groups, evidence)`, the joints of several
    groups of variables from one run; `draw_states`, see `SamplingEngine`; and
    `bound_marginal_map(factors, targets, evidence)`, the positions of good states of targets that are not observed, and
    a number that log Σ Π φ exceeds for no assignment to them.
    """

    def query(self, factors: Iterable[Factor], targets: Sequence[Variable], evidence: Evidence) -> Factor:
        """P(targets | evidence), normalised, its axes in the order of the targets, with a `QueryInfo` as `.info`.

        Targets may be observed; impossible evidence raises `ImpossibleEvidence`.
        """

    def marginals(
        self, factors: Iterable[Factor], variables: Iterable[Variable], evidence: Evidence
    ) -> dict[str, Factor]:
        """P(X | evidence) of each of the variables."""

    def log_total(self, factors: Iterable[Factor], evidence: Evidence) -> float:
        """log Σ Π φ over all assignments that agree with the evidence; -inf for zero.

        In a Bayesian network this is log P(e).
        """


def check_engine(engine: object, names: Collection[str]) -> None:
    """Refuse what is no engine, and one whose options name what is no variable of a network; `None` will do.

    An engine itself sees the factors that matter to a question, so that it can't tell a variable that does not matter
    from a wrong name.
    """
    if engine is not None and (isinstance(engine, type) or not isinstance(engine, Engine)):
        raise mistaken_engine(engine, "sums")
    check_mentioned(engine, names)


def check_mentioned(engine: object, names: Collection[str]) -> None:
    """Refuse an engine whose options name what is no variable of a network."""
    for name in getattr(engine, "mentioned", ()):
        if name not in names:
            raise UnknownVariable.named(name, names, f"this network, though an option of {type(engine).__name__}")


class SummingEngine(ABC):
    """The base of engines that get their answers from sums Σ Π φ, which they can also give as they are."""

    __slots__ = ()

    @property
    def mentioned(self) -> tuple[str, ...]:
        """The names of variables that its options mention: in an order, or a cutset."""
        return tuple(getattr(self, "order", None) or getattr(self, "cutset", None) or ())

    def marginals(
        self, factors: Iterable[Factor], variables: Iterable[Variable], evidence: Evidence
    ) -> dict[str, Factor]:
        """P(X | evidence) of each of the variables, one question after the other."""
        listed = list(factors)
        return {variable.name: self.query(listed, [variable], evidence) for variable in variables}

    @abstractmethod
    def sum(self, factors: Sequence[Factor], targets: Sequence[Variable], evidence: Evidence) -> SumProduct:
        """Σ Π φ as a table over targets that are not observed; zero for impossible evidence."""

    def log_total(self, factors: Iterable[Factor], evidence: Evidence) -> float:
        """log Σ Π φ over all assignments that agree with the evidence; -inf for zero."""
        return self.sum(list(factors), (), evidence).log_total

    def query(self, factors: Iterable[Factor], targets: Sequence[Variable], evidence: Evidence) -> Factor:
        """P(targets | evidence); observed targets have all their probability in one state."""
        listed = list(factors)
        check_known(listed, targets, evidence)
        free = [variable for variable in targets if variable.name not in evidence.hard]
        result = self.sum(listed, free, evidence)
        if result.is_zero:
            raise ImpossibleEvidence.outright()
        known = [Factor.indicator(v, v.states[evidence.hard[v.name]]) for v in targets if v.name in evidence.hard]
        answer = product((result.factor.normalize(), *known)).reorder(_names(targets))
        return answer.with_info(result.info)


@dataclass(frozen=True, slots=True)
class Enumeration(SummingEngine):
    """Exact inference by brute force: build the full joint table (2^n entries for n binary variables) and sum.

    A joint with more than `max_entries` is refused.

    >>> coin = Factor({"coin": 2}, [0.5, 0.5])
    >>> Enumeration().query([coin], coin.scope, Evidence.read({}, {})).info.engine
    'enumeration'
    """

    max_entries: int = MAX_ENTRIES

    def __post_init__(self) -> None:
        _refuse_model(self.max_entries, "Enumeration")

    def sum(self, factors: Sequence[Factor], targets: Sequence[Variable], evidence: Evidence) -> SumProduct:
        """Σ Π φ as a table over targets that are not observed."""
        return enumerate_sum(absorb(factors, evidence), _names(targets), self.max_entries)


@dataclass(frozen=True, slots=True)
class VariableElimination(SummingEngine):
    """Exact inference by summing out one variable after another (Koller & Friedman 2009, algorithm 9.1).

    Variables go in the `order` given, by default in a greedy one for each question; targets and observed variables are
    skipped, and all others must be listed. A question that would build a table with more than `max_entries` is refused
    before any work is done.

    >>> a, b = Variable("A", 2), Variable("B", 2)
    >>> factors = [Factor((a,), [0.6, 0.4]), Factor((a, b), [[0.7, 0.3], [0.2, 0.8]])]
    >>> VariableElimination(order=["A"]).query(factors, [b], Evidence.read({}, {})).values.round(6)
    array([0.5, 0.5])
    """

    order: Sequence[str] | None = None
    max_entries: int = MAX_ENTRIES

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", _read_order("order", self.order))

    def sum(self, factors: Sequence[Factor], targets: Sequence[Variable], evidence: Evidence) -> SumProduct:
        """Σ Π φ as a table over targets that are not observed."""
        names = _names(targets)
        order = None if self.order is None else [name for name in self.order if name not in names]
        return sum_product(absorb(factors, evidence), names, order, self.max_entries)


@dataclass(frozen=True, slots=True)
class JunctionTree:
    """Exact inference on a clique tree, as models do by default (Lauritzen & Spiegelhalter 1988).

    Each question builds a new tree; `model.compile()` keeps one for many questions. A tree whose tables have more than
    `max_entries` in total is refused before any table is built; by default only the compiler's own limit applies.

    >>> coin = Factor({"coin": 2}, [0.5, 0.5])
    >>> JunctionTree().query([coin], coin.scope, Evidence.read({}, {})).info.engine
    'clique tree'
    """

    max_entries: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        _refuse_model(self.max_entries, "JunctionTree")

    def query(self, factors: Iterable[Factor], targets: Sequence[Variable], evidence: Evidence) -> Factor:
        """P(targets | evidence)."""
        listed = list(factors)
        check_known(listed, targets, evidence)
        compiled = self._compiled(listed, targets)
        return compiled.joint(targets, _about(evidence, compiled.variables))

    def marginals(
        self, factors: Iterable[Factor], variables: Iterable[Variable], evidence: Evidence
    ) -> dict[str, Factor]:
        """P(X | evidence) of each of the variables, from one calibration."""
        listed, wanted = list(factors), list(variables)
        check_known(listed, wanted, evidence)
        compiled = self._compiled(listed, wanted)
        answers = compiled.marginals(_about(evidence, compiled.variables))
        return {variable.name: answers[variable.name] for variable in wanted}

    def log_total(self, factors: Iterable[Factor], evidence: Evidence) -> float:
        """log Σ Π φ over all assignments that agree with the evidence; -inf for zero."""
        compiled = self._compiled(list(factors), ())
        return compiled.log_total(_about(evidence, compiled.variables))

    def draw_states(self, factors: Iterable[Factor], num_rows: int, evidence: Evidence) -> DrawnStates:
        """Independent rows from the exact distribution."""
        compiled = self._compiled(list(factors), ())
        generator = np.random.default_rng(self.seed)
        states = compiled.sample(num_rows, _about(evidence, compiled.variables), generator)
        info = replace(compiled.info, num_steps=num_rows, advice=told_size(num_rows, num_rows))
        return DrawnStates(tuple(compiled.variables.values()), states, float(num_rows), info)

    def _compiled(self, factors: Sequence[Factor], targets: Sequence[Variable]) -> CompiledFactors:
        compiled = compile_factors(factors, targets)
        if self.max_entries is not None and compiled.info.cost > self.max_entries:
            raise TooLarge(
                f"The tables of the clique tree would have {compiled.info.cost:.3g} entries; the limit given is "
                f"{self.max_entries:.3g}. RecursiveConditioning() answers within less memory, at the price of time."
            )
        return compiled


@dataclass(frozen=True, slots=True)
class Pearl(SummingEngine):
    """Exact inference on polytrees by Pearl's λ-π messages (Pearl 1988, §4.3); `propagate` shows the messages.

    The factors must be the families of a Bayesian network, with the child last in each scope. The cutset are variables
    to condition on, with one propagation for each assignment of them. For a network with loops, use a loop cutset, such
    as `loop_cutset` finds.

    >>> a, b = Variable("A", 2), Variable("B", 2)
    >>> factors = [Factor((a,), [0.6, 0.4]), Factor((a, b), [[0.7, 0.3], [0.2, 0.8]])]
    >>> Pearl().query(factors, [a], Evidence.read({"B": 1}, {"B": b})).values.round(6)
    array([0.36, 0.64])
    """

    cutset: Sequence[str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "cutset", _read_order("cutset", self.cutset))

    def sum(self, factors: Sequence[Factor], targets: Sequence[Variable], evidence: Evidence) -> SumProduct:
        """Σ Π φ as a table over targets that are not observed."""
        return polytree_sum(factors, targets, evidence, self.cutset)


@dataclass(frozen=True, slots=True)
class RecursiveConditioning(SummingEngine):
    """Exact inference in limited memory, at the price of time (Darwiche 2001); see `conditioned_sum`.

    Parameters
    ----------
    max_table_entries
        The most entries in any one table; 2^20 entries take 8 MiB.
    max_cache_entries
        The most entries to cache at a time.
    max_cost
        Refuse a plan that takes more work than this, before it starts.
    order
        The elimination order from which to build the decomposition tree; by default a greedy one.

    Examples
    --------
    >>> triangle = [Factor({a: 2, b: 2}, [[1, 2], [3, 4]]) for a, b in ("AB", "BC", "CA")]
    >>> little = RecursiveConditioning(max_table_entries=4, max_cache_entries=0)
    >>> round(little.log_total(triangle, Evidence.read({}, {})), 6)
    5.043425
    """

    max_table_entries: int = MAX_TABLE_ENTRIES
    max_cache_entries: int = MAX_CACHE_ENTRIES
    max_cost: float = MAX_COST
    order: Sequence[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", _read_order("order", self.order))

    def sum(self, factors: Sequence[Factor], targets: Sequence[Variable], evidence: Evidence) -> SumProduct:
        """Σ Π φ as a table over targets that are not observed."""
        limits = (self.max_table_entries, self.max_cache_entries, self.max_cost)
        return conditioned_sum(absorb(factors, evidence), _names(targets), self.order, *limits)


def check_known(factors: Sequence[Factor], targets: Sequence[Variable], evidence: Evidence) -> None:
    """Refuse targets that no factor mentions and that are not observed."""
    known = {name for factor in factors for name in factor.names}
    for variable in targets:
        if variable.name not in known and variable.name not in evidence.hard:
            raise UnknownVariable.named(variable.name, sorted(known), "these factors")


def _about(evidence: Evidence, names: Iterable[str]) -> Evidence:
    """The findings on the named variables; others say nothing about these factors."""
    known = set(names)
    return replace(
        evidence,
        hard={name: state for name, state in evidence.hard.items() if name in known},
        soft={name: weights for name, weights in evidence.soft.items() if name in known},
    )


def _names(variables: Iterable[Variable]) -> list[str]:
    return [variable.name for variable in variables]


def _read_order(option: str, names: Sequence[str] | None) -> tuple[str, ...] | None:
    if names is None:
        return None
    listed = tuple(names) if isinstance(names, Iterable) and not isinstance(names, str) else (names,)
    for name in listed:
        _refuse_model(name, "VariableElimination")
    return read_names(option, names if isinstance(names, str) else listed)


def _refuse_model(value: object, engine: str) -> None:
    """Refuse a model in the place of an option: engines of other libraries are made for one."""
    if hasattr(value, "variables"):
        raise InvalidArgument(
            f"An engine is made without a model and handed to the question: net.query(names, engine={engine}())."
        )
