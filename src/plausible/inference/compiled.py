"""A set of factors compiled to a clique tree: every exact question from one program."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from plausible.base import Argument, Codes, Floats, Ints, QueryInfo, Remedy
from plausible.engine.batch import PreparedRows, RowAnswers
from plausible.engine.compilation import TreeTooLarge, compile_program
from plausible.engine.program import Program
from plausible.engine.run import Semiring, Workspace
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported
from plausible.factors import Factor
from plausible.factors.alignment import check_size
from plausible.factors.marginals import Marginals
from plausible.inference.budget import Budget, advising, read_budget, too_large
from plausible.variables import Assignment, Evidence, Variable


@dataclass(frozen=True, slots=True, eq=False)
class CompiledFactors:
    """Factors, the variables they are about, and the program that sums up their product."""

    factors: tuple[Factor, ...]  # As given; their product is the measure
    variables: Mapping[str, Variable]  # Name -> variable, those asked for first, then auxiliary ones
    program: Program  # The clique tree
    sources: Floats  # The factors' numbers, one after the other
    info: QueryInfo  # How answers are got, and what they cost
    budget: Budget = field(default_factory=Budget)  # What an answer may cost
    _spare: dict[Semiring, list[Workspace]] = field(default_factory=lambda: {kind: [] for kind in Semiring}, repr=False)
    _numbers: Mapping[str, int] = field(init=False, repr=False)  # the place of each variable

    def __post_init__(self) -> None:
        object.__setattr__(self, "_numbers", {name: number for number, name in enumerate(self.variables)})

    @contextmanager
    def _workspace(self, semiring: Semiring) -> Iterator[Workspace]:
        """Buffers for one run: spare ones, which may have messages that are still right, or new ones."""
        try:
            workspace = self._spare[semiring].pop()
        except IndexError:
            workspace = Workspace.of(self.program, self.sources, semiring)
        yield workspace
        self._spare[semiring].append(workspace)  # not where an error or an interrupt left it half done

    @contextmanager
    def _collected(self, evidence: Evidence) -> Iterator[tuple[Workspace, float]]:
        """Buffers with messages passed to the roots, and log Σ Π φ; on logarithms where numbers might underflow."""
        weights = self._weights(evidence)
        with self._workspace(Semiring.SUM) as workspace:
            log_total = workspace.collect(weights)
            if not workspace.is_risky:
                yield workspace, log_total
                return
        with self._workspace(Semiring.LOG_SUM) as workspace:
            yield workspace, workspace.collect(weights)

    @contextmanager
    def _possible(self, evidence: Evidence) -> Iterator[Workspace]:
        """As `_collected`, for evidence that must be possible."""
        with self._collected(evidence) as (workspace, log_total):
            _refuse_zero(log_total)
            yield workspace

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle without the buffers."""
        return CompiledFactors, (self.factors, self.variables, self.program, self.sources, self.info, self.budget)

    def log_total(self, evidence: Evidence) -> float:
        """log Σ Π φ over all assignments that agree with the evidence; -inf for zero."""
        with self._collected(evidence) as (_, log_total):
            return log_total

    def marginals(self, evidence: Evidence) -> Marginals:
        """The normalised marginal of every variable, from one calibration."""
        weights = self._weights(evidence)
        with self._workspace(Semiring.SUM) as workspace:
            log_total, is_risky, marginals = workspace.all_marginals(weights)
        if is_risky:
            with self._workspace(Semiring.LOG_SUM) as workspace:
                log_total, _, marginals = workspace.all_marginals(weights)
        _refuse_zero(log_total)
        factors = Factor.singles(self.variables.values(), marginals, self.info)
        return Marginals(zip(self.variables, factors, strict=True))

    def joint(self, targets: Sequence[Variable], evidence: Evidence) -> Factor:
        """P(targets | evidence): read off a clique that has them all, else by elimination."""
        return self.joints([targets], evidence)[0]

    def joints(self, groups: Sequence[Sequence[Variable]], evidence: Evidence) -> list[Factor]:
        """P(group | evidence) of each group of variables; those that lie in a clique share one calibration."""
        wanted = [[self._numbers[variable.name] for variable in group] for group in groups]
        cliques = self.program.smallest_cliques(wanted)
        answers: list[Factor | None] = []
        with self._possible(evidence) as workspace:
            workspace.distribute({clique for clique in cliques if clique is not None})
            for group, variables, clique in zip(groups, wanted, cliques, strict=True):
                joint = None if clique is None else workspace.joint(clique, variables)
                answers.append(None if joint is None else Factor.from_flat(group, joint.ravel()).with_info(self.info))
        return [
            answer if answer is not None else self._across(group, evidence)
            for answer, group in zip(answers, groups, strict=True)
        ]

    @advising((Remedy("ask for fewer variables at a time"), Remedy("raise ", Argument("budget"), " of compile")))
    def _across(self, group: Sequence[Variable], evidence: Evidence) -> Factor:
        """The joint of variables that share no clique, by a tree in which they do."""
        check_size(group, "The joint distribution of the targets")
        together = [variable.name for variable in group]
        tree = compile_factors(self.factors, self.variables.values(), together=[together], budget=self.budget)
        return tree.joint(group, evidence)

    def expectation(self, terms: Sequence[Factor], evidence: Evidence) -> float:
        """E[Σ terms | evidence], in one pass over the tree; each term's variables must share a clique."""
        scopes = [[self._numbers[name] for name in term.names] for term in terms]
        homes = self.program.smallest_cliques(scopes)
        lacking = [term for term, home in zip(terms, homes, strict=True) if home is None]
        if lacking:
            raise InvalidArgument(
                f"({', '.join(lacking[0].names)}) share no clique of this tree: see compile_factors(together=)."
            )
        with self._possible(evidence) as workspace:
            if workspace.semiring == Semiring.SUM:
                placed = [home for home in homes if home is not None]
                return workspace.expectation([term.flat for term in terms], scopes, placed)
        beliefs = self.joints([term.scope for term in terms], evidence)
        return float(sum(term.flat @ belief.flat for term, belief in zip(terms, beliefs, strict=True)))

    def best(self, evidence: Evidence) -> Assignment:
        """An assignment with the largest product, given the evidence; `log_probability` is the log of that product."""
        with self._workspace(Semiring.MAX) as workspace:
            log_best = workspace.collect(self._weights(evidence))
            states = workspace.best_states().tolist()
        _refuse_zero(log_best)
        named = {v.name: v.states[state] for v, state in zip(self.variables.values(), states, strict=True)}
        return Assignment(named, log_probability=log_best, info=self.info)

    def sample(self, num_rows: int, evidence: Evidence, generator: np.random.Generator) -> Ints:
        """State positions drawn from the distribution given the evidence: a row each, a column for each variable."""
        self.budget.check_tables(self.program.num_entries)
        with self._possible(evidence) as workspace:
            return workspace.draw(generator.random((num_rows, self.program.num_cliques)))

    def answer_rows(self, rows: Codes, target: str | None = None, weights: Floats | None = None) -> RowAnswers:
        """The same questions for many rows of states, -1 where not observed; see `engine.batch`."""
        if weights is not None:
            self.budget.check_tables(self.program.num_entries)
        return self.prepared_rows(rows, target).answer(self.sources, weights)

    def prepared_rows(self, rows: Codes, target: str | None = None) -> PreparedRows:
        """Rows that can be answered again and again, also with other numbers of the same factors (see `sources`)."""
        # A byte a cell where that will do: there may be very many.
        smallest = np.min_scalar_type(-int(self.program.sizes.max(initial=1)))
        wider = np.full((len(rows), len(self.variables)), -1, dtype=smallest)
        wider[:, : rows.shape[1]] = rows
        return PreparedRows.of(self.program, wider, None if target is None else self._numbers[target])

    def family_cliques(self, families: Mapping[str, tuple[Variable, ...]]) -> dict[str, int]:
        """The smallest clique that has a whole family, for each family that is in one."""
        groups = [[self._numbers[variable.name] for variable in family] for family in families.values()]
        cliques = self.program.smallest_cliques(groups)
        return {name: clique for name, clique in zip(families, cliques, strict=True) if clique is not None}

    def family_totals(
        self, totals: Floats, families: Mapping[str, tuple[Variable, ...]], cliques: Mapping[str, int]
    ) -> dict[str, Floats]:
        """Summed beliefs of cliques as sums over the families that lie in them: for each an array over its scope."""
        counts: dict[str, Floats] = {}
        variables = list(self.variables.values())
        for name, clique in cliques.items():
            start = int(self.program.layout.cliques["table"][clique])
            scope = [variables[number] for number in self.program.clique(clique)]
            belief = Factor.from_flat(scope, totals[start : start + math.prod(v.num_states for v in scope)])
            counts[name] = belief.marginal([variable.name for variable in families[name]]).values
        return counts

    def _weights(self, evidence: Evidence) -> dict[int, Floats]:
        if evidence.values:
            raise NotSupported(f"{next(iter(evidence.values))!r} is continuous: a clique tree of tables can't hold it.")
        weights = {self._numbers[name]: vector for name, vector in evidence.soft.items()}
        for name, state in evidence.hard.items():
            weights[self._numbers[name]] = _unit(self.variables[name].num_states, state)
        return weights

    def belief(self, name: str, evidence: Evidence) -> Floats:
        """P(variable | evidence)."""
        number = self._numbers[name]
        with self._possible(evidence) as workspace:
            workspace.distribute([int(self.program.layout.readings[number, 0])])
            return workspace.marginals([number])[0]


@lru_cache(maxsize=4096)
def _unit(size: int, place: int) -> Floats:
    """One at a place, zeros elsewhere."""
    vector = np.zeros(size)
    vector[place] = 1.0
    vector.setflags(write=False)
    return vector


def _refuse_zero(log_total: float) -> None:
    if log_total == -math.inf:
        raise ImpossibleEvidence.outright()


def compile_factors(
    factors: Iterable[Factor],
    variables: Iterable[Variable],
    *,
    order: Sequence[str] | None = None,
    together: Iterable[Sequence[str]] = (),
    budget: Budget | None = None,
) -> CompiledFactors:
    """Compile the product of factors over `variables` and whatever else they mention.

    Parameters
    ----------
    factors
        Factors without negative entries.
    variables
        Those to be asked about; they come first.
    order
        A good elimination order, if one is known; a better one is taken if it is found. Names that are in no factor
        are passed over, and variables that it lacks go last.
    together
        Groups of variables that must share a clique, so that their joints can be read off.

    Raises
    ------
    TooLarge
        Where a run would cost more, before anything is allocated.

    Examples
    --------
    >>> coin = Factor({"coin": ["heads", "tails"]}, [0.5, 0.5])
    >>> call = Factor({"coin": ["heads", "tails"], "call": ["right", "wrong"]}, [[0.9, 0.1], [0.2, 0.8]])
    >>> compiled = compile_factors([coin, call], [*call.scope])
    >>> compiled.marginals(Evidence.read({"call": "wrong"}, compiled.variables))["coin"].values.round(4)
    array([0.1111, 0.8889])
    """
    listed = tuple(factors)
    named = {variable.name: variable for variable in variables}
    for factor in listed:
        named |= {variable.name: variable for variable in factor.scope if variable.name not in named}
    if not named:  # constants alone: a variable with one state carries them
        named = {" ": Variable(" ", 1)}
    numbers = {name: number for number, name in enumerate(named)}
    scopes = tuple(tuple(numbers[name] for name in factor.names) for factor in listed)
    sizes = tuple(variable.num_states for variable in named.values())
    held = tuple(tuple(numbers[name] for name in group) for group in together)
    orders: list[tuple[int, ...] | None] = [None]
    if order is not None:
        orders.append(tuple(dict.fromkeys((*(numbers[name] for name in order if name in numbers), *numbers.values()))))
    limit = read_budget(budget)
    programs: list[Program] = []
    for tried in orders:
        try:
            programs.append(compile_program(scopes, sizes, tried, held))
        except TreeTooLarge as error:
            refusal = too_large(error.entries, error.clique, error.clique_entries, list(named))
    if not programs:
        raise refusal
    program = min(programs, key=lambda program: program.num_entries)
    answer = max((math.prod(sizes[number] for number in group) for group in held), default=0)
    limit.check(program, list(named), answer)
    sources = np.concatenate([factor.flat for factor in listed]) if listed else np.empty(0)
    sources.setflags(write=False)
    info = QueryInfo("clique tree", cost=program.num_entries, largest_table=program.extent.table)
    return CompiledFactors(listed, named, program, sources, info, limit)
