"""What formats share: their record, checks of models and what is in them, and stand-ins for names they can't write."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

from plausible.cpds import CPD, TableCPD
from plausible.decisions import Decision, InfluenceDiagram
from plausible.errors import NotRepresentable, NotSupported, TooLarge
from plausible.factors import Factor
from plausible.models import BayesianNetwork, MarkovNetwork, Notes, PlateModel, RelationalMarkovNetwork, RelationalModel
from plausible.models.sequences.sequence_model import SequenceModel
from plausible.variables import State, Variable

#: Models of chance alone.
Network: TypeAlias = BayesianNetwork | MarkovNetwork
#: What files hold.
Model: TypeAlias = Network | InfluenceDiagram
#: What files in the library's own format hold.
AnyModel: TypeAlias = Model | SequenceModel | RelationalModel | PlateModel | RelationalMarkovNetwork

_DIAGRAM_ENDINGS: Final = ".json, .xdsl, .net or .xmlbif"


class Parser(Protocol):
    """How a format is read."""

    def __call__(self, text: str, *, lenient: bool = False) -> AnyModel:
        """The model in a text; a lenient reader mends what it can."""


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: pure functions between text and models."""

    name: str  # What people call it
    extensions: tuple[str, ...]  # File endings that choose it, in lower case, with the dot
    parse: Parser  # Text to model; errors are `FormatError` with line and column
    #: Model to text, where the format can be written; a model that it can't hold is `NotRepresentable`.
    write: Callable[[Any], str] | None
    begins: re.Pattern[str]  # How a text in it begins, after blanks and comments: standard input has no ending


def check_model(model: object) -> None:
    """Refuse what no file holds."""
    if not isinstance(model, AnyModel):
        raise NotRepresentable(
            "Files hold a BayesianNetwork, a MarkovNetwork, an InfluenceDiagram, a RelationalModel, a PlateModel, a "
            "RelationalMarkovNetwork or a model in time; "
            f"this is a {type(model).__name__}. Make one of it first."
        )


def bayesian_network(model: Model, format: str) -> BayesianNetwork:
    """The model, for a format that holds Bayesian networks without inputs, and no others."""
    check_model(model)
    if isinstance(model, InfluenceDiagram):
        raise NotRepresentable(
            f"{format} files have no place for decisions and utilities. Save this diagram as {_DIAGRAM_ENDINGS}, "
            "or save the network that a strategy makes of it: diagram.network(strategy)."
        )
    if not isinstance(model, BayesianNetwork):
        raise NotRepresentable(f"{format} files hold Bayesian networks. Save this {type(model).__name__} as .json.")
    if model.inputs:
        raise NotRepresentable(
            f"{format} files have no place for inputs, and {model.inputs[0]!r} is one. Save as .json, or give it a CPD."
        )
    return model


def discrete_network(model: Model, format: str) -> BayesianNetwork:
    """The model, for a format that holds Bayesian networks over variables with states, and no others."""
    network = bayesian_network(model, format)
    for name, variable in network.variables.items():
        if variable.is_continuous:
            raise NotRepresentable(f"{format} files hold variables with states; {name!r} is continuous. Save as .json.")
    return network


def table_of(cpd: CPD, format: str) -> TableCPD:
    """The table of a CPD, for a format without its kind."""
    try:
        return cpd.to_table()
    except (TooLarge, NotSupported) as error:
        raise NotRepresentable(
            f"{format} files hold the CPD of {cpd.variable.name!r} as a table only. {error} Save as .json."
        ) from None


@dataclass(frozen=True, slots=True)
class Contents:
    """The parts of a Bayesian network or of an influence diagram."""

    variables: Mapping[str, Variable]  # name -> variable: chance, then decisions
    cpds: Mapping[str, CPD]  # name -> distribution of each chance variable
    decisions: Mapping[str, Decision]  # name -> decision
    utilities: Mapping[str, Factor]  # name -> numbers over the parents
    notes: Notes  # the notes on all of them

    @property
    def nodes(self) -> tuple[str, ...]:
        """All names: chance, decisions, utilities."""
        return (*self.variables, *self.utilities)

    def parents(self, name: str) -> tuple[str, ...]:
        """What a node depends on, in order; for a decision, what it sees."""
        if name in self.utilities:
            return self.utilities[name].names
        return self.decisions[name].sees if name in self.decisions else self.cpds[name].parent_names


def contents(model: Model, format: str, *, discrete: bool = False) -> Contents:
    """The parts, for a format that holds Bayesian networks and influence diagrams, or only those with states."""
    if isinstance(model, InfluenceDiagram):
        return Contents(model.variables, model.chance, model.decisions, model.utility_factors, model.notes)
    network = discrete_network(model, format) if discrete else bayesian_network(model, format)
    return Contents(network.variables, network.cpds, {}, {}, network.notes)


#: Tuples in a state may be nested this deeply.
MAX_DEPTH: Final = 20


def to_plain(state: State, name: str, depth: int = 0) -> Any:
    """A state as JSON can hold it: text, number, boolean, null; a tuple becomes a list."""
    if state is None or isinstance(state, (str, bool, int, float)):
        return state
    if isinstance(state, tuple) and depth < MAX_DEPTH:
        return [to_plain(part, name, depth + 1) for part in state]
    if hasattr(state, "item") and depth < MAX_DEPTH:
        return to_plain(state.item(), name, depth + 1)
    raise NotRepresentable(
        f"A state of {name!r} is or holds a {type(state).__name__}, {str(state)[:40]}: files hold text, numbers, "
        f"booleans and tuples of these, nested at most {MAX_DEPTH} deep."
    )


def from_plain(item: Any, depth: int = 0) -> State:
    """The inverse of `to_plain`; a `TypeError` for what is no state."""
    if isinstance(item, list) and depth < MAX_DEPTH:
        return tuple(from_plain(part, depth + 1) for part in item)
    if isinstance(item, dict | list):
        raise TypeError("a state can't be an object, nor a list that is nested more deeply than any that is written")
    return item  # type: ignore[no-any-return]


def stand_ins(names: Sequence[str], legal: Callable[[str], str]) -> list[str]:
    """For each of the different names a legal text, all different; a name that is legal stands for itself."""
    taken = {name for name in names if legal(name) == name}
    chosen = []
    numbers: dict[str, int] = {}
    for name in names:
        text = base = legal(name)
        while text != name and text in taken:
            numbers[base] = numbers.get(base, 1) + 1
            text = f"{base}_{numbers[base]}"
        taken.add(text)
        chosen.append(text)
    return chosen


def state_stand_ins(variable: Variable, legal: Callable[[str], str]) -> tuple[list[str], str | None]:
    """Stand-ins for the states, and the JSON list that restores them, where it is needed.

    Two states that print alike can't be written.
    """
    texts = [str(state) for state in variable.states]
    if len(set(texts)) < len(texts):
        raise NotRepresentable(f"Two states of {variable.name!r} print alike: {texts}. Rename one, or save as JSON.")
    chosen = stand_ins(texts, legal)
    if chosen == list(variable.states):
        return chosen, None
    return chosen, json.dumps([to_plain(state, variable.name) for state in variable.states])


def restore_name(stand_in: str, written: str | None, legal: Callable[[str], str]) -> str:
    """The name for which a stand-in was written; the stand-in itself where the note on it does not fit."""
    name = _loads(written)
    if not isinstance(name, str) or not name:
        return stand_in
    return name if re.fullmatch(re.escape(legal(name)) + r"(_\d+)?", stand_in) else stand_in


def restore_states(stand_ins_read: list[str], written: str | None, legal: Callable[[str], str]) -> list[State]:
    """The states for which stand-ins were written; the stand-ins themselves where the note on them does not fit."""
    listed = _loads(written)
    if not isinstance(listed, list):
        return list(stand_ins_read)
    try:
        states = [from_plain(item) for item in listed]
    except TypeError:
        return list(stand_ins_read)
    return states if stand_ins([str(state) for state in states], legal) == stand_ins_read else list(stand_ins_read)


def _loads(written: str | None) -> object:
    try:
        return None if written is None else json.loads(written)
    except (ValueError, RecursionError):
        return None
