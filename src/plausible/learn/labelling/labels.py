"""Labels of tokens: what is told of each, and the hidden states that stand for them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plausible.base.arrays import Codes, Flags, Floats, Ints
from plausible.base.records import plain, shortened
from plausible.data.factorizing import is_absent
from plausible.errors import InvalidArgument, UnknownState, suggestion
from plausible.learn.labelling.tokens import Tokens, check_lengths


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """What is told of the label of each token."""

    classes: tuple[Hashable, ...]  # all labels, sorted if they can be
    codes: Codes  # the place of each token's label, -1 where it is not one alone
    allowed: Flags | None  # token, label: whether it may be; `None` where all tokens have a label

    @property
    def is_complete(self) -> bool:
        """Whether each token has one label."""
        return self.allowed is None

    def states(self, latent: int) -> Labels:
        """The same of hidden states, of which each label owns some, one after the other."""
        if latent == 1:
            return self
        allowed = np.eye(len(self.classes), dtype=bool)[self.codes] if self.allowed is None else self.allowed
        doubled = np.repeat(allowed, latent, axis=1)
        return Labels(self.classes, np.full(len(self.codes), -1, dtype=np.int32), doubled)


def read_labels(labels: Iterable[Iterable[Any]], tokens: Tokens, classes: Sequence[Hashable] | None = None) -> Labels:
    """A label for each token: `None` where it is not known, a set of those that it may be.

    >>> tokens = Tokens(np.array([0, 2, 3]), np.zeros(4, int), np.zeros(0, np.int32), np.zeros(0))
    >>> read = read_labels([["N", None], [{"V", "D"}]], tokens)
    >>> read.classes, read.codes.tolist(), read.allowed.astype(int).tolist()
    (('D', 'N', 'V'), [1, -1, -1], [[0, 1, 0], [1, 1, 1], [1, 0, 1]])
    """
    listed = [_listed(given, number) for number, given in enumerate(labels)]
    check_lengths(tokens, [len(given) for given in listed], "labels")
    cells = [cell for given in listed for cell in given]
    known = _classes(cells, tokens) if classes is None else tuple(classes)
    place_of = {label: place for place, label in enumerate(known)}
    codes = np.full(len(cells), -1, dtype=np.int32)
    for token, cell in enumerate(cells):
        if isinstance(cell, str) or not (isinstance(cell, set | frozenset) or is_absent(cell)):
            codes[token] = _place(place_of, cell, tokens, token)
    if (codes >= 0).all():
        return Labels(known, codes, None)
    return Labels(known, codes, _allowed(cells, codes, place_of, tokens))


def _allowed(cells: list[Any], codes: Codes, place_of: dict[Hashable, int], tokens: Tokens) -> Flags:
    allowed = np.zeros((len(codes), len(place_of)), dtype=bool)
    told = np.flatnonzero(codes >= 0)
    allowed[told, codes[told]] = True
    for token in np.flatnonzero(codes < 0).tolist():
        cell = cells[token]
        if isinstance(cell, set | frozenset):
            allowed[token, [_place(place_of, label, tokens, token) for label in cell]] = True
            if not cell:
                raise InvalidArgument(f"{tokens.place_of(token)}: no label is in the set of those that it may have.")
        else:
            allowed[token] = True
    return allowed


def _listed(given: Any, number: int) -> list[Any]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidArgument(
            f"Labels of sequence {number} are a list with one for each token, not {shortened(given)}."
        )
    return [plain(label) for label in given]


def _classes(cells: list[Any], tokens: Tokens) -> tuple[Hashable, ...]:
    """All labels, sorted where they can be, else in the order of their first appearance."""
    found: dict[Hashable, None] = {}
    for token, cell in enumerate(cells):
        try:
            found.update(
                dict.fromkeys(cell if isinstance(cell, set | frozenset) else () if is_absent(cell) else (cell,))
            )
        except TypeError:
            raise InvalidArgument(
                f"{tokens.place_of(token)}: the label {shortened(cell)} can't be one, as it may change: give a text, a "
                "number or a tuple."
            ) from None
    if not found:
        raise InvalidArgument("No token has a label: there is nothing to learn from.")
    try:
        return tuple(sorted(found))  # type: ignore[type-var]
    except TypeError:
        return tuple(found)


def _place(place_of: dict[Hashable, int], label: Any, tokens: Tokens, token: int) -> int:
    try:
        return place_of[label]
    except (KeyError, TypeError):
        raise UnknownState(
            f"{tokens.place_of(token)}: {shortened(label)} is no label that was learned.{suggestion(label, place_of)}"
        ) from None


def read_shares(sample_weight: Iterable[float] | None, num_sequences: int) -> Floats:
    """How often each sequence counts."""
    if sample_weight is None:
        return np.ones(num_sequences)
    shares = np.array(list(sample_weight), dtype=float)
    if shares.shape != (num_sequences,):
        raise InvalidArgument(
            f"sample_weight= has {shares.size} numbers, but there are {num_sequences} sequences: one for each."
        )
    if not (np.isfinite(shares) & (shares >= 0)).all():
        place = int(np.argmin(np.isfinite(shares) & (shares >= 0)))
        raise InvalidArgument(
            f"sample_weight={shares[place]} of sequence {place} must be a finite number, not negative."
        )
    return shares


@dataclass(frozen=True, slots=True, eq=False)
class WeightLayout:
    """Which weights there are: those of features with states, feature by feature, then those of transitions."""

    #: Feature f has the weights `starts[f]:starts[f + 1]`, one for each of the states there, which are sorted.
    starts: Ints
    states: Codes
    transitions: Ints  # which entries of the matrix of transitions, row by row, have weights; the others are zero
    num_states: int

    @classmethod
    def of(
        cls, tokens: Tokens, labels: Labels, num_features: int, num_states: int, all_states: bool, all_transitions: bool
    ) -> WeightLayout:
        """Weights for what is seen together in the data, or for all that might be."""
        keys = np.arange(num_features * num_states) if all_states else _seen_pairs(tokens, labels, num_states)
        pairs = np.arange(num_states**2) if all_transitions else _seen_transitions(tokens, labels, num_states)
        starts = np.searchsorted(keys, np.arange(num_features + 1) * num_states).astype(np.int64)
        return cls(starts, (keys % num_states).astype(np.int32), pairs, num_states)

    @property
    def num_weights(self) -> int:
        """All of them."""
        return len(self.states) + len(self.transitions)

    @property
    def groups(self) -> Ints:
        """The feature of each weight; all transitions are one more group."""
        features = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        return np.concatenate([features, np.full(len(self.transitions), len(self.starts) - 1)]).astype(np.int64)

    def matrix(self, weights: Floats) -> Floats:
        """The weights of transitions: axes are the state before and the state."""
        full = np.zeros(self.num_states**2)
        full[self.transitions] = weights[len(self.states) :]
        return full.reshape(self.num_states, self.num_states)

    def joined(self, sums: Floats, pairs: Floats) -> Floats:
        """One vector of what there is for each weight of a feature and for each transition."""
        return np.concatenate([sums, pairs.ravel()[self.transitions]])

    def names(self, features: Sequence[str], states: Sequence[str]) -> list[str]:
        """A name for each weight: "label: feature" and "label -> label"."""
        owners = self.groups.tolist()
        own = [f"{states[s]}: {features[f]}" for s, f in zip(self.states.tolist(), owners, strict=False)]
        rows, columns = np.divmod(self.transitions, self.num_states)
        return own + [f"{states[one]} -> {states[two]}" for one, two in zip(rows, columns, strict=True)]


def _seen_pairs(tokens: Tokens, labels: Labels, num_states: int) -> Ints:
    """Feature times the number of states plus state, of all that are seen together; sorted."""
    features, owners = tokens.features.astype(np.int64), np.repeat(np.arange(tokens.num_tokens), np.diff(tokens.starts))
    if labels.allowed is None:
        keys = np.sort(features * num_states + labels.codes[owners])
        return keys[np.diff(keys, prepend=-1) > 0]
    is_told = ~labels.allowed.all(axis=1)
    seen = [np.unique(features[(labels.allowed[:, state] & is_told)[owners]]) for state in range(num_states)]
    return np.sort(np.concatenate([one * num_states + state for state, one in enumerate(seen)]))


def _seen_transitions(tokens: Tokens, labels: Labels, num_states: int) -> Ints:
    later = tokens.later
    if labels.allowed is None:
        return np.unique(labels.codes[later - 1].astype(np.int64) * num_states + labels.codes[later])
    both = later[~(labels.allowed[later - 1].all(axis=1) | labels.allowed[later].all(axis=1))]
    seen = labels.allowed[both - 1].T.astype(float) @ labels.allowed[both].astype(float)
    return np.flatnonzero(seen.ravel()).astype(np.int64)
