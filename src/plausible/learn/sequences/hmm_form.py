"""What form a hidden Markov model has that is to be learned, and the rows as it reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from plausible.base.options import check_count
from plausible.cpds import CPD
from plausible.data.sequences import Sequences, SequencesLike
from plausible.errors import InvalidArgument, suggestion
from plausible.models.sequences.emissions import OBSERVATION, CategoricalEmission, Emission, ProductEmission
from plausible.models.sequences.gaussian_emissions import COVARIANCES, GaussianEmission, GaussianMixtureEmission
from plausible.models.sequences.hidden_markov_model import HiddenMarkovModel
from plausible.models.sequences.hidden_state_model import by_column
from plausible.models.sequences.reading_models import read_emission
from plausible.variables import State, Variable

#: How what is observed may be learned, by name.
CATEGORICAL, GAUSSIAN, MIXTURE = KINDS = ("categorical", "gaussian", "gaussian-mixture")
#: What `emission=` takes.
EmissionLike: TypeAlias = "str | Emission | CPD | Mapping[Any, Any]"


class HMMForm(NamedTuple):
    """A model whose numbers mean nothing yet, but for those of emissions that were given."""

    model: HiddenMarkovModel
    sequences: Sequences
    given: tuple[Emission, ...]  # the parts of the emission that say where learning starts


@dataclass(frozen=True, slots=True)
class EmissionForm:
    """How emissions are learned: `emission=`, `covariance=` and `num_components=`."""

    emission: EmissionLike | None = None
    covariance: str = "diagonal"
    num_components: int = 1

    def __post_init__(self) -> None:
        check_count("num_components", self.num_components, 1)
        if self.covariance not in COVARIANCES:
            raise InvalidArgument(f"covariance={self.covariance!r}: expected one of {', '.join(COVARIANCES)}.")
        named = self.emission.values() if isinstance(self.emission, Mapping) else [self.emission]
        for kind in named:
            if isinstance(kind, str) and kind not in KINDS:
                raise InvalidArgument(
                    f"emission={kind!r}: expected {', '.join(map(repr, KINDS))} or an emission to start from, for all "
                    f"columns, or a mapping from columns to these.{suggestion(kind, KINDS)}"
                )

    def of_columns(self, columns: Sequence[Variable], state: Variable) -> tuple[Emission, tuple[Emission, ...]]:
        """The emission of some columns, and those parts of it that were given."""
        if isinstance(self.emission, Mapping):
            return self._by_column(self.emission, columns, state)
        if self.emission is not None and not isinstance(self.emission, str):
            given = read_emission(self.emission, state, None, OBSERVATION)
            return given, (given,)
        kind = self.emission
        numbers = [variable.name for variable in columns if variable.is_continuous]
        if kind == CATEGORICAL and numbers:
            raise _no_states(numbers[0])
        parts: list[Emission] = [_symbols(each, state) for each in columns if not each.is_continuous]
        parts += [self._numbers(kind == MIXTURE or self.num_components > 1, numbers, state)] if numbers else []
        if not parts:
            raise InvalidArgument("The rows have no column of observations to learn from.")
        return (parts[0] if len(parts) == 1 else ProductEmission(parts)), ()

    def _by_column(
        self, kinds: Mapping[Any, Any], columns: Sequence[Variable], state: Variable
    ) -> tuple[Emission, tuple[Emission, ...]]:
        """Each column, or each group of columns of numbers, by what is said of it."""
        known, parts = {variable.name: variable for variable in columns}, dict(kinds)
        for key, kind in kinds.items():
            names = _names(key)
            for name in names:
                if name not in known:
                    raise InvalidArgument(f"emission= names {name!r}, which is no column.{suggestion(name, known)}")
            if kind == CATEGORICAL and (len(names) > 1 or known[names[0]].is_continuous):
                raise _no_states(names[0])
            if isinstance(kind, str):
                is_symbol = kind == CATEGORICAL
                parts[key] = _symbols(known[key], state) if is_symbol else self._numbers(kind == MIXTURE, names, state)
        found = read_emission(parts, state, None, OBSERVATION, None, columns)
        blank = {name for key, kind in kinds.items() if isinstance(kind, str) for name in _names(key)}
        several = found.parts if isinstance(found, ProductEmission) else (found,)
        return found, tuple(part for part in several if not {v.name for v in part.variables} <= blank)

    def _numbers(self, is_mixture: bool, names: list[str], state: Variable) -> Emission:
        """Gaussians around zero, or mixtures of them."""
        shape, size = (state.num_states, self.num_components), len(names)
        unit = np.eye(size) if self.covariance == "tied" else np.broadcast_to(np.eye(size), (*shape, size, size))
        if is_mixture:
            weights = np.full(shape, 1 / self.num_components)
            return GaussianMixtureEmission(weights, np.zeros((*shape, size)), unit, names, covariance=self.covariance)
        spread = unit if self.covariance == "tied" else unit[:, 0]
        return GaussianEmission(np.zeros((shape[0], size)), spread, names, covariance=self.covariance)


def _names(key: Any) -> list[str]:
    """The columns that a key of `emission=` names."""
    return [key] if isinstance(key, str) else list(key)


def _symbols(variable: Variable, state: Variable) -> CategoricalEmission:
    table = np.full((state.num_states, variable.num_states), 1 / variable.num_states)
    return CategoricalEmission(table, variable)


def _no_states(name: str) -> InvalidArgument:
    return InvalidArgument(
        f"The column {name!r} holds numbers, which have no table of symbols: take 'gaussian', or cut them into "
        "intervals with Discretizer."
    )


def read_form(
    rows: SequencesLike,
    states: int | Iterable[State] | None,
    form: EmissionForm,
    start: object,
    name: str,
    columns: Mapping[str, Any],
) -> HMMForm:
    """A model of the right form, and the rows as it reads them; `columns` are `sequence`, `time` and `gaps`."""
    if isinstance(start, HiddenMarkovModel):
        return HMMForm(start, in_order(start._read(rows, **columns)), ())
    if states is None:
        raise InvalidArgument("states= is missing: how many hidden states there are, or their names.")
    state = Variable(name, states)
    if isinstance(form.emission, Emission):
        model = blank_model(state, form.emission)
        return HMMForm(model, in_order(model._read(rows, **columns)), (form.emission,))
    sequences = inferred_rows(rows, {name: state}, columns, form)
    observed = [variable for each, variable in sequences.variables.items() if each != name]
    emission, given = form.of_columns(observed, state)
    used = {variable.name for variable in emission.variables}
    for variable in observed:
        if variable.name not in used:
            raise InvalidArgument(f"emission= says nothing of the column {variable.name!r}: name it, or leave it out.")
    return HMMForm(blank_model(state, emission), in_order(sequences), given)


def blank_model(state: Variable, emission: Emission) -> HiddenMarkovModel:
    """A model with an emission and a chain of which nothing is known."""
    count = state.num_states
    uniform = np.full(count, 1 / count), np.full((count, count), 1 / count)
    return HiddenMarkovModel(*uniform, emission, state.states, state=state.name)


def in_order(sequences: Sequences) -> Sequences:
    """The sequences sorted by what is observed, so that nothing hangs on the order in which they were given.

    Starts are drawn step by step, and sums are rounded: other orders would lead to other maxima.
    """
    if not sequences.num_steps:
        raise InvalidArgument("There are no rows to learn from.")
    if sequences.num_sequences == 1:
        return sequences
    spans = list(zip(sequences.starts[:-1].tolist(), sequences.starts[1:].tolist(), strict=True))
    columns = [sequences.columns[name] for name in sorted(sequences.columns)]
    keys = [tuple(column[begin:end].tobytes() for column in columns) for begin, end in spans]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return sequences if order == list(range(len(keys))) else sequences.take(order)


def inferred_rows(
    rows: SequencesLike, known: dict[str, Variable], columns: Mapping[str, Any], form: EmissionForm
) -> Sequences:
    """The rows with columns typed by what they hold; as numbers where emissions are to be Gaussian."""
    pieces = rows if isinstance(rows, list) else [rows]
    widths = {each.shape[1] for each in pieces if isinstance(each, np.ndarray) and each.ndim == 2}
    if widths:
        (width,) = widths if len(widths) == 1 else (0,)
        rows = by_column(rows, [OBSERVATION] if width == 1 else [f"{OBSERVATION}{place}" for place in range(width)])
    kinds = form.emission
    if isinstance(kinds, Mapping):
        known = known | _known_columns(kinds)
    options: dict[str, Any] = {"place": "these rows", "infer": True, "lone": OBSERVATION, **columns}
    return Sequences.read(rows, known, numbers=kinds in (GAUSSIAN, MIXTURE), **options)


def _known_columns(kinds: Mapping[Any, Any]) -> dict[str, Variable]:
    """The columns that are numbers, or that an emission to start from knows."""
    found: dict[str, Variable] = {}
    for key, kind in kinds.items():
        if isinstance(kind, (Emission, CPD)):
            own = kind.variables if isinstance(kind, Emission) else (kind.variable,)
            found |= {variable.name: variable for variable in own}
        elif kind in (GAUSSIAN, MIXTURE):
            found |= {name: Variable(name) for name in _names(key)}
    return found


def places_of(model: HiddenMarkovModel, option: str, groups: Sequence[Sequence[State]]) -> tuple[tuple[int, ...], ...]:
    """Groups of states by position."""
    if isinstance(groups, str):
        raise InvalidArgument(f"{option}= is a list of groups of states, not {groups!r}.")
    found = tuple(tuple(model.state.index(each) for each in group) for group in groups)
    flat = [place for group in found for place in group]
    if len(set(flat)) < len(flat):
        raise InvalidArgument(f"{option}= has a state in two groups.")
    return found
