"""Graphs that say what hides what, by an indicator R_x for each variable: what can be ignored, and what recovered."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import chain, combinations
from typing import Any, Literal, TypeAlias

import numpy as np

from plausible.base import Flags, Floats, Result, record
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, InvalidGraph, NotSupported, UnknownVariable, counted, suggestion
from plausible.graphs import CausalGraph
from plausible.learn.missingness.cells import table_cells
from plausible.learn.missingness.diagnosis import INDICATOR
from plausible.learn.missingness.mechanisms import MissingnessKind

Criterion: TypeAlias = Literal["MCAR", "MAR", "separate indicators", "ordered factorization", "direct", "none"]

#: Of a graph that does not tell what may be missing.
SAYS_NOTHING = (
    "The graph says nothing of missing cells: add an indicator R_x for each x that may be missing, with its causes, or "
    "name those that nothing hides but chance: partially_observed=."
)


@record
class ObservedFactor(Result):
    """P(targets | given, indicators = 1), counted in the rows in which all of `observed` are observed."""

    targets: tuple[str, ...]
    given: tuple[str, ...]
    observed: tuple[str, ...]

    def __str__(self) -> str:
        conditions = [*self.given, *(f"{INDICATOR}{name}=1" for name in self.observed)]
        return f"P({', '.join(self.targets)}{' | ' if conditions else ''}{', '.join(conditions)})"


@record
class Recoverability(Result):
    """Whether a distribution can be had from data with missing cells."""

    query: str  # The distribution asked for
    criterion: Criterion  # What shows that it can; "none" where no criterion here does, which is no proof that it can't
    #: The product of these is the distribution; for "separate indicators", what the probability of complete rows is
    #: divided by.
    factors: tuple[ObservedFactor, ...] = ()
    joint: str = ""  # The distribution that the formula gives, where the query follows from it
    note: str = ""  # What stands in the way

    @property
    def recoverable(self) -> bool:
        """Whether a criterion shows it."""
        return self.criterion != "none"

    @property
    def formula(self) -> str:
        """The distribution in terms of what is observed; empty where no criterion gives one."""
        name, product = self.joint or self.query, " ".join(map(str, self.factors))
        if self.criterion != "separate indicators":
            return f"{name} = {product}" if self.recoverable else ""
        marks = ", ".join(f"{factor.targets[0]}=1" for factor in self.factors)
        heads = [f"P({factor.targets[0]}" for factor in self.factors]
        texts = zip(map(str, self.factors), heads, strict=True)
        divisors = " ".join(text.replace(head, f"{head}=1", 1) for text, head in texts)
        return f"{name} = {name.removesuffix(')')}, {marks}) / ({divisors})"

    def __str__(self) -> str:
        if not self.recoverable:
            return f"{self.query}: not shown to be recoverable by these criteria. {self.note}".rstrip()
        follows = f"{self.query} follows from " if self.joint else ""
        return f"{follows}{self.formula}, by {self.criterion}"


def reweighted(table: Table, recovery: Recoverability, names: Sequence[str]) -> Table:
    """The complete rows with weights that make frequencies estimates of the joint distribution.

    For separate indicators w = 1 / Π P(R_x=1 | causes), with frequencies of the rows that show the causes; else the
    ratio of the formula to the share of the complete rows, w = Π P(factor) / P(row | R=1). Weights sum to the number of
    rows.
    """
    for name in names:
        if name not in table.variables:
            raise InvalidArgument(f"The data has no column {name!r}, which the graph has as observed.")
        if table.variables[name].is_continuous:
            raise NotSupported(f"{name!r} is a number: weights are counted by states. Cut it by Discretizer first.")
    missing = table_cells(table)
    complete = np.flatnonzero(~np.any([missing[name] for name in names], axis=0))
    if not len(complete):
        raise InvalidArgument("No row is complete, so that there is nothing to weigh.")
    own, counted = table.row_weights, _Counted(table)
    if recovery.criterion == "separate indicators":
        weights = 1.0 / math.prod([counted.propensity(factor)[complete] for factor in recovery.factors])
    else:
        here = counted.ratio(ObservedFactor(tuple(names), (), tuple(names)))[complete]
        weights = math.prod([counted.ratio(factor)[complete] for factor in recovery.factors]) / here
    weights = weights * own[complete]
    return table.take(complete).weighted(weights * (own.sum() / weights.sum()))


class _Counted:
    """Frequencies of the states that each row has."""

    def __init__(self, table: Table) -> None:
        self.codes = dict(zip(table.discrete, table.codes.astype(np.int64), strict=True))
        self.sizes = {name: table.variables[name].num_states for name in table.discrete}
        self.weights = table.row_weights

    def _sums(self, names: Sequence[str], rows: Flags) -> Floats:
        """For each row how much those of `rows` weigh that have its states of some variables; wrong where one lacks."""
        cells = np.zeros(len(self.weights), dtype=np.int64)
        for name in names:
            # Numbered anew at each step, so that the numbers stay below that of the rows.
            both = cells * self.sizes[name] + np.maximum(self.codes[name], 0)
            cells = np.unique(both, return_inverse=True)[1].reshape(-1).astype(np.int64)
        sums = np.bincount(cells, weights=np.where(rows, self.weights, 0.0))
        return np.asarray(sums[cells], dtype=np.float64)

    def _observed(self, names: Sequence[str]) -> Flags:
        return np.asarray(np.all([self.weights >= 0, *(self.codes[name] >= 0 for name in names)], axis=0))

    def ratio(self, factor: ObservedFactor) -> Floats:
        """P(targets | given) of each row's states, by frequencies where these are observed; NaN where none are."""
        rows = self._observed((*factor.targets, *factor.given))
        with np.errstate(invalid="ignore"):
            return self._sums((*factor.targets, *factor.given), rows) / self._sums(factor.given, rows)

    def propensity(self, factor: ObservedFactor) -> Floats:
        """P(R=1 | causes) of each row's states, by frequencies where the causes are observed; NaN where none are."""
        seen = self._observed(factor.given)
        about = self._observed([factor.targets[0].removeprefix(INDICATOR)])
        with np.errstate(invalid="ignore"):
            return self._sums(factor.given, seen & about) / self._sums(factor.given, seen)


#: Factorizations are sought among the subsets of at most so many variables.
_MAX_VARIABLES = 12


@record
class Ignorability(Result):
    """Whether learning may ignore how cells came to be missing."""

    kind: MissingnessKind | None  # "MCAR", "MAR" or "MNAR"; `None` where the graph says nothing of missing cells
    #: Whether maximum likelihood, EM and Bayesian learning from the observed cells are right without a model of the
    #: mechanism (its parameters being others than those of the variables).
    licensed: bool
    reason: str  # The separation that says so, or a trail that speaks against it

    def __str__(self) -> str:
        if self.kind is None:
            return f"Nothing licenses to ignore the mechanism. {self.reason}"
        verdict = "may be ignored" if self.licensed else "may not be ignored"
        return f"{self.kind}: the mechanism {verdict} for likelihood inference. {self.reason}"


class MissingnessGraph:
    """A causal graph with indicators: R_x is 1 where x is observed (Mohan, Pearl & Tian 2013; Mohan & Pearl 2021).

    Parameters
    ----------
    graph
        A `CausalGraph` or what makes one, such as arrow text; `<->` is a latent common cause. Nodes R_x are indicators,
        which have no effects other than on indicators.
    partially_observed
        The variables that may be missing: where left out, those with an indicator in the graph. One without has an
        indicator that nothing causes. () says that nothing is missing; a graph without indicators does not.
    latent
        Variables that are never observed.

    Examples
    --------
    >>> graph = MissingnessGraph("smokes -> weight; smokes -> R_weight")
    >>> print(graph.ignorability())
    MAR: the mechanism may be ignored for likelihood inference. R_weight ⟂ weight | smokes.
    >>> print(graph.recover_joint())
    P(smokes, weight) = P(smokes) P(weight | smokes, R_weight=1), by MAR
    >>> MissingnessGraph("income -> R_income").kind
    'MNAR'
    """

    __slots__ = ("graph", "has_mechanism", "latent", "partial", "variables")

    #: The graph with all indicators.
    graph: CausalGraph
    #: Variables that are not latent, and those of them that may be missing, in the order of the graph.
    variables: tuple[str, ...]
    partial: tuple[str, ...]
    latent: tuple[str, ...]
    #: Whether it was said what may be missing, if only that nothing is.
    has_mechanism: bool

    def __init__(self, graph: Any, partially_observed: Iterable[str] | None = None, latent: Iterable[str] = ()) -> None:
        read = graph if isinstance(graph, CausalGraph) else CausalGraph(graph)
        names = [str(node) for node in read.nodes]
        marks = {(INDICATOR + name).casefold(): INDICATOR + name for name in names}
        for name in names:  # what would be an indicator, but for its case, would be taken for a variable
            meant = marks.get(name.casefold(), name)
            if meant != name and not name.startswith(INDICATOR):
                raise InvalidGraph(
                    f"{name!r} looks like an indicator, but these start with {INDICATOR!r}. Did you mean {meant!r}? If "
                    "it is a variable of its own, give it another name."
                )
        wanted = [name.removeprefix(INDICATOR) for name in names if name.startswith(INDICATOR)]
        self.has_mechanism = bool(wanted) or partially_observed is not None
        for name in wanted:
            if name not in names:
                known = [INDICATOR + other for other in names if not other.startswith(INDICATOR)]
                raise InvalidGraph(
                    f"{INDICATOR + name!r} would say where {name!r} is observed, but there is no such variable."
                    f"{suggestion(INDICATOR + name, known)}"
                )
        if partially_observed is not None:
            listed = [partially_observed] if isinstance(partially_observed, str) else list(partially_observed)
            for name in [*listed, *wanted]:
                UnknownVariable.check(name, names, "this graph")
                if name not in listed:
                    raise InvalidGraph(f"{INDICATOR + name!r} is in the graph, so that {name!r} is partially observed.")
            wanted = listed
        self.latent = tuple([latent] if isinstance(latent, str) else latent)
        for name in self.latent:
            UnknownVariable.check(name, names, "this graph, though it is said to be latent")
            if name in wanted:
                raise InvalidArgument(f"{name!r} is latent or partially observed, not both.")
        self.graph = CausalGraph(read, nodes=[*names, *(INDICATOR + name for name in wanted)])
        indicators = {INDICATOR + name for name in wanted}
        self.variables = tuple(name for name in names if name not in indicators and name not in self.latent)
        self.partial = tuple(name for name in self.variables if name in wanted)
        for name in self.indicators:
            if effects := [child for child in self.graph.children(name) if child not in indicators]:
                raise InvalidGraph(f"{name!r} says what is observed; it can't be a cause of {effects[0]!r}.")

    @property
    def indicators(self) -> tuple[str, ...]:
        """R_x of each variable that may be missing."""
        return tuple(INDICATOR + name for name in self.partial)

    @property
    def complete(self) -> tuple[str, ...]:
        """The variables that are always observed."""
        return tuple(name for name in self.variables if name not in self.partial)

    @property
    def kind(self) -> MissingnessKind | None:
        """MCAR where R ⟂ all variables, MAR where R ⟂ what may be missing | what is always observed, else MNAR.

        `None` where the graph says nothing of missing cells.
        """
        if not self.has_mechanism:
            return None
        unseen = (*self.partial, *self.latent)
        if not self.partial or self.graph.m_separated(self.indicators, (*self.complete, *unseen)):
            return "MCAR"
        return "MAR" if self.graph.m_separated(self.indicators, unseen, given=self.complete) else "MNAR"

    def ignorability(self) -> Ignorability:
        """Whether learning may ignore the mechanism, and why."""
        kind, unseen = self.kind, (*self.partial, *self.latent)
        if kind is None:
            return Ignorability(None, False, SAYS_NOTHING)
        if not self.partial:
            return Ignorability(kind, True, "No variable is ever missing.")
        marks = ", ".join(self.indicators)
        if kind == "MCAR":
            return Ignorability(kind, True, f"{marks} ⟂ {', '.join((*self.complete, *unseen))}.")
        if kind == "MAR":
            return Ignorability(kind, True, f"{marks} ⟂ {', '.join(unseen)} | {', '.join(self.complete)}.")
        trail = self.graph.explain_separation(self.indicators, unseen, given=self.complete)
        return Ignorability(kind, False, f"{trail}")

    def recover_joint(self) -> Recoverability:
        """Whether P(all variables) can be had from endless data with missing cells, by which criterion and formula.

        The simplest first. MCAR: complete rows are a fair sample. MAR: P(V) = P(V_o) P(V_m | V_o, R=1). Separate
        indicators: no variable causes its own indicator, no indicator another, none has a latent cause; then P(V) =
        P(V, R=1) / Π P(R_x=1 | pa, R_pa=1) (Mohan, Pearl & Tian 2013, theorem 2). Ordered factorization: P(V) =
        Π P(v_i | x_i, R=1 of both), where v_i is separated from the other earlier ones and from the indicators of v_i
        and x_i, given x_i (theorem 1 there).
        """
        query, kind = f"P({', '.join(self.variables)})", self.kind
        if kind is None:
            return Recoverability(query, "none", note=SAYS_NOTHING)
        if kind == "MCAR":
            return Recoverability(query, "MCAR", (ObservedFactor(self.variables, (), self.partial),))
        if kind == "MAR":
            first = ObservedFactor(self.complete, (), ())
            return Recoverability(query, "MAR", (first, ObservedFactor(self.partial, self.complete, self.partial)))
        if all(self._is_separate(name) for name in self.partial):
            causes = {mark: tuple(map(str, self.graph.parents(mark))) for mark in self.indicators}
            seen = {mark: tuple(cause for cause in own if cause in self.partial) for mark, own in causes.items()}
            factors = tuple(ObservedFactor((mark,), own, seen[mark]) for mark, own in causes.items())
            return Recoverability(query, "separate indicators", factors)
        if ordered := _ordered_factors(self, self.variables):
            return Recoverability(query, "ordered factorization", ordered)
        own = [name for name in self.partial if name in self.graph.parents(INDICATOR + name)]
        note = "Indicators depend on each other or on latent causes."
        if own:
            note = f"{own[0]!r} causes its own indicator: no rows show what it is where it is missing."
        return Recoverability(query, "none", note=note)

    def _is_separate(self, name: str) -> bool:
        """Whether an indicator has only causes that are variables, and others than its own."""
        causes, mark = self.graph.parents(INDICATOR + name), INDICATOR + name
        return not self.graph.siblings(mark) and not {name, *self.indicators, *self.latent}.intersection(causes)

    def recover(self, target: str | Iterable[str], given: str | Iterable[str] = ()) -> Recoverability:
        """Whether P(target | given) can be had, by which criterion and formula.

        Target ⟂ R of both | given allows to use the rows that have both; else it follows from the joint distribution.
        """
        targets = (target,) if isinstance(target, str) else tuple(target)
        known = (given,) if isinstance(given, str) else tuple(given)
        UnknownVariable.check_all((*targets, *known), self.variables, "this graph that can be observed")
        if not targets or {*targets} & {*known}:
            raise InvalidArgument("Name targets that are not given themselves.")
        query = f"P({', '.join(targets)}{' | ' if known else ''}{', '.join(known)})"
        observed = tuple(name for name in self.partial if name in {*targets, *known})
        if self.kind is not None and _separated(self, targets, [INDICATOR + name for name in observed], known):
            return Recoverability(query, "direct", (ObservedFactor(targets, known, observed),))
        joint = self.recover_joint()
        if joint.recoverable:
            return Recoverability(query, joint.criterion, joint.factors, joint=joint.query)
        return Recoverability(query, "none", note=joint.note)

    def reweight(self, data: TableLike) -> Table:
        """The complete rows, weighted so that they stand for all: for any learner or estimate that takes weights."""
        recovery = self.recover_joint()
        if not recovery.recoverable:
            raise NotSupported(f"There are no weights that are known to be right. {recovery}")
        return reweighted(Table.read(data), recovery, self.variables)

    def __repr__(self) -> str:
        missing = f"{len(self.partial)} of them incomplete, {self.kind}" if self.has_mechanism else "no indicators"
        return f"<MissingnessGraph: {counted(len(self.variables), 'variable')}, {missing}>"


def _ordered_factors(graph: MissingnessGraph, names: Sequence[str]) -> tuple[ObservedFactor, ...]:
    """Factors of P(names), found set by set; empty where there are none."""
    if len(names) > _MAX_VARIABLES:
        return ()
    found: dict[frozenset[str], tuple[ObservedFactor, ...]] = {frozenset(): ()}
    layer = [frozenset[str]()]
    for _ in names:
        following: list[frozenset[str]] = []
        for known in layer:
            for name in (name for name in names if name not in known and known | {name} not in found):
                factor = _next_factor(graph, name, [other for other in names if other in known])
                if factor is not None:
                    found[known | {name}] = (*found[known], factor)
                    following.append(known | {name})
        layer = following
    return found.get(frozenset(names), ())


def _next_factor(graph: MissingnessGraph, name: str, known: Sequence[str]) -> ObservedFactor | None:
    """P(name | some of the known), if that is P(name | known) and can be had."""
    for given in chain.from_iterable(combinations(known, size) for size in range(len(known) + 1)):
        rest = [other for other in known if other not in given]
        observed = tuple(other for other in graph.partial if other in (*given, name))
        marks = [INDICATOR + other for other in observed]
        if _separated(graph, (name,), (*rest, *marks), given):
            return ObservedFactor((name,), given, observed)
    return None


def _separated(graph: MissingnessGraph, x: Sequence[str], y: Sequence[str], given: Sequence[str]) -> bool:
    return not y or graph.graph.m_separated(x, y, given=given)
