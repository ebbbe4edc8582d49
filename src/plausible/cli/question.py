"""A question about some variables of a model: the arguments that several commands have in common, and what they say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Annotated, Any

import typer

from plausible.cli.engines import EngineOption, engine_argument
from plausible.cli.evidence import Do, EvidenceTexts, asked
from plausible.cli.output import AsJson
from plausible.cli.source import ModelSource, read_network
from plausible.cli.targets import TargetNames, TargetOption, read_targets
from plausible.inference.budget import Budget
from plausible.io import Network

__all__ = ["Question", "question_command"]

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
    """What is asked of a model, names and states checked.

    Attributes
    ----------
    model
        As read.
    targets
        The names of the variables asked about; none where a command may do without.
    given
        The arguments of the model's methods: `evidence=` and, where they were given, `do=`, `budget=` and `engine=`.
    as_json
        Whether the answer is printed as a JSON document.
    """

    model: Network
    targets: list[str]
    given: dict[str, Any]
    as_json: bool

    @property
    def has_engine(self) -> bool:
        """Whether an engine was named, so that the answer should say what it is worth."""
        return "engine" in self.given


def question_command(
    answer: Callable[[Question], None],
    *,
    needs_targets: bool = True,
    has_budget: bool = False,
    has_engine: bool = False,
) -> Callable[..., None]:
    """The command that reads a question from its arguments and has it answered; its help is that of `answer`.

    Parameters
    ----------
    answer
        Answers and prints.
    needs_targets
        Whether the question must name variables.
    has_budget
        Whether what it may cost can be limited.
    has_engine
        Whether a named engine may answer.
    """

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
    return run


def _limits(seconds: float | None, memory: float | None) -> dict[str, Budget]:
    """The argument `budget=` with the limits that were given; nothing where none was."""
    limits: dict[str, Any] = {} if seconds is None else {"seconds": seconds}
    if memory is not None:
        limits["bytes"] = memory * 2**30
    return {"budget": Budget(**limits)} if limits else {}
