"""Questions to a model: `query`, `marginals`, `moments`, `mpe`, `map`, `explain`, `sample`, `counterfactual`."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from dataclasses import asdict, dataclass
from inspect import signature
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import numpy as np

from plausible.base import QueryInfo
from plausible.causal.counterfactuals.query import counterfactual
from plausible.causal.functional.model import Coupling, functional_model
from plausible.cli import options
from plausible.cli.commands import command
from plausible.cli.evidence import (
    ENGINES,
    SYNTAX,
    asked,
    engine_argument,
    names_in,
    read_findings,
    read_interventions,
    told_quality,
)
from plausible.cli.options import AsJson, Do, EvidenceTexts, ModelSource, TargetNames, TargetOption, option
from plausible.cli.output import factor_document, is_standard, picked, print_answer, print_json, print_line
from plausible.cli.relations import ModelOnTables
from plausible.cli.source import read_bayesian, read_network
from plausible.cli.tables import check_ending, new_table
from plausible.cli.terminal import progress_bar
from plausible.errors import InvalidArgument, NotSupported, counted
from plausible.factors import Factor, MomentGaussian
from plausible.inference.budget import Budget
from plausible.io import Network
from plausible.models import BayesianNetwork
from plausible.models.answers import sampled
from plausible.models.samples import Samples
from plausible.variables import Assignment


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


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a model, names and states checked."""

    model: Network
    targets: list[str]  # the names of the variables asked about; none where a command may do without
    #: The arguments of the model's methods: `evidence=` and, where they were given, `do=`, `budget=` and `engine=`.
    given: dict[str, Any]
    as_json: bool

    def print(self, text: str, document: dict[str, Any], info: QueryInfo | None = None, number: Any = None) -> None:
        """Print the answer and, where an engine was named, what it is worth."""
        if info is not None and "engine" in self.given:
            text, document = f"{text}\n{told_quality(info, number)}", {**document, "info": asdict(info)}
        print_answer(text, document, as_json=self.as_json)


def question_command(
    *examples: str,
    notes: Sequence[str] = (SYNTAX, ENGINES),
    needs_targets: bool = True,
    without: Sequence[str] = (),
    of_tables: bool = False,
) -> Callable[[Callable[[Question], None]], Callable[..., None]]:
    """The command that reads a question from its arguments and has it answered; some have no use for some options."""

    def of(answer: Callable[[Question], None]) -> Callable[..., None]:
        def run(
            model: options.ModelSource,
            targets: options.TargetNames = None,
            target_option: options.TargetOption = None,
            evidence: options.EvidenceTexts = None,
            do: options.Do = None,
            budget_seconds: options.Seconds = None,
            budget_memory: options.Memory = None,
            engine: options.EngineOption = None,
            schema: options.SchemaFile = None,
            as_json: options.AsJson = False,
        ) -> None:
            found: Any = read_network(model) if schema is None else ModelOnTables(model, schema)
            names = read_targets(targets, target_option, found.variables, needed=needs_targets)
            limits: dict[str, Any] = {} if budget_seconds is None else {"seconds": budget_seconds}
            limits |= {} if budget_memory is None else {"bytes": budget_memory * 2**30}
            budget = {"budget": Budget(**limits)} if limits else {}
            answer(Question(found, names, {**asked(evidence, do, found), **budget, **engine_argument(engine)}, as_json))

        run.__doc__ = answer.__doc__
        whole = signature(run, eval_str=True)
        left_out = without if of_tables else (*without, "schema")
        kept = [parameter for name, parameter in whole.parameters.items() if name not in left_out]
        run.__signature__ = whole.replace(parameters=kept)  # type: ignore[attr-defined]
        return command(examples=examples, notes=notes)(run)

    return of


_NO_BUDGET = ("budget_seconds", "budget_memory")


@question_command(
    "plausible query asia lung,bronc --evidence xray=yes,smoke=no",
    "plausible query asia lung --evidence xray=yes --engine loopy-bp:damping=0.3",
    "plausible query asia lung -e 'xray=yes,dysp~0.8|0.3' --do smoke=no --json",
    "plausible query university.json 'student[anna].wits' --schema schema.toml -e 'registration[5].grade=A'",
    of_tables=True,
)
def run_query(question: Question) -> None:
    """Print P(targets | evidence, do) as a table.

    A relational model is asked about objects of the tables of a --schema, such as 'student[anna].wits', given what the
    tables tell.
    """
    answer = question.model.query(question.targets, **question.given)
    question.print(str(answer), factor_document(answer), answer.info)


@question_command(
    "plausible marginals asia --evidence xray=yes",
    "plausible marginals asia --targets lung,bronc --evidence xray=yes",
    needs_targets=False,
)
def run_marginals(question: Question) -> None:
    """Print the distribution of each variable by itself.

    That is P(X | evidence, do) of every variable X, or of each target; mean and variance where X is continuous.
    """
    model, names = question.model, question.targets or list(question.model.variables)
    is_number = {name: variable.is_continuous for name, variable in model.variables.items()}
    discrete = [name for name in names if not is_number.get(name)]
    found: dict[str, Factor | MomentGaussian] = {}
    if discrete:
        found |= model.marginals(targets=discrete if question.targets else None, **question.given)
    if len(discrete) < len(names):
        assert isinstance(model, BayesianNetwork)  # no other model has continuous variables
        found |= model.continuous_marginals(**{key: one for key, one in question.given.items() if key != "engine"})
    documents, lines, infos = {}, [], []
    width = max(map(len, names), default=0)
    for name in dict.fromkeys(names):
        belief = found[name]
        if isinstance(belief, Factor):
            told = {"info": asdict(belief.info)} if "engine" in question.given else {}
            documents[name] = {**factor_document(belief), **told}
            numbers = "  ".join(f"{state}={number:.4f}" for state, number in belief.to_dict().items())
            infos.append(belief.info)
        else:
            documents[name] = {"mean": float(belief.mean[0]), "variance": float(belief.covariance[0, 0])}
            numbers = "  ".join(f"{label}={number:.6g}" for label, number in documents[name].items())
        lines.append(f"{name.ljust(width)}  {numbers}")
    if infos and "engine" in question.given:
        lines.append(told_quality(max(infos, key=lambda info: math.inf if info.error is None else info.error)))
    print_answer("\n".join(lines), documents, as_json=question.as_json)


@question_command(
    "plausible moments gaussian-chain X1 --evidence X3=2.5",
    "plausible moments gaussian-chain --targets X1,X3 --do X2=-1 --json",
    notes=(SYNTAX,),
    without=("engine",),
)
def run_moments(question: Question) -> None:
    """Print means and covariances of continuous variables.

    Both are exact, given the evidence. Where discrete variables matter that are not observed, the distribution is a
    mixture that has these moments.
    """
    if not isinstance(question.model, BayesianNetwork):
        raise NotSupported("Moments are those of continuous variables, and a Markov network has none: see query.")
    answer = question.model.moments(question.targets, **question.given)
    numbers = {"mean": answer.mean.tolist(), "covariance": answer.covariance.tolist()}
    question.print(str(answer), {"variables": answer.names, **numbers})


@question_command(
    "plausible mpe asia --evidence xray=yes,dysp=yes",
    needs_targets=False,
    without=("targets", "target_option", *_NO_BUDGET),
)
def run_mpe(question: Question) -> None:
    """Print a most probable assignment to all variables.

    The (natural) log-probability printed with it is that of the assignment and the evidence together.
    """
    _print_best(question, question.model.mpe(**question.given))


@question_command("plausible map asia --targets lung,bronc --evidence dysp=yes", without=_NO_BUDGET)
def run_map(question: Question) -> None:
    """Print the most probable states of some variables together.

    All others are summed out (marginal MAP). The (natural) log-probability printed is that of these states and the
    evidence together.
    """
    _print_best(question, question.model.map(question.targets, **question.given))


def _print_best(question: Question, best: Assignment) -> None:
    """A state for each variable, and the log-probability of them all."""
    document = {"states": dict(best), **picked(best, "log_probability")}
    told = f"log-probability {best.log_probability:.6g}" if best.log_probability is not None else ""
    if best.log_probability is None:
        told = "log-probability unknown"
        if best.log_product is not None:
            told += f"; logarithm of the product of the factors {best.log_product:.6g}"
            document["log_product"] = best.log_product
    width = max(map(len, best), default=0)
    lines = [f"{name.ljust(width)}  {state}" for name, state in best.items()]
    question.print("\n".join([*lines, told]), document, best.info, best.log_probability)


@question_command(
    "plausible explain alarm",
    "plausible explain alarm HYPOVOLEMIA --evidence CVP=HIGH,BP=LOW --budget-memory 0.5",
    notes=(SYNTAX,),
    needs_targets=False,
    without=("engine",),
)
def run_explain(question: Question) -> None:
    """Print what exact inference will cost, before it is done.

    The plan tells width, table entries, memory, a rough time and the largest clique. Without targets the plan is that
    of the posteriors of all variables.
    """
    plan = question.model.explain(question.targets or None, **question.given)
    question.print(str(plan), plan.to_record())


@command(
    examples=(
        "plausible counterfactual asia lung --evidence smoke=yes,lung=yes --do smoke=no",
        "plausible counterfactual asia lung --evidence smoke=yes,lung=yes --do smoke=no --coupling comonotone",
    ),
    notes=(SYNTAX,),
)
def run_counterfactual(
    model: ModelSource,
    targets: TargetNames = None,
    target_option: TargetOption = None,
    evidence: EvidenceTexts = None,
    do: Do = None,
    coupling: Annotated[
        str, option("How the values for different parents hang together: independent or comonotone.")
    ] = "independent",
    as_json: AsJson = False,
) -> None:
    """Print what would have been, had --do been done.

    That is P(targets, had --do been done | evidence): evidence is about what happened, targets about what would have. A
    network tells how often a variable has a state given its parents, not who would have it under other parents: many
    functional models fit, and --coupling chooses one. Independent: a new draw for each state of the parents.
    Comonotone: one draw, the same quantile whatever the parents, so that a case changes as little as it can. Noisy-or
    variables have a mechanism of their own. Where the couplings differ, the network does not determine the answer.
    """
    found = read_bayesian(model, "counterfactuals need one")
    names = read_targets(targets, target_option, found.variables)
    settings = read_interventions(do, found)
    if not settings:
        raise InvalidArgument("A counterfactual sets something: say what with --do, as in --do smoke=no.")
    findings = read_findings(evidence, found)
    if coupling not in get_args(Coupling):
        raise InvalidArgument(f"--coupling is independent or comonotone, not {coupling!r}.")
    functional = functional_model(found, cast("Coupling", coupling))
    answer = counterfactual(functional, names, evidence=findings, do=settings)
    text = str(answer)
    # Unless both a target and evidence are effects of what is set, P(targets | do, evidence before it) tells.
    reached = found.graph.descendants(list(settings)) - set(settings)
    if not reached.isdisjoint(names) and not reached.isdisjoint(findings):
        other = "comonotone" if coupling == "independent" else "independent"
        text += f"\ncoupling: {coupling}, which the network leaves open; compare --coupling {other}"
    print_answer(text, {**factor_document(answer), "coupling": coupling}, as_json=as_json)


@command(
    examples=(
        "plausible sample asia -n 5 --seed 1 --evidence dysp=yes",
        "plausible sample asia -n 5 --evidence dysp=yes --engine likelihood-weighting",
        "plausible sample asia -n 10000 --do smoke=no --output rows.parquet",
    ),
    notes=(SYNTAX, ENGINES),
)
def run_sample(
    model: options.ModelSource,
    num_rows: Annotated[int, option("How many rows.", "--rows", "-n", min=0)] = 10,
    seed: Annotated[int | None, option("A whole number: the same one gives the same rows.", min=0)] = None,
    evidence: options.EvidenceTexts = None,
    do: options.Do = None,
    engine: options.EngineOption = None,
    output: Annotated[
        Path | None,
        option("The CSV or Parquet file to write instead of standard output, which is -.", "--output", "-o"),
    ] = None,
    format: options.TableFormat = None,
    progress: options.ShowProgress = None,
    as_json: options.AsJson = False,
) -> None:
    """Draw random rows from a model, given evidence.

    They are printed as CSV, or written to a file. They are independent, and exactly from it, unless --engine names
    another way to draw: how many independent rows those are worth then stands on standard error.
    """
    found, target = read_network(model), output or Path("-")
    check_ending(target, format)

    def take(samples: Samples) -> None:
        if samples.info is not None:
            print_line(told_quality(samples.info), error=True)
        if is_standard(target) and as_json:
            print_json({"rows": num_rows, "samples": samples.frame().to_dict("records")})
            return
        blocks = samples.blocks()
        first = next(blocks)
        with (
            progress_bar(f"sampling {model}", False if is_standard(target) else progress) as advance,
            new_table(target, samples.variables, format) as writer,
        ):
            for block in chain([first], blocks):
                writer.write(block)
                advance(writer.num_rows / max(num_rows, 1))

    generator = np.random.default_rng(seed)
    sampled(found, take, num_rows, generator, **asked(evidence, do, found), **engine_argument(engine))
    if not is_standard(target):
        document = {"rows": num_rows, "output": str(output)}
        print_answer(f"{output}: {counted(num_rows, 'row')} written", document, as_json=as_json)
