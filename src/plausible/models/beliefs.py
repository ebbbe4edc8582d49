"""What can be asked of every model about beliefs: posteriors, totals, expectations, and what they cost."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from plausible.base import Argument, Call, Remedy, keyword_hints
from plausible.errors import ImpossibleEvidence, InvalidArgument, InvalidModel, NotSupported
from plausible.factors import Factor
from plausible.factors.alignment import MAX_ENTRIES, check_size
from plausible.inference import Plan, prune, sum_product
from plausible.inference.budget import (
    ADD_EVIDENCE,
    APPROXIMATE,
    LESS_MEMORY,
    RAISE_BUDGET,
    Budget,
    advising,
    read_budget,
)
from plausible.inference.choice import EngineChoice
from plausible.inference.engines import check_engine
from plausible.inference.estimates import as_estimate, difference, is_surely_zero
from plausible.inference.posterior import components, read_targets
from plausible.inference.within_budget import BeliefsWithin
from plausible.models.compiled_engines import ExactEngine, HybridEngine
from plausible.models.numbers import Numbers
from plausible.models.question import Model, Parts, Question, QuestionKind, Way, read_any_targets, refuse_numbers_alone
from plausible.models.uncertainty import HasPosterior, ParameterUncertainty
from plausible.models.ways import Named, Tables, compile_parts
from plausible.variables import Evidence, EvidenceLike, State, Variable
from plausible.variables.evidence import settings_of

NOTHING = Evidence({}, {}, {})


_CHEAPER = (RAISE_BUDGET, LESS_MEMORY, APPROXIMATE)
_QUERY = QuestionKind(
    remedies=(ADD_EVIDENCE, *_CHEAPER),
    fewer=(Remedy("ask for fewer variables at a time"),),
    check=check_engine,
    otherwise=lambda question: BeliefsWithin(read_budget(question.budget)),
    fits=Tables.fits,
)
_MARGINALS = QuestionKind(
    remedies=(Remedy("ask for fewer variables (", Argument("targets"), ")"), ADD_EVIDENCE, *_CHEAPER),
    check=check_engine,
    otherwise=lambda question: BeliefsWithin(read_budget(question.budget)),
    fits=Tables.fits_each,
)
_TOTAL = QuestionKind(
    remedies=_CHEAPER,
    check=check_engine,
    otherwise=lambda question: BeliefsWithin(read_budget(question.budget)),
    fits=Tables.fits,
    refuses_beliefs="jeffrey evidence has no probability: it replaces a belief. See likelihood(...).",
)
_EXPECTATION = QuestionKind(remedies=(RAISE_BUDGET, Remedy("ask for fewer terms at a time")))
_PLAN = QuestionKind(takes_numbers=True)
#: What can be done where a clique tree for any evidence costs too much.
_COMPILE_REMEDIES = (
    Remedy("keep to fewer variables (", Argument("targets"), ")"),
    RAISE_BUDGET,
    Remedy("ask query(...) with the evidence, which may cost less"),
    Remedy("approximate: ", Call("query", Argument("engine", "auto"))),
)


class Beliefs(ABC):
    """Questions about beliefs. A kind of model tells `variables` and `_parts`, and is asked all of them.

    What else it may tell: `inputs`, whether its measure `_is_normalized`, what `do=` leaves of it (`_given`), and what
    families its expected counts are of (`Answers._families`).
    """

    __slots__ = ()

    _is_normalized = False
    _place = "this network"

    @property
    @abstractmethod
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable, in the order given."""

    @abstractmethod
    def _parts(self, names: Iterable[str], evidence: Evidence) -> Parts:
        """The parts whose product, the rest summed out, is the measure of the named variables given the evidence."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the variables that have no distribution."""
        return ()

    def _given(self, evidence: EvidenceLike | None, do: Mapping[str, State]) -> tuple[Model, EvidenceLike | None]:
        """The model that an intervention leaves, and the evidence for it."""
        raise NotSupported("Only a Bayesian network says what an intervention changes: leave out do=.")

    def _requisite(self, question: Question) -> tuple[str, ...] | None:
        """The variables whose distributions an answer can depend on; None where that is not known."""
        return None

    def _exact_way(self, question: Question) -> Tables | Numbers:
        return Numbers(question) if question.has_hidden_numbers else Tables(question)

    def _way_of(self, question: Question) -> Way:
        return Named(question) if question.engine is not None else self._exact_way(question)

    def _log_normalizer(self, context: Mapping[str, Any], engine: Any, budget: Budget | None) -> float:
        return self.log_partition(context, engine=engine, budget=budget)

    def _refuse_inputs(self, other: str) -> None:
        if self.inputs:
            raise InvalidModel(
                f"{self.inputs[0]!r} is an input without a distribution: P(rest | inputs) is not {other}. "
                "Give the inputs CPDs first: with_cpd(...)."
            )

    @keyword_hints
    def query(
        self,
        targets: str | Iterable[str],
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        engine: EngineChoice = None,
        budget: Budget | None = None,
        uncertainty: ParameterUncertainty | HasPosterior | None = None,
    ) -> Factor:
        """Compute P(targets | evidence, do), using only the part of the model that matters.

        Parameters
        ----------
        targets
            The name of one variable or of several; the axes of the answer are in the same order.
        evidence
            Name -> a state, a collection of states, `likelihood(...)` or `jeffrey(...)`. What is observed of a target
            counts like all else, so that its state is then certain.
        do
            Name -> the state to set by intervention, in a Bayesian network; see `intervene`.
        engine
            How to compute the answer, such as `VariableElimination(order=[...])` or `LoopyBP()`; by default the
            cheapest exact way. "auto" is exact if that is within the budget, else messages and draws are
            compared, so that `.info.error` tells an error; `.info` says which.
        uncertainty
            How uncertain the parameters of a Bayesian network are, such as a `ParameterPosterior` or a `ParameterFit`.
            `.info.standard_deviations` then has the standard deviation of each number in the answer, by the delta
            method, and `.info.error` the largest. This takes two calibrations for each number. It is refused if the
            answer depends on estimated distributions that are not tables.

        Returns
        -------
        Factor
            Normalised; its `.info` says how it was computed and what it cost.
        """
        question = Question.read(self, _QUERY, targets, evidence, do, engine, budget)
        answer: Factor = question.answer(lambda way: way.table())
        return answer if uncertainty is None else self._with_error_bars(answer, evidence, do, uncertainty)

    def _with_error_bars(
        self,
        answer: Factor,
        evidence: EvidenceLike | None,
        do: Mapping[str, State] | None,
        uncertainty: ParameterUncertainty | HasPosterior,
    ) -> Factor:
        raise NotSupported("Error bars are those of the tables of a Bayesian network: leave out uncertainty=.")

    @keyword_hints
    def marginals(
        self,
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        targets: str | Iterable[str] | None = None,
        engine: EngineChoice = None,
        budget: Budget | None = None,
    ) -> dict[str, Factor]:
        """Compute P(X | evidence, do) for every discrete variable X, or for some, in one calibration of a clique tree.

        For continuous variables see `continuous_marginals`.

        Parameters
        ----------
        targets
            The variables to report; by default all. Whatever does not affect them is left out, which may save a lot of
            work.
        engine
            How to compute the answers, such as `LoopyBP()`; by default the cheapest exact way. "auto" is exact if that
            is within the budget, else messages and draws are compared, so that `.info.error` tells an error.
        """
        refuse_numbers_alone(self.variables, "marginals", "continuous_marginals gives the mean and variance of each.")
        question = Question.read(self, _MARGINALS, targets, evidence, do, engine, budget)
        return question.answer(lambda way: way.marginals())

    def log_probability(
        self,
        evidence: EvidenceLike,
        do: Mapping[str, State] | None = None,
        *,
        engine: EngineChoice = None,
        budget: Budget | None = None,
    ) -> float:
        """Compute log P(evidence), or -inf if it is impossible. With an `engine` it is an `Estimate`.

        The logarithm is natural. In a Bayesian network in which all ancestors of the findings are observed too, as in a
        complete assignment, this is just a sum of table look-ups; in a Markov network it is log Z(e) - log Z. If
        findings are numbers of continuous variables, it is a log-density. Where exact tables exceed the budget, "auto"
        gives an estimate between certain bounds, `.lower` and `.upper`.

        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(TableCPD("coin", [0.5, 0.5]))
        >>> round(math.exp(net.log_probability({"coin": 1})), 12)
        0.5
        """
        try:
            question = Question.read(self, _TOTAL, (), evidence, do, engine, budget)
        except ImpossibleEvidence:  # against the intervention
            return -math.inf if engine is None else as_estimate(-math.inf)
        total: float = question.answer(lambda way: way.log_total())
        if not self._is_normalized:
            total = difference(total, self._log_normalizer(question.context, engine, budget))
        return total if engine is None else as_estimate(total)

    def log_partition(
        self, evidence: EvidenceLike | None = None, *, engine: EngineChoice = None, budget: Budget | None = None
    ) -> float:
        """Compute log Z(e): the natural logarithm of the total over all assignments that agree with the evidence.

        Without evidence, but for that on inputs, it must be finite: a model in which no assignment has positive measure
        is no distribution. With an `engine` it is an `Estimate`, a float with bounds or an interval. Of a Bayesian
        network this is log P(e).
        """
        question = Question.read(self, _TOTAL, (), evidence, None, engine, budget)
        total: float = question.answer(lambda way: way.log_total())
        if is_surely_zero(total) and len(question.findings) == len(question.context):
            raise InvalidModel(
                "The partition function is zero: the factors rule out every assignment, so there is no distribution."
            )
        return total if engine is None else as_estimate(total)

    def expectation(
        self,
        terms: Factor | Iterable[Factor],
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        budget: Budget | None = None,
    ) -> float:
        """Compute E[Σ f(X) | evidence, do], where each f is a factor with any numbers: rewards, costs, indicators.

        One pass in the expectation semiring answers for all terms.

        >>> from plausible import BayesianNetwork, Factor, TableCPD
        >>> net = BayesianNetwork(TableCPD("A", [0.6, 0.4]), TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"]))
        >>> gains = [Factor([net.variables["A"]], [0, 10]), Factor([net.variables["B"]], [-1, 1])]
        >>> round(net.expectation(gains), 6)
        4.0
        """
        listed = [terms] if isinstance(terms, Factor) else list(terms)
        if not all(isinstance(term, Factor) for term in listed):
            raise InvalidArgument(
                'The terms of an expectation are factors, such as Factor([net.variables["X"]], [0, 1]).'
            )
        for variable in (variable for term in listed for variable in term.scope):
            if self.variables.get(variable.name) != variable:
                raise InvalidArgument(f"A term mentions {variable!r}, which is not a variable of {self._place}.")
        names = dict.fromkeys(name for term in listed for name in term.names)
        question = Question.read(self, _EXPECTATION, names.keys(), evidence, do, budget=budget)
        answer: float = question.answer(lambda way: way.expectation(listed))
        return answer

    def explain(
        self,
        targets: str | Iterable[str] | None = None,
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        budget: Budget | None = None,
    ) -> Plan:
        """Show how `query(targets, evidence, do)` would be answered and what it would cost, without answering it.

        Without targets, this is the plan of `compile()`: for all variables and any evidence. With targets, the plan of
        a Bayesian network also lists the distributions that the answer can depend on (`requisite`, by Bayes-ball;
        otherwise `None`).

        >>> from plausible import examples
        >>> plan = examples.load("alarm").explain("HYPOVOLEMIA", evidence={"CVP": "HIGH", "BP": "LOW"})
        >>> plan.num_variables < 37, plan.fits
        (True, True)
        """
        question = Question.read(self, _PLAN, targets, evidence, do, budget=budget)
        way = self._exact_way(question)
        if targets is None:
            return way.plan()
        if not question.has_hidden_numbers:
            read_targets([variable.name for variable in question.targets], self.variables, self._place)
        settings, needed = settings_of(do), question.model._requisite(question)
        requisite = None if needed is None else tuple(name for name in needed if name not in settings)
        return replace(way.plan(), requisite=requisite)

    @advising(_COMPILE_REMEDIES)
    def compile(
        self, targets: str | Iterable[str] | None = None, *, budget: Budget | None = None
    ) -> ExactEngine | HybridEngine:
        """Build a clique tree once, to answer many questions or to predict for a table of evidence.

        If there are continuous variables, this is a `HybridEngine`, which has the same methods and some more for
        numbers.

        Parameters
        ----------
        targets
            The variables that questions and evidence will be about; by default all. Whatever does not affect them is
            left out.
        budget
            The most that one run, or one row if there are continuous variables, may cost; by default `Budget()`.

        Examples
        --------
        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(TableCPD("A", [0.6, 0.4]), TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"]))
        >>> print(net.compile().explain())
        clique tree: 2 factors over 2 variables
        1 clique, width 1, 4 entries, 0.0 MiB, about 4e-06 s
        largest clique: (A, B), 4 entries, separator ()
        elimination order: A, B
        >>> list(net.compile(targets="A").variables)
        ['A']
        """
        self._refuse_inputs("a clique tree")
        place = "this compiled model"
        if targets is None:
            parts = self._parts(self.variables, NOTHING)
        else:
            parts = self._parts_about(read_any_targets(targets, self.variables, self._place), budget)
            place += ", which compile(targets=...) has cut down"
        if any(cpd.variable.is_continuous for cpd in parts.cpds):
            cpds = {cpd.variable.name: cpd for cpd in parts.cpds}
            return HybridEngine(cpds, {name: cpd.variable for name, cpd in cpds.items()}, place, read_budget(budget))
        tree = compile_parts(parts, self.variables, {}, budget)
        log_normalizer = 0.0
        if not self._is_normalized:
            log_normalizer = tree.sums.log_total(NOTHING)
            if log_normalizer == -math.inf:
                self.log_partition()  # the error that says so
        return ExactEngine(tree.variables, tree.sums, tree.maxima, log_normalizer, tree.families, place)

    def _parts_about(self, targets: Sequence[Variable], budget: Budget | None) -> Parts:
        """What affects the targets: of factors, those that can't be summed out at once and hang together with them."""
        parts = self._parts([variable.name for variable in targets], NOTHING)
        if self._is_normalized or parts.cpds:
            return parts
        pruned = prune(parts.factors, targets, NOTHING).factors
        groups = [group for group in components(pruned) if any(v in f.scope for f in group for v in targets)]
        kept = [factor for group in groups for factor in group]
        if len(kept) < len(pruned):
            self.log_partition(budget=budget)  # what is left out may still rule everything out
        return Parts(factors=kept)

    def joint(self, max_entries: int = MAX_ENTRIES) -> Factor:
        """Compute the full joint distribution as one table; refused if it would have more than `max_entries`."""
        check_size(tuple(self.variables.values()), "The joint distribution", max_entries)
        parts = self._parts(self.variables, NOTHING)
        factors = (*(cpd.to_factor() for cpd in parts.cpds), *parts.factors)
        result = sum_product(factors, list(self.variables), max_entries=max_entries)
        if result.is_zero:
            self.log_partition()  # the error that says so
        return result.factor.normalize()
