"""Evidence and result files of the UAI inference competitions, which speak of variables and states by number.

Without a model the numbers are the names, as in a network that `parse_uai` has read; with one they count its variables
and their states.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from plausible.base import Floats
from plausible.errors import FormatError, InvalidArgument, NotRepresentable, UnknownVariable, suggestion
from plausible.io.formats import Model
from plausible.io.scanner import Words
from plausible.variables import State

_TASKS = ("PR", "MPE", "MAR", "MMAP")
_NEW_SOLUTION = "-BEGIN-"
_Value = TypeVar("_Value")


def parse_uai_evidence(text: str, model: Model | None = None) -> list[dict[str, State]]:
    """The samples of evidence in a text.

    Two dialects are read: one sample, `n variable state variable state ...`, and several of these, with their number on
    a line of its own before them. The model is the one that the numbers are about.

    >>> parse_uai_evidence("2 1 0 2 1")
    [{'1': '0', '2': '1'}]
    >>> parse_uai_evidence("2\\n1 0 1\\n0")
    [{'0': '1'}, {}]
    """
    numbering = _Numbering(model)
    words = Words(text)
    first_line = text.lstrip().split("\n", 1)[0].split()
    alone = len(first_line) == 1 and len(words.words) > 1
    try:
        return _samples(words, numbering, counted=alone)
    except FormatError as error:
        try:
            return _samples(Words(text), numbering, counted=not alone)
        except FormatError:
            raise error from None


def _samples(words: Words, numbering: _Numbering, counted: bool) -> list[dict[str, State]]:
    num_samples = words.count("the number of samples") if counted else 1
    samples = [_sample(words, numbering) for _ in range(num_samples)]
    words.end()
    return samples


def _sample(words: Words, numbering: _Numbering) -> dict[str, State]:
    sample: dict[str, State] = {}
    for _ in range(words.count("the number of observed variables", words_each=2)):
        index = words.integer("the index of a variable", numbering.num_variables)
        name, state = numbering.name(words, index), numbering.read_state(words, index)
        if name in sample:
            raise words.error(f"Variable {name!r} is observed twice.", words.position - 2)
        sample[name] = state
    return sample


def format_uai_evidence(samples: Sequence[Mapping[str, State]], model: Model | None = None) -> str:
    """Samples of evidence as text: one on a single line, several with their number on a line before them.

    >>> format_uai_evidence([{"1": "0", "2": "1"}])
    '2 1 0 2 1\\n'
    """
    if not samples:
        raise NotRepresentable("An evidence file has at least one sample; an empty one, [{}], says that there is none.")
    numbering = _Numbering(model)
    lines = [str(len(samples))] if len(samples) > 1 else []
    for sample in samples:
        pairs = [f"{numbering.variable(name)} {numbering.state(name, state)}" for name, state in sample.items()]
        lines.append(" ".join([str(len(sample)), *pairs]))
    return "\n".join([*lines, ""])


@dataclass(frozen=True, slots=True)
class UAIResult:
    """The answer to one task of a competition."""

    #: `"PR"` (probability of the evidence, or partition function), `"MAR"` (marginals), `"MPE"` (most probable
    #: explanation) or `"MMAP"` (marginal MAP).
    task: str
    log10: float | None = None  # PR: the logarithm to base ten
    marginals: Mapping[str, Floats] | None = None  # MAR: for each variable the probabilities of its states
    assignment: Mapping[str, State] | None = None  # MPE and MMAP: for each variable its state

    def __post_init__(self) -> None:
        wanted = {"PR": self.log10, "MAR": self.marginals}.get(self.task, self.assignment)
        given = [part for part in (self.log10, self.marginals, self.assignment) if part is not None]
        if self.task not in _TASKS or wanted is None or len(given) != 1:
            raise InvalidArgument(
                "A UAIResult is of the task PR with log10=, MAR with marginals=, or MPE or MMAP with assignment=."
            )


def parse_uai_result(text: str, model: Model | None = None) -> UAIResult:
    """The last solution in a result file; MAP is read as MPE.

    >>> parse_uai_result("MPE\\n3 0 1 0").assignment
    mappingproxy({'0': '0', '1': '1', '2': '0'})
    """
    words = Words(text)
    task = words.next("the task").upper()
    task = "MPE" if task == "MAP" else task
    if task not in _TASKS:
        raise words.error(f"{task[:20]!r} is not a task.{suggestion(task, _TASKS)}", 0)
    start = max((number for number, word in enumerate(words.words) if word == _NEW_SOLUTION), default=0) + 1
    numbering = _Numbering(model)
    try:
        words.position = start
        return _solution(words, task, numbering)
    except FormatError as error:
        # An older dialect has the number of samples, here one, before the solution.
        if words.words[start : start + 1] != ["1"]:
            raise
        try:
            words.position = start + 1
            return _solution(words, task, numbering)
        except FormatError:
            raise error from None


def _solution(words: Words, task: str, numbering: _Numbering) -> UAIResult:
    if task == "PR":
        word = words.next("the logarithm, to base ten, of a probability")
        is_zero = word.lower() in ("-inf", "-infinity")
        number = -math.inf if is_zero else float(words.numbers_at(words.position - 1, 1)[0])
        result = UAIResult(task, log10=number)
    elif task == "MAR":
        marginals = {}
        for index in range(words.count("the number of variables")):
            name = numbering.name(words, index)
            size = words.count("the number of states")
            marginals[name] = words.numbers_at(words.position, size)
            marginals[name].setflags(write=False)
            words.skip(size)
        result = UAIResult(task, marginals=MappingProxyType(marginals))
    elif task == "MMAP":
        result = UAIResult(task, assignment=MappingProxyType(_sample(words, numbering)))
    else:
        count = words.count("the number of variables")
        states = {numbering.name(words, index): numbering.read_state(words, index) for index in range(count)}
        result = UAIResult(task, assignment=MappingProxyType(states))
    words.end()
    return result


def format_uai_result(result: UAIResult, model: Model | None = None) -> str:
    """A result as text.

    >>> format_uai_result(UAIResult("MAR", marginals={"0": np.array([0.25, 0.75])}))
    'MAR\\n1 2 0.25 0.75\\n'
    """
    numbering = _Numbering(model)
    if result.log10 is not None:
        return f"PR\n{float(result.log10)!r}\n"
    if result.marginals is not None:
        ordered = numbering.in_order(result.marginals)
        parts = [" ".join([str(len(vector)), *map(repr, np.asarray(vector).tolist())]) for vector in ordered]
        return "\n".join([result.task, " ".join([str(len(parts)), *parts]), ""])
    assert result.assignment is not None
    if result.task == "MMAP":
        return f"MMAP\n{format_uai_evidence([result.assignment], model)}"
    names = list(numbering.in_order({name: name for name in result.assignment}))
    states = [str(numbering.state(name, result.assignment[name])) for name in names]
    return "\n".join([result.task, " ".join([str(len(states)), *states]), ""])


class _Numbering:
    """Which variables and states the numbers stand for."""

    def __init__(self, model: Model | None) -> None:
        self._variables = None if model is None else list(model.variables.values())
        self._indices = {} if model is None else {name: index for index, name in enumerate(model.variables)}
        self.num_variables = None if model is None else len(self._indices)

    def name(self, words: Words, index: int) -> str:
        """The name of a variable."""
        if self._variables is None:
            return str(index)
        if index >= len(self._variables):
            raise words.error(f"The model has only {len(self._variables)} variables.", words.position - 1)
        return self._variables[index].name

    def read_state(self, words: Words, index: int) -> State:
        """The state of a variable, by the next word."""
        if self._variables is None:
            return str(words.integer("the index of a state"))
        states = self._variables[index].states
        return states[words.integer(f"the index of a state of {self._variables[index].name!r}", len(states))]

    def variable(self, name: str) -> int:
        """The index of a variable."""
        if self._variables is None:
            return _digits(name)
        UnknownVariable.check(name, self._indices, "this model")
        return self._indices[name]

    def state(self, name: str, state: State) -> int:
        """The index of a state."""
        return _digits(state) if self._variables is None else self._variables[self.variable(name)].index(state)

    def in_order(self, by_name: Mapping[str, _Value]) -> list[_Value]:
        """The values in the order of the variables, of which none may be missing."""
        by_index = {self.variable(name): value for name, value in by_name.items()}
        num_variables = len(by_name if self._variables is None else self._variables)
        missing = [index for index in range(num_variables) if index not in by_index]
        if missing:
            raise NotRepresentable(f"A result file speaks of all variables; variable {missing[0]} is missing.")
        return [by_index[index] for index in range(num_variables)]


def _digits(name: object) -> int:
    if isinstance(name, str) and name.isascii() and name.isdigit():
        return int(name)
    raise NotRepresentable(f"UAI files speak of variables and states by number, and {name!r} is none: give the model.")
