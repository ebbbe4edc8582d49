"""Which distributions can be had from data with missing cells: criteria that are sufficient, not necessary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Literal, NamedTuple, Protocol, TypeAlias

from plausible.base.display import html_of_print, repr_of_print
from plausible.base.records import record
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.graphs import CausalGraph
from plausible.learn.missingness.indicators import INDICATOR

__all__ = ["SAYS_NOTHING", "Factor", "Recoverability", "recover_conditional", "recover_joint"]

Criterion: TypeAlias = Literal["MCAR", "MAR", "separate indicators", "ordered factorization", "direct", "none"]

#: Of a graph that does not tell what may be missing.
SAYS_NOTHING = (
    "The graph says nothing of missing cells: add an indicator R_x for each x that may be missing, with its causes, or "
    "name those that nothing hides but chance: partially_observed=."
)
#: Factorizations are sought among the subsets of at most so many variables.
_MAX_VARIABLES = 12


class Factor(NamedTuple):
    """P(targets | given, indicators = 1), counted in the rows in which all of `observed` are observed."""

    targets: tuple[str, ...]
    given: tuple[str, ...]
    observed: tuple[str, ...]

    def __str__(self) -> str:
        conditions = [*self.given, *(f"{INDICATOR}{name}=1" for name in self.observed)]
        return f"P({', '.join(self.targets)}{' | ' if conditions else ''}{', '.join(conditions)})"

    def __repr__(self) -> str:
        return repr_of_print(self)

    def _repr_html_(self) -> str:
        return html_of_print(self)


@record
class Recoverability:
    """Whether a distribution can be had from data with missing cells.

    Attributes
    ----------
    query
        The distribution asked for.
    criterion
        What shows that it can; "none" where no criterion here does, which is no proof that it can't.
    factors
        The product of these is the distribution; for "separate indicators", what the probability of complete rows is
        divided by.
    joint
        The distribution that the formula gives, where the query follows from it.
    note
        What stands in the way.
    """

    query: str
    criterion: Criterion
    factors: tuple[Factor, ...] = ()
    joint: str = ""
    note: str = ""

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
        divisors = " ".join(_is_one(factor) for factor in self.factors)
        return f"{name} = {name.removesuffix(')')}, {marks}) / ({divisors})"

    def __str__(self) -> str:
        if not self.recoverable:
            return f"{self.query}: not shown to be recoverable by these criteria. {self.note}".rstrip()
        follows = f"{self.query} follows from " if self.joint else ""
        return f"{follows}{self.formula}, by {self.criterion}"


def _is_one(factor: Factor) -> str:
    return str(factor).replace(f"P({factor.targets[0]}", f"P({factor.targets[0]}=1", 1)


class Incomplete(Protocol):
    """What is asked of a graph with indicators."""

    graph: CausalGraph
    variables: tuple[str, ...]
    partial: tuple[str, ...]
    latent: tuple[str, ...]

    @property
    def indicators(self) -> tuple[str, ...]:
        """R_x of each variable that may be missing."""

    @property
    def complete(self) -> tuple[str, ...]:
        """The variables that are always observed."""

    @property
    def kind(self) -> str | None:
        """MCAR, MAR or MNAR; `None` where the graph says nothing of missing cells."""


def recover_joint(graph: Incomplete) -> Recoverability:
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
        return Recoverability(query, "MCAR", (Factor(graph.variables, (), graph.partial),))
    if graph.kind == "MAR":
        first = Factor(graph.complete, (), ())
        return Recoverability(query, "MAR", (first, Factor(graph.partial, graph.complete, graph.partial)))
    if _has_separate_indicators(graph):
        return Recoverability(query, "separate indicators", tuple(_propensity(graph, name) for name in graph.partial))
    if factors := _ordered_factors(graph, graph.variables):
        return Recoverability(query, "ordered factorization", factors)
    return Recoverability(query, "none", note=_obstacle(graph))


def recover_conditional(graph: Incomplete, target: Sequence[str], given: Sequence[str]) -> Recoverability:
    """Try P(target | given): target ⟂ R of both | given allows to use the rows that have both; else by the joint."""
    for name in (*target, *given):
        if name not in graph.variables:
            raise UnknownVariable.named(name, graph.variables, "this graph that can be observed")
    if not target or {*target} & {*given}:
        raise InvalidArgument("Name targets that are not given themselves.")
    query = f"P({', '.join(target)}{' | ' if given else ''}{', '.join(given)})"
    observed = tuple(name for name in graph.partial if name in {*target, *given})
    if graph.kind is not None and _separated(graph, target, (INDICATOR + name for name in observed), given):
        return Recoverability(query, "direct", (Factor(tuple(target), tuple(given), observed),))
    joint = recover_joint(graph)
    if joint.recoverable:
        return Recoverability(query, joint.criterion, joint.factors, joint=joint.query)
    return Recoverability(query, "none", note=joint.note)


def _has_separate_indicators(graph: Incomplete) -> bool:
    for name in graph.partial:
        mark = INDICATOR + name
        causes = graph.graph.parents(mark)
        if name in causes or any(cause in graph.indicators or cause in graph.latent for cause in causes):
            return False
        if graph.graph.siblings(mark):
            return False
    return True


def _propensity(graph: Incomplete, name: str) -> Factor:
    causes = tuple(map(str, graph.graph.parents(INDICATOR + name)))
    return Factor((INDICATOR + name,), causes, tuple(cause for cause in causes if cause in graph.partial))


def _ordered_factors(graph: Incomplete, names: Sequence[str]) -> tuple[Factor, ...]:
    """Factors of P(names), found set by set; empty where there are none."""
    if len(names) > _MAX_VARIABLES:
        return ()
    found: dict[frozenset[str], tuple[Factor, ...]] = {frozenset(): ()}
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


def _next_factor(graph: Incomplete, name: str, known: Sequence[str]) -> Factor | None:
    """P(name | some of the known), if that is P(name | known) and can be had."""
    for given in _subsets(known):
        rest = [other for other in known if other not in given]
        observed = tuple(other for other in graph.partial if other in (*given, name))
        marks = [INDICATOR + other for other in observed]
        if _separated(graph, (name,), (*rest, *marks), given):
            return Factor((name,), given, observed)
    return None


def _subsets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for size in range(len(names) + 1):
        yield from combinations(names, size)


def _separated(graph: Incomplete, x: Sequence[str], y: Iterable[str], given: Sequence[str]) -> bool:
    others = tuple(y)
    return not others or graph.graph.m_separated(tuple(x), others, given=tuple(given))


def _obstacle(graph: Incomplete) -> str:
    own = [name for name in graph.partial if name in graph.graph.parents(INDICATOR + name)]
    if own:
        return f"{own[0]!r} causes its own indicator: no rows show what it is where it is missing."
    return "Indicators depend on each other or on latent causes."
