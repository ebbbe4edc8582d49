"""Graphs that say what hides what: variables, and for each that may be missing an indicator R_x with its causes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any

from plausible.base.records import record
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, InvalidGraph, NotSupported, UnknownVariable, counted, suggestion
from plausible.graphs import CausalGraph
from plausible.learn.missingness.indicators import INDICATOR
from plausible.learn.missingness.mechanisms import MissingnessKind
from plausible.learn.missingness.recoverability import SAYS_NOTHING, ObservedFactor, Recoverability, reweighted

#: Factorizations are sought among the subsets of at most so many variables.
_MAX_VARIABLES = 12


@record
class Ignorability:
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
    """A causal graph with indicators: R_x is 1 where x is observed.

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

    References
    ----------
    Mohan, Pearl & Tian (2013), Graphical models for inference with missing data. Mohan & Pearl (2021), Graphical models
    for processing missing data.

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
        _refuse_other_case(names)
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
                if name not in names:
                    raise UnknownVariable.named(name, names, "this graph")
                if name not in listed:
                    raise InvalidGraph(f"{INDICATOR + name!r} is in the graph, so that {name!r} is partially observed.")
            wanted = listed
        self.latent = tuple([latent] if isinstance(latent, str) else latent)
        for name in self.latent:
            if name not in names:
                raise UnknownVariable.named(name, names, "this graph, though it is said to be latent")
            if name in wanted:
                raise InvalidArgument(f"{name!r} is latent or partially observed, not both.")
        self.graph = CausalGraph(read, nodes=[*names, *(INDICATOR + name for name in wanted)])
        indicators = {INDICATOR + name for name in wanted}
        self.variables = tuple(name for name in names if name not in indicators and name not in self.latent)
        self.partial = tuple(name for name in self.variables if name in wanted)
        for name in self.indicators:
            for child in self.graph.children(name):
                if child not in indicators:
                    raise InvalidGraph(f"{name!r} says what is observed; it can't be a cause of {child!r}.")

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
        """Whether P(all variables) can be had from endless data with missing cells, by which criterion and formula."""
        return _recover_joint(self)

    def recover(self, target: str | Iterable[str], given: str | Iterable[str] = ()) -> Recoverability:
        """Whether P(target | given) can be had, by which criterion and formula."""
        return _recover_conditional(self, _names(target), _names(given))

    def reweight(self, data: TableLike) -> Table:
        """The complete rows, weighted so that they stand for all: for any learner or estimate that takes weights.

        Raises
        ------
        NotSupported
            Where no criterion shows that the joint distribution can be recovered.
        """
        recovery = self.recover_joint()
        if not recovery.recoverable:
            raise NotSupported(f"There are no weights that are known to be right. {recovery}")
        return reweighted(Table.read(data), recovery, self.variables)

    def __repr__(self) -> str:
        missing = f"{len(self.partial)} of them incomplete, {self.kind}" if self.has_mechanism else "no indicators"
        return f"<MissingnessGraph: {counted(len(self.variables), 'variable')}, {missing}>"


def _refuse_other_case(names: list[str]) -> None:
    """Refuse what would be an indicator, but for its case: it would be taken for a variable."""
    indicators = {(INDICATOR + name).casefold(): INDICATOR + name for name in names}
    for name in names:
        meant = indicators.get(name.casefold(), name)
        if meant != name and not name.startswith(INDICATOR):
            raise InvalidGraph(
                f"{name!r} looks like an indicator, but these start with {INDICATOR!r}. Did you mean {meant!r}? If it "
                "is a variable of its own, give it another name."
            )


def _names(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _recover_joint(graph: MissingnessGraph) -> Recoverability:
    """Try the criteria for P(all variables), the simplest first.

    MCAR: complete rows are a fair sample. MAR: P(V) = P(V_o) P(V_m | V_o, R=1). Separate indicators: no variable causes
    its own indicator, no indicator another, none has a latent cause; then P(V) = P(V, R=1) / Π P(R_x=1 | pa, R_pa=1)
    (Mohan, Pearl & Tian 2013, theorem 2). Ordered factorization: P(V) = Π P(v_i | x_i, R=1 of both), where v_i is
    separated from the other earlier ones and from the indicators of v_i and x_i, given x_i (theorem 1 there).
    """
    query = f"P({', '.join(graph.variables)})"
    if graph.kind is None:
        return Recoverability(query, "none", note=SAYS_NOTHING)
    if graph.kind == "MCAR":
        return Recoverability(query, "MCAR", (ObservedFactor(graph.variables, (), graph.partial),))
    if graph.kind == "MAR":
        first = ObservedFactor(graph.complete, (), ())
        return Recoverability(query, "MAR", (first, ObservedFactor(graph.partial, graph.complete, graph.partial)))
    if _has_separate_indicators(graph):
        return Recoverability(query, "separate indicators", tuple(_propensity(graph, name) for name in graph.partial))
    if factors := _ordered_factors(graph, graph.variables):
        return Recoverability(query, "ordered factorization", factors)
    return Recoverability(query, "none", note=_obstacle(graph))


def _recover_conditional(graph: MissingnessGraph, target: Sequence[str], given: Sequence[str]) -> Recoverability:
    """Try P(target | given): target ⟂ R of both | given allows to use the rows that have both; else by the joint."""
    for name in (*target, *given):
        if name not in graph.variables:
            raise UnknownVariable.named(name, graph.variables, "this graph that can be observed")
    if not target or {*target} & {*given}:
        raise InvalidArgument("Name targets that are not given themselves.")
    query = f"P({', '.join(target)}{' | ' if given else ''}{', '.join(given)})"
    observed = tuple(name for name in graph.partial if name in {*target, *given})
    if graph.kind is not None and _separated(graph, target, (INDICATOR + name for name in observed), given):
        return Recoverability(query, "direct", (ObservedFactor(tuple(target), tuple(given), observed),))
    joint = _recover_joint(graph)
    if joint.recoverable:
        return Recoverability(query, joint.criterion, joint.factors, joint=joint.query)
    return Recoverability(query, "none", note=joint.note)


def _has_separate_indicators(graph: MissingnessGraph) -> bool:
    for name in graph.partial:
        mark = INDICATOR + name
        causes = graph.graph.parents(mark)
        if name in causes or any(cause in graph.indicators or cause in graph.latent for cause in causes):
            return False
        if graph.graph.siblings(mark):
            return False
    return True


def _propensity(graph: MissingnessGraph, name: str) -> ObservedFactor:
    causes = tuple(map(str, graph.graph.parents(INDICATOR + name)))
    return ObservedFactor((INDICATOR + name,), causes, tuple(cause for cause in causes if cause in graph.partial))


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
    for given in _subsets(known):
        rest = [other for other in known if other not in given]
        observed = tuple(other for other in graph.partial if other in (*given, name))
        marks = [INDICATOR + other for other in observed]
        if _separated(graph, (name,), (*rest, *marks), given):
            return ObservedFactor((name,), given, observed)
    return None


def _subsets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for size in range(len(names) + 1):
        yield from combinations(names, size)


def _separated(graph: MissingnessGraph, x: Sequence[str], y: Iterable[str], given: Sequence[str]) -> bool:
    others = tuple(y)
    return not others or graph.graph.m_separated(tuple(x), others, given=tuple(given))


def _obstacle(graph: MissingnessGraph) -> str:
    own = [name for name in graph.partial if name in graph.graph.parents(INDICATOR + name)]
    if own:
        return f"{own[0]!r} causes its own indicator: no rows show what it is where it is missing."
    return "Indicators depend on each other or on latent causes."
