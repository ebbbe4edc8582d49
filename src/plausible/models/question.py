"""One question to a model, read once: what is asked, what is known, which part of the model matters, which way to go.

A model tells its variables and, for some of them and the evidence, its parts: conditional distributions or factors. All
else is the same for every kind of model: evidence and targets are read, `do=` cuts the model, what does not matter is
left out, an engine is chosen, and errors say which findings contradict each other, or what can be done where an answer
would cost too much. What then answers is a `Way`: tables, hidden numbers, a tree laid out before, or a named engine.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from plausible.base import Floats, Remedy, Seed, check_seconds
from plausible.cpds import CPD
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, TooLarge, UnknownVariable
from plausible.factors import Factor
from plausible.factors.marginals import Marginals
from plausible.inference.budget import Budget, advised, read_budget
from plausible.inference.choice import chosen
from plausible.inference.exact_map.search import SearchProgress
from plausible.inference.findings import impossible_evidence
from plausible.inference.jeffrey import fit_beliefs
from plausible.inference.posterior import read_targets
from plausible.models.samples import Samples
from plausible.variables import Assignment, Evidence, EvidenceLike, State, Variable
from plausible.variables.evidence import findings_of, read_findings

if TYPE_CHECKING:
    pass


_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class Parts:
    """What a model tells of some variables: the product of all of these is its measure, the rest summed out."""

    cpds: Sequence[CPD] = ()  # lowered for the evidence at hand
    factors: Sequence[Factor] = ()  # as they are


class Model(Protocol):
    """What a question must know of a model; `Beliefs` has it all but for variables and parts."""

    @property
    def _is_normalized(self) -> bool:
        """Whether the measure is a distribution, so that no log Z has to be taken off."""

    @property
    def _place(self) -> str:
        """What errors call the model."""

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The variables that have no distribution and are always observed."""

    def _parts(self, names: Iterable[str], evidence: Evidence) -> Parts:
        """What P(names, evidence) needs; inputs that it depends on must be observed."""

    def _given(self, evidence: EvidenceLike | None, do: Mapping[str, State]) -> tuple[Model, EvidenceLike | None]:
        """The model that `do=` leaves, and the evidence for it."""

    def _requisite(self, question: Question) -> tuple[str, ...] | None:
        """The variables whose distributions an answer can depend on; None where that is not known."""

    def _exact_way(self, question: Question) -> Way:
        """Tables, or what integrates hidden numbers."""

    def _way_of(self, question: Question) -> Way:
        """The way of the question's engine, where one is named, else the exact way."""

    def _log_normalizer(self, context: Mapping[str, Any], engine: Any, budget: Budget | None) -> float:
        """log Z, for the states of the inputs in `context`; an error where everything is ruled out."""


@dataclass(frozen=True, slots=True)
class MapLimits:
    """What a search for a marginal MAP may cost, and whom it tells how it goes."""

    max_entries: int
    time_limit: float | None
    progress: Callable[[SearchProgress], None] | None = None

    @classmethod
    def of(
        cls,
        budget: Budget | None,
        max_entries: int,
        time_limit: float | None,
        progress: Callable[[SearchProgress], None] | None = None,
    ) -> MapLimits:
        """Those given, no wider than a budget where there is one."""
        check_seconds("time_limit", time_limit)
        if budget is None:
            return cls(max_entries, time_limit, progress)
        limit = read_budget(budget)
        seconds = limit.seconds if time_limit is None else min(time_limit, limit.seconds)
        return cls(min(max_entries, limit.table_entries), seconds, progress)


class Way(ABC):
    """How a question is answered. Sums are those of the question's parts: log Z is not taken off."""

    __slots__ = ("question",)

    def __init__(self, question: Question) -> None:
        self.question = question

    @abstractmethod
    def table(self) -> Factor:
        """P(targets | evidence)."""

    @abstractmethod
    def marginals(self) -> Marginals:
        """P(X | evidence) of each target."""

    @abstractmethod
    def belief(self, variable: Variable, evidence: Evidence) -> Floats:
        """P(variable | evidence), for other evidence than the question's."""

    @abstractmethod
    def log_total(self) -> float:
        """The logarithm of the sum over all that agrees with the evidence; -inf where nothing does."""

    @abstractmethod
    def best(self) -> Assignment:
        """A best assignment to all variables; its `log_probability` is that of the product."""

    @abstractmethod
    def best_targets(self, limits: MapLimits) -> Assignment:
        """The best states of the targets, the rest summed out."""

    @abstractmethod
    def samples(self, num_rows: int, seed: Seed) -> Samples:
        """Rows to draw from what the evidence leaves."""


@dataclass(frozen=True, slots=True)
class QuestionKind:
    """What differs between questions besides their answers."""

    #: What can be done where an answer costs too much; none where errors say it themselves.
    remedies: tuple[Remedy, ...] = ()
    #: What also helps, before that, where there are several targets.
    fewer: tuple[Remedy, ...] = ()
    #: Refuses what is no engine for it; takes the engine and the names of the variables.
    check: Callable[[Any, Mapping[str, Variable]], None] | None = None
    #: What "auto" stands for where the exact way costs too much.
    otherwise: Callable[[Question], Any] | None = None
    #: Whether the exact way is within the budget.
    fits: Callable[[Any], bool] | None = None
    #: Why beliefs can't be given as evidence, where they can't.
    refuses_beliefs: str = ""
    #: Whether targets may be continuous.
    takes_numbers: bool = False
    #: Whether it is always answered as if numbers were hidden.
    is_hybrid: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a model; made by `read`."""

    model: Model  # as `do=` leaves it
    kind: QuestionKind
    targets: tuple[Variable, ...]  # where none were named, all that are discrete
    has_targets: bool  # whether some were named
    findings: Mapping[str, Any]  # the evidence as given
    evidence: Evidence  # the same, read
    beliefs: Mapping[str, Floats]  # those to establish, by `jeffrey(...)`: a way sees them as likelihoods
    parts: Parts  # what matters to targets and evidence
    engine: Any  # a named engine, or None for the exact way
    budget: Budget | None

    @classmethod
    def read(
        cls,
        model: Model,
        kind: QuestionKind,
        targets: str | Iterable[str] | None = None,
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        engine: Any = None,
        budget: Budget | None = None,
    ) -> Self:
        """Read what is asked: names and findings are checked, the model is cut, an engine is chosen."""
        if do is not None:
            model, evidence = model._given(evidence, do)
        variables, findings = model.variables, findings_of(evidence)
        if targets is None:
            every = variables.values()
            wanted = tuple(every) if kind.takes_numbers else tuple([v for v in every if not v.is_continuous])
        else:
            wanted = tuple((read_any_targets if kind.takes_numbers else read_targets)(targets, variables, model._place))
        found, beliefs = read_findings(findings, variables, model._place)
        if kind.refuses_beliefs and beliefs:
            raise NotSupported(kind.refuses_beliefs)
        names = chain(found.names, beliefs, map(attrgetter("name"), wanted))  # compiled models need not look at them
        parts = model._parts(names, found)
        question = cls(model, kind, wanted, targets is not None, findings, found, beliefs, parts, None, budget)
        return question if engine is None else question._by(engine)

    def _by(self, engine: Any) -> Self:
        """The question to an engine that is named, or that "auto" chooses."""
        exact, is_hybrid = self.model._exact_way(self), self.has_hidden_numbers
        named = chosen(
            engine,
            self.budget,
            lambda: is_hybrid or (self.kind.fits is not None and self.kind.fits(exact)),
            lambda: None if self.kind.otherwise is None else self.kind.otherwise(self),
        )
        if named is not None and self.kind.check is not None:
            self.kind.check(named, self.model.variables)
            if is_hybrid:
                raise NotSupported(
                    "Named engines work on tables, but this question involves numbers that are not observed."
                )
        return replace(self, engine=named)

    @property
    def certain(self) -> Evidence:
        """The evidence on discrete variables: numbers are built into the factors."""
        return replace(self.evidence, values={}) if self.evidence.values else self.evidence

    @property
    def free(self) -> list[Variable]:
        """The targets that are not observed."""
        return [variable for variable in self.targets if variable.name not in self.evidence.hard]

    @property
    def states(self) -> list[Variable]:
        """The targets that are discrete."""
        return [variable for variable in self.targets if not variable.is_continuous]

    @property
    def context(self) -> dict[str, Any]:
        """The findings on inputs, which belong to every question."""
        return {name: self.findings[name] for name in self.model.inputs if name in self.findings}

    @property
    def has_hidden_numbers(self) -> bool:
        """Whether what matters involves continuous variables that are not observed."""
        return self.kind.is_hybrid or has_hidden_numbers(self.parts.cpds, self.evidence)

    def answer(self, ask: Callable[[Any], _Answer]) -> _Answer:
        """What the way answers; an error says what contradicts what, or what can be done where it costs too much."""
        try:
            return ask(self.way)
        except (TooLarge, ImpossibleEvidence) as error:
            raise self._helpful(error) from None

    def explained(self, ask: Callable[[], _Answer]) -> _Answer:
        """What is worked out from the question's parts, with the same errors."""
        try:
            return ask()
        except (TooLarge, ImpossibleEvidence) as error:
            raise self._helpful(error) from None

    def _helpful(self, error: TooLarge | ImpossibleEvidence) -> Exception:
        """The error with remedies that fit the question, or with the findings that contradict each other."""
        if isinstance(error, ImpossibleEvidence):
            return self.contradiction() or error
        kind = self.kind
        return advised(error, (*kind.fewer, *kind.remedies) if len(self.targets) > 1 else kind.remedies)

    @property
    def way(self) -> Way:
        """The way to the answer, wanted beliefs turned into likelihoods before anything else sees them."""
        way = self.model._way_of(self)
        if not self.beliefs or getattr(self.engine, "is_noisy", False):
            return way
        variables = self.model.variables
        settled = fit_beliefs(
            self.evidence, self.beliefs, variables, lambda name, found: way.belief(variables[name], found)
        )
        return self.model._way_of(replace(self, evidence=settled, beliefs={}))

    def contradiction(self) -> ImpossibleEvidence | None:
        """The error that names the findings that contradict each other; None where that can't be told."""
        context = self.context
        if not self.model._is_normalized:
            with suppress(TooLarge):
                self.model._log_normalizer(context, None, None)  # nothing may be possible at all
        left_out = {*context, *self.beliefs}
        rest = {name: finding for name, finding in self.findings.items() if name not in left_out}

        def is_possible(some: Mapping[str, Any]) -> bool:
            asked = Question.read(self.model, _POSSIBILITY, (), {**context, **some})
            return asked.model._way_of(asked).log_total() > -math.inf

        try:
            return impossible_evidence(rest, is_possible)
        except (NotSupported, TooLarge):  # fewer findings can make the question too hard
            return None


_POSSIBILITY = QuestionKind()


def contradiction_of(model: Model, findings: Mapping[str, Any]) -> ImpossibleEvidence | None:
    """The error that names which of some impossible findings contradict each other; None where that can't be told."""
    return Question.read(model, _POSSIBILITY, (), findings).contradiction()


def has_hidden_numbers(cpds: Iterable[CPD], evidence: Evidence) -> bool:
    """Whether some distributions involve continuous variables that are not observed."""
    return any(v.is_continuous and v.name not in evidence.values for cpd in cpds for v in cpd.scope)


def read_any_targets(targets: str | Iterable[str], variables: Mapping[str, Variable], place: str) -> list[Variable]:
    """One name or several as variables of either kind; a repeated name is an error."""
    return [variables[name] for name in read_names(targets, variables, place)]


def read_names(names: str | Iterable[str], known: Collection[str], place: str) -> list[str]:
    """One name or several of those that are known, none of them twice."""
    listed: list[str] = []
    for name in names if isinstance(names, Iterable) and not isinstance(names, str) else [names]:
        if not isinstance(name, str):
            raise InvalidArgument(f"A target is the name of a variable, not {name!r}.")
        UnknownVariable.check(name, known, place)
        if name in listed:
            raise InvalidArgument(f"{name!r} stands twice among the targets.")
        listed.append(name)
    return listed


def refuse_numbers_alone(variables: Mapping[str, Variable], question: str, instead: str) -> None:
    """Refuse a question about states where all variables are continuous, and say what to ask instead."""
    if variables and all(variable.is_continuous for variable in variables.values()):
        raise NotSupported(f"All variables here are continuous, and `{question}` is about states: {instead}")
