"""Questions to a model: `plausible query`, `marginals`, `moments`, `mpe`, `map` and `explain`, and what they share."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Annotated, Any

import typer

from plausible.cli.commands import command
from plausible.cli.engines import ENGINES, EngineOption, engine_argument, info_document, print_best, print_quality
from plausible.cli.evidence import SYNTAX, Do, EvidenceTexts, asked
from plausible.cli.output import AsJson, factor_document, print_answer, print_json, print_line
from plausible.cli.quoting import names_in
from plausible.cli.source import ModelSource, read_network
from plausible.errors import InvalidArgument, NotSupported
from plausible.factors import Factor, MomentGaussian
from plausible.inference.budget import Budget
from plausible.io import Network
from plausible.models import BayesianNetwork

TargetNames = Annotated[
    list[str] | None,
    typer.Argument(metavar="TARGETS", help="The variables asked about, separated by commas.", show_default=False),
]
TargetOption = Annotated[
    list[str] | None,
    typer.Option("--targets", "-t", metavar="NAMES", help="The same as an option.", show_default=False),
]


def read_targets(
    argument: Sequence[str] | None, option: Sequence[str] | None, known: Container[str], *, needed: bool = True
) -> list[str]:
    """The names of both, of which at least one must be given unless none is needed; findings are refused."""
    names = names_in([*(argument or ()), *(option or ())])
    for name in names:
        if "=" in name and name not in known:
            raise InvalidArgument(f"{name!r} is a finding, not a variable to ask about: write --evidence {name}.")
    if needed and not names:
        raise InvalidArgument("Name the variables to ask about, as in: lung,bronc.")
    return names


Seconds = Annotated[
    float | None,
    typer.Option("--budget-seconds", metavar="SECONDS", help="Refuse what may take longer.", show_default=False),
]
Memory = Annotated[
    float | None,
    typer.Option("--budget-memory", metavar="GIB", help="Refuse what needs more memory, in GiB.", show_default=False),
]
_LIMITS = ("budget_seconds", "budget_memory")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a model, names and states checked."""

    model: Network  # As read
    targets: list[str]  # The names of the variables asked about; none where a command may do without
    #: The arguments of the model's methods: `evidence=` and, where they were given, `do=`, `budget=` and `engine=`.
    given: dict[str, Any]
    as_json: bool  # Whether the answer is printed as a JSON document

    @property
    def has_engine(self) -> bool:
        """Whether an engine was named, so that the answer should say what it is worth."""
        return "engine" in self.given


def question_command(
    answer: Callable[[Question], None],
    *,
    examples: Sequence[str],
    notes: Sequence[str],
    needs_targets: bool = True,
    has_budget: bool = False,
    has_engine: bool = False,
) -> Callable[..., None]:
    """The command that reads a question from its arguments and has it answered; its help is that of `answer`."""

    def run(
        model: ModelSource,
        targets: TargetNames = None,
        target_option: TargetOption = None,
        evidence: EvidenceTexts = None,
        do: Do = None,
        budget_seconds: Seconds = None,
        budget_memory: Memory = None,
        engine: EngineOption = None,
        as_json: AsJson = False,
    ) -> None:
        found = read_network(model)
        names = read_targets(targets, target_option, found.variables, needed=needs_targets)
        limits = _limits(budget_seconds, budget_memory)
        given = {**asked(evidence, do, found), **limits, **engine_argument(engine)}
        answer(Question(found, names, given, as_json))

    run.__doc__ = answer.__doc__
    lacking = {*(() if has_budget else _LIMITS), *(() if has_engine else ("engine",))}
    if lacking:
        known = signature(run, eval_str=True)
        fewer = [parameter for name, parameter in known.parameters.items() if name not in lacking]
        run.__signature__ = known.replace(parameters=fewer)  # type: ignore[attr-defined]
    return command(examples=examples, notes=notes)(run)


def _limits(seconds: float | None, memory: float | None) -> dict[str, Budget]:
    """The argument `budget=` with the limits that were given; nothing where none was."""
    limits: dict[str, Any] = {} if seconds is None else {"seconds": seconds}
    if memory is not None:
        limits["bytes"] = memory * 2**30
    return {"budget": Budget(**limits)} if limits else {}


def _answer(question: Question) -> None:
    """Print P(targets | evidence, do) as a table."""
    answer = question.model.query(question.targets, **question.given)
    if question.as_json:
        told = {"info": info_document(answer.info)} if question.has_engine else {}
        print_json({**factor_document(answer), **told})
        return
    print_line(str(answer))
    if question.has_engine:
        print_quality(answer.info)


run_query = question_command(
    _answer,
    examples=(
        "plausible query asia lung,bronc --evidence xray=yes,smoke=no",
        "plausible query asia lung --evidence xray=yes --engine loopy-bp:damping=0.3",
        "plausible query asia lung -e 'xray=yes,dysp~0.8|0.3' --do smoke=no --json",
    ),
    notes=(SYNTAX, ENGINES),
    has_budget=True,
    has_engine=True,
)


def _answer_of_marginals(question: Question) -> None:
    """Print the distribution of each variable by itself.

    That is P(X | evidence, do) of every variable X, or of each target; mean and variance where X is continuous.
    """
    beliefs = _beliefs(question)
    if question.as_json:
        print_json({name: _document(belief, question.has_engine) for name, belief in beliefs.items()})
        return
    width = max(map(len, beliefs), default=0)
    for name, belief in beliefs.items():
        print_line(f"{name.ljust(width)}  {_text(belief)}")
    worst = max(beliefs.values(), key=_doubt, default=None)
    if question.has_engine and isinstance(worst, Factor):
        print_quality(worst.info)


def _doubt(belief: Factor | MomentGaussian) -> float:
    """How much may be wrong with an answer."""
    if not isinstance(belief, Factor):
        return -1.0
    return math.inf if belief.info.error is None else belief.info.error


def _beliefs(question: Question) -> dict[str, Factor | MomentGaussian]:
    """Name -> distribution or moments, in the order of the targets or of the model."""
    model, names = question.model, question.targets or list(question.model.variables)
    is_number = {name: variable.is_continuous for name, variable in model.variables.items()}
    discrete = [name for name in names if not is_number.get(name)]
    found: dict[str, Any] = {}
    if discrete:
        found |= model.marginals(targets=discrete if question.targets else None, **question.given)
    if len(discrete) < len(names):
        assert isinstance(model, BayesianNetwork)  # no other model has continuous variables
        exact = {name: value for name, value in question.given.items() if name != "engine"}
        found |= model.continuous_marginals(**exact)
    return {name: found[name] for name in names}


def _document(belief: Factor | MomentGaussian, has_engine: bool = False) -> dict[str, Any]:
    if isinstance(belief, Factor):
        return {**factor_document(belief), **({"info": info_document(belief.info)} if has_engine else {})}
    return {"mean": float(belief.mean[0]), "variance": float(belief.covariance[0, 0])}


def _text(belief: Factor | MomentGaussian) -> str:
    if isinstance(belief, Factor):
        return "  ".join(f"{state}={number:.4f}" for state, number in belief.to_dict().items())
    return "  ".join(f"{label}={number:.6g}" for label, number in _document(belief).items())


run_marginals = question_command(
    _answer_of_marginals,
    examples=(
        "plausible marginals asia --evidence xray=yes",
        "plausible marginals asia --targets lung,bronc --evidence xray=yes",
    ),
    notes=(SYNTAX, ENGINES),
    needs_targets=False,
    has_budget=True,
    has_engine=True,
)


def _answer_of_moments(question: Question) -> None:
    """Print means and covariances of continuous variables.

    Both are exact, given the evidence. Where discrete variables matter that are not observed, the distribution is a
    mixture that has these moments.
    """
    if not isinstance(question.model, BayesianNetwork):
        raise NotSupported("Moments are those of continuous variables, and a Markov network has none: see query.")
    answer = question.model.moments(question.targets, **question.given)
    if question.as_json:
        numbers = {"mean": answer.mean.tolist(), "covariance": answer.covariance.tolist()}
        print_json({"variables": list(answer.names), **numbers})
    else:
        print_line(str(answer))


run_moments = question_command(
    _answer_of_moments,
    examples=(
        "plausible moments gaussian-chain X1 --evidence X3=2.5",
        "plausible moments gaussian-chain --targets X1,X3 --do X2=-1 --json",
    ),
    notes=(SYNTAX,),
    has_budget=True,
)


@command(examples=("plausible mpe asia --evidence xray=yes,dysp=yes",), notes=(SYNTAX, ENGINES))
def run_mpe(
    model: ModelSource,
    evidence: EvidenceTexts = None,
    do: Do = None,
    engine: EngineOption = None,
    as_json: AsJson = False,
) -> None:
    """Print a most probable assignment to all variables.

    The (natural) log-probability printed with it is that of the assignment and the evidence together.
    """
    found = read_network(model)
    best = found.mpe(**asked(evidence, do, found), **engine_argument(engine))
    print_best(best, as_json=as_json, has_engine=engine is not None)


def _answer_of_map(question: Question) -> None:
    """Print the most probable states of some variables together.

    All others are summed out (marginal MAP). The (natural) log-probability printed is that of these states and the
    evidence together.
    """
    best = question.model.map(question.targets, **question.given)
    print_best(best, as_json=question.as_json, has_engine=question.has_engine)


run_map = question_command(
    _answer_of_map,
    examples=("plausible map asia --targets lung,bronc --evidence dysp=yes",),
    notes=(SYNTAX, ENGINES),
    has_engine=True,
)


def _answer_of_explain(question: Question) -> None:
    """Print what exact inference will cost, before it is done.

    The plan tells width, table entries, memory, a rough time and the largest clique. Without targets the plan is that
    of the posteriors of all variables.
    """
    plan = question.model.explain(question.targets or None, **question.given)
    print_answer(str(plan), plan.to_record(), as_json=question.as_json)


run_explain = question_command(
    _answer_of_explain,
    examples=(
        "plausible explain alarm",
        "plausible explain alarm HYPOVOLEMIA --evidence CVP=HIGH,BP=LOW --budget-memory 0.5",
    ),
    notes=(SYNTAX,),
    needs_targets=False,
    has_budget=True,
)
