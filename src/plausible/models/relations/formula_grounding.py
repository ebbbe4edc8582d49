"""Formulas put on constants: what is left of their groundings where some atoms are known, for all at once.

The truth of a formula at all substitutions is a few operations on arrays, in Kleene's logic of true, false and not
known. What is then not known is looked at again: groundings in which the same places are known and the same are equal
have the same table over the atoms that are left, which is made once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product as cartesian
from typing import NamedTuple, TypeAlias

import numpy as np

from plausible.base.arrays import Codes, Flags, Ints
from plausible.errors import TooLarge
from plausible.models.relations.formula_typing import TypedSentence, typed_sentence
from plausible.models.relations.formulas import Formula
from plausible.models.relations.sentences import (
    Atom,
    HasState,
    Leaf,
    SameTerm,
    Sentence,
    Term,
    Truth,
    truth_of,
)
from plausible.models.relations.vocabulary import Universe

#: What is known: predicate -> the state of each of its atoms, an axis for each argument; -1 where it is not known.
World: TypeAlias = Mapping[str, Codes]

#: So many truths are held at a time; a formula has at most so many groundings, and a grounding so large a table.
_BLOCK, _MOST_GROUNDINGS, _MOST_ENTRIES = 1 << 21, 20_000_000_000, 1 << 20


class GroundTable(NamedTuple):
    """A table that groundings of a formula have in common, over the atoms that are left of each."""

    is_true: Flags  # at each assignment, the last atom changing fastest
    sizes: tuple[int, ...]  # how many states each atom has
    scopes: Ints  # groundings x atoms: numbers of atoms, ascending


@dataclass(slots=True)
class GroundFormula:
    """What is left of a formula's groundings."""

    num_true: int = 0  # groundings that hold whatever the other atoms are
    num_false: int = 0
    tables: list[GroundTable] = field(default_factory=list)
    an_example: dict[bool, str] = field(default_factory=dict)  # a grounding that is certainly true, or false

    @property
    def num_open(self) -> int:
        """How many groundings hang on atoms that are not known."""
        return sum(len(table.scopes) for table in self.tables)

    def settle(self, is_true: bool, number: int, example: str) -> None:
        """Count groundings that are certain."""
        self.num_true += number * is_true
        self.num_false += number * (not is_true)
        self.an_example.setdefault(is_true, example)


def ground_formula(formula: Formula, universe: Universe, known: World) -> GroundFormula:
    """All groundings of a formula, what is known put in."""
    return _Grounder(formula, universe, known, typed_sentence(formula.sentence, universe.predicates, universe)).ground()


def labels_of(columns: Iterable[Ints]) -> tuple[Ints, Ints]:
    """The place of the first of each kind of rows, and the kind of each row; rows are given column by column."""
    label: Ints | None = None
    width = 1
    for column in columns:
        low = int(column.min(initial=0))
        span = int(column.max(initial=0)) - low + 1
        if label is not None and width * span >= 1 << 62:
            label = np.unique(label, return_inverse=True)[1].reshape(-1)
            width = int(label.max(initial=0)) + 1
        label = column - low if label is None else label * span + (column - low)
        width *= span
    assert label is not None
    _, first, kind = np.unique(label, return_index=True, return_inverse=True)
    return first, kind.reshape(-1)


@dataclass(frozen=True, eq=False)
class _Grounder:
    formula: Formula
    universe: Universe
    known: World
    typed: TypedSentence

    @cached_property
    def bound_sizes(self) -> tuple[int, ...]:
        """The constants of each variable behind a quantifier: axes that come before all others."""
        return tuple(self.universe.constants[kind].num_states for kind in self.typed.bound.values())

    @cached_property
    def leaves(self) -> dict[Leaf, Truth]:
        """The different leaves, each with its truth at states of its atoms; the last index of an axis is not known."""
        return {leaf: self._truth_of_states(leaf) for leaf in self.typed.root.leaves()}

    def ground(self) -> GroundFormula:
        """Block by block."""
        free = [self.universe.constants[kind].num_states for kind in self.typed.free.values()]
        if math.prod((*free, *self.bound_sizes)) > _MOST_GROUNDINGS:
            told = " x ".join(f"{size} for {name}" for name, size in zip(self.typed.free, free, strict=True))
            raise TooLarge(
                f"{self.formula} has {math.prod(free):,} groundings ({told}), more than can be looked at. Take fewer "
                "constants at a time."
            )
        done = GroundFormula()
        for block in _blocks(free, math.prod(self.bound_sizes)):
            self._ground_block(block, done)
        return done

    def _ground_block(self, block: Sequence[slice], done: GroundFormula) -> None:
        shape = tuple(one.stop - one.start for one in block)
        axes = _along_axes((np.arange(one.start, one.stop) for one in block), len(block))
        truth = truth_of(self.typed.root, self._truths(self._indices(axes, len(block)), len(block)))
        truth = np.broadcast_to(truth.reshape(truth.shape[len(self.bound_sizes) :]), shape)
        for is_true, sign in ((True, 1), (False, -1)):
            is_so = truth == sign
            if number := int(is_so.sum()):
                at = np.unravel_index(int(is_so.argmax()), shape) if shape else ()
                example = self._example([one.start + int(place) for one, place in zip(block, at, strict=True)])
                done.settle(is_true, number, example)
        if not (truth == 0).any():
            return
        places = [one.start + at for one, at in zip(block, np.nonzero(truth == 0) if shape else (), strict=True)]
        slots = sum(math.prod(self.bound_sizes) * max(1, len(leaf.atoms)) for leaf in self.leaves)
        step = max(1, _BLOCK // slots)
        for first in range(0, len(places[0]) if places else 1, step):
            self._ground_open([place[first : first + step] for place in places], done)

    def _ground_open(self, places: Sequence[Ints], done: GroundFormula) -> None:
        """Groundings that are not certain: those that look alike share a table."""
        number = len(places[0]) if places else 1
        indices = self._indices(places, 1)
        truths = self._truths(indices, 1)
        marks: dict[Leaf, Flags] = {}
        _mark(self.typed.root, truths, np.ones((1,) * (len(self.bound_sizes) + 1), dtype=bool), marks)
        keys, atoms, rows_of = list[Ints](), list[Ints](), dict[Leaf, tuple[int, tuple[int, ...]]]()
        for leaf, truth in truths.items():
            natural = truth.shape[:-1]
            rows_of[leaf] = (sum(map(len, keys)), natural)
            flat = (*natural, number)
            marked = marks[leaf]
            extra = tuple(axis for axis, size in enumerate(natural) if size < marked.shape[axis])
            is_open = np.broadcast_to(marked.any(axis=extra, keepdims=True), flat).reshape(-1, number)
            own_keys = [np.where(is_open, 0, np.broadcast_to(truth > 0, flat).reshape(-1, number)).astype(np.int64)]
            own_keys += [np.zeros_like(own_keys[0])] * (len(leaf.atoms) - 1)
            for at, atom in enumerate(leaf.atoms):
                codes, numbers = (
                    np.broadcast_to(array, flat).reshape(-1, number) for array in self._look_up(atom, indices)
                )
                own_keys[at] = np.where(is_open, -1 - codes.astype(np.int64), own_keys[at])
                atoms.append(np.where(is_open & np.less(codes, 0), numbers, -1))
            keys += own_keys
            atoms += [np.full_like(own_keys[0], -1)] if not leaf.atoms else []
        self._share_tables(np.concatenate(keys), np.concatenate(atoms), rows_of, places, done)

    def _share_tables(
        self,
        keys: Ints,
        atoms: Ints,
        rows_of: Mapping[Leaf, tuple[int, tuple[int, ...]]],
        places: Sequence[Ints],
        done: GroundFormula,
    ) -> None:
        """Find the groundings that are alike, and make a table for each kind of them.

        Arrays are slots x groundings: of each slot its key, and the atom that is not known in it, -1 where there is
        none. In keys 0 and 1 are truths of leaves, numbers below known states, and those above atoms by their ranks.
        """
        order = np.argsort(atoms, axis=0, kind="stable")
        ordered = np.take_along_axis(atoms, order, axis=0)
        is_new = ordered >= 0
        is_new[1:] &= ordered[1:] != ordered[:-1]
        ranks = np.empty_like(atoms)
        np.put_along_axis(ranks, order, np.cumsum(is_new, axis=0) - 1, axis=0)
        keys = np.where(atoms >= 0, 2 + ranks, keys)
        firsts, kinds = labels_of(keys)
        members = np.split(np.argsort(kinds, kind="stable"), np.cumsum(np.bincount(kinds))[:-1])
        for first, chosen in zip(firsts.tolist(), members, strict=True):
            scopes = ordered.T[chosen][is_new.T[chosen]].reshape(len(chosen), -1)
            sizes = tuple(self.universe.num_states(scopes[0]).tolist())
            where = [int(place[first]) for place in places]
            if math.prod(sizes) > _MOST_ENTRIES:
                raise self._too_large(where, scopes[0])
            is_true = self._table(keys[:, first], sizes, rows_of)
            if is_true.all() or not is_true.any():
                done.settle(bool(is_true[0]), len(chosen), self._example(where))
            else:
                done.tables.append(GroundTable(is_true, sizes, scopes))

    def _table(self, keys: Ints, sizes: tuple[int, ...], rows_of: Mapping[Leaf, tuple[int, tuple[int, ...]]]) -> Flags:
        """Whether the formula holds, at each assignment to the atoms that are left of a grounding."""
        axes = _along_axes(map(np.arange, sizes), len(sizes))
        truths: dict[Leaf, Truth] = {}
        for leaf, (start, natural) in rows_of.items():
            num = math.prod(natural)
            own = keys[start : start + max(1, len(leaf.atoms)) * num].reshape(-1, num)
            is_open = (own[0] < 0) | (own[0] > 1)
            truth = np.where(own[0] == 1, 1, -1).astype(np.int8).reshape(num, *(1 for _ in axes))
            if is_open.any():
                truth = truth + np.zeros(sizes, dtype=np.int8)
                for slot in np.flatnonzero(is_open).tolist():
                    states = tuple(axes[key - 2] if key > 1 else -1 - key for key in own[:, slot].tolist())
                    truth[slot] = self.leaves[leaf][states]
            truths[leaf] = truth.reshape(*natural, *truth.shape[1:])
        found = truth_of(self.typed.root, truths)
        return np.broadcast_to(found.reshape(found.shape[len(self.bound_sizes) :]), sizes).ravel() > 0

    def _indices(self, free: Sequence[Ints], num: int) -> dict[str, Ints]:
        """Variable -> the constants that it stands for: axes of quantifiers first, then so many of free variables."""
        num_bound = len(self.bound_sizes)
        bound = _along_axes(map(np.arange, self.bound_sizes), num_bound + num)
        free = [one.reshape((1,) * num_bound + one.shape) for one in free]
        return dict(zip((*self.typed.bound, *self.typed.free), (*bound, *free), strict=True))

    def _look_up(self, atom: Atom, indices: Mapping[str, Ints]) -> tuple[Codes, Ints]:
        """The states of an atom, -1 where not known, and its numbers, at all substitutions."""
        types = self.universe.predicates[atom.predicate].types
        places = tuple(self._place(term, kind, indices) for term, kind in zip(atom.terms, types, strict=True))
        number: Ints = np.int64(0)  # type: ignore[assignment]
        for place, size in zip(places, self.universe.shapes[atom.predicate], strict=True):
            number = number * size + place
        return np.asarray(self.known[atom.predicate][places]), number + self.universe.starts[atom.predicate]

    def _place(self, term: Term, kind: str, indices: Mapping[str, Ints]) -> Ints:
        return np.asarray(self.universe.places[kind][term.name] if term.is_constant else indices[term.name])

    def _truths(self, indices: Mapping[str, Ints], num: int) -> dict[Leaf, Truth]:
        """The truth of each leaf at all substitutions, each with all axes."""
        num_axes = len(self.bound_sizes) + num
        truths: dict[Leaf, Truth] = {}
        for leaf, by_states in self.leaves.items():
            if isinstance(leaf, SameTerm):
                truth = self._same(leaf, indices)
            else:
                truth = by_states[tuple(self._look_up(atom, indices)[0] for atom in leaf.atoms)]
            truths[leaf] = truth.reshape((1,) * (num_axes - truth.ndim) + truth.shape)
        return truths

    def _same(self, leaf: SameTerm, indices: Mapping[str, Ints]) -> Truth:
        """Whether two terms are the same constant."""
        types = {**self.typed.free, **self.typed.bound}
        kind = next((types[term.name] for term in (leaf.first, leaf.second) if not term.is_constant), None)
        if kind is None:
            return np.asarray(1 if leaf.first == leaf.second else -1, dtype=np.int8)
        is_same = self._place(leaf.first, kind, indices) == self._place(leaf.second, kind, indices)
        return np.where(is_same, 1, -1).astype(np.int8)

    def _truth_of_states(self, leaf: Leaf) -> Truth:
        """The truth of a leaf at each combination of its atoms' states, 0 in the last place of each axis: not known."""
        variables = [self.universe.predicates[atom.predicate].variable for atom in leaf.atoms]
        truth = np.zeros([variable.num_states + 1 for variable in variables], dtype=np.int8)
        for cell in cartesian(*(range(variable.num_states) for variable in variables)):
            states = [variable.states[place] for variable, place in zip(variables, cell, strict=True)]
            if isinstance(leaf, Atom):
                is_true = states[0] is True
            elif isinstance(leaf, HasState):
                is_true = states[0] == variables[0].state_from_text(leaf.state)
            else:
                is_true = states[:1] == states[1:]
            truth[cell] = 1 if is_true else -1
        return truth

    def _example(self, places: Sequence[int]) -> str:
        """A substitution, in words."""
        kinds = self.typed.free.items()
        told = [
            f"{name}={self.universe.constants[kind].states[at]}" for (name, kind), at in zip(kinds, places, strict=True)
        ]
        return ", ".join(told)

    def _too_large(self, places: Sequence[int], scope: Ints) -> TooLarge:
        names = self.universe.names(scope[:3])
        where = f" at {self._example(places)}" if places else ""
        return TooLarge(
            f"The grounding of {self.formula}{where} hangs on {len(scope)} atoms at once ({', '.join(names)}, ...), so "
            f"that its table has more than {_MOST_ENTRIES:,} entries. Tell some of them by evidence=, close a "
            "predicate by closed=, or take fewer constants under its quantifier."
        )


def _along_axes(arrays: Iterable[Ints], num: int) -> list[Ints]:
    """Lists, each along an axis of its own, the first along the first, of so many."""
    return [one.reshape([-1 if a == axis else 1 for a in range(num)]) for axis, one in enumerate(arrays)]


def _mark(sentence: Sentence, truths: Mapping[Leaf, Truth], relevant: Flags, marks: dict[Leaf, Flags]) -> None:
    """Find where leaves matter: where neither they nor any sentence around them is certain."""
    relevant = relevant & (truth_of(sentence, truths) == 0)
    if isinstance(sentence, Leaf):
        marks[sentence] = marks[sentence] | relevant if sentence in marks else relevant
    for part in sentence.parts:
        _mark(part, truths, relevant, marks)


def _blocks(sizes: Sequence[int], times: int) -> Iterator[tuple[slice, ...]]:
    """Boxes of substitutions that cover all of them, so many truths at a time."""
    if not sizes:
        yield ()
        return
    rest = math.prod(sizes[1:]) * times
    step = max(1, _BLOCK // max(1, rest))
    for start in range(0, sizes[0], step):
        own = slice(start, min(start + step, sizes[0]))
        tails = _blocks(sizes[1:], times) if rest > _BLOCK else [tuple(slice(0, size) for size in sizes[1:])]
        for tail in tails:
            yield (own, *tail)
