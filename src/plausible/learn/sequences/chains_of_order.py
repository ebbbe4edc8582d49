"""Markov chains of any order, learned by counting with smoothing; and counts of n-grams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Ints
from plausible.base.method_names import keyword_hints
from plausible.base.options import check_number, generator_of, read_count
from plausible.base.records import Result, record
from plausible.data.sequences import Sequences, SequencesLike
from plausible.errors import InvalidArgument, NotSupported, TooLarge
from plausible.inference.markov_chains.markov_chain import MarkovChain
from plausible.learn.classifiers.estimator import Estimator
from plausible.models.sequences.emissions import OBSERVATION
from plausible.variables import State, Variable

if TYPE_CHECKING:
    import pandas as pd

#: A table of transitions may have so many entries.
_MOST_ENTRIES = 10_000_000


@record(eq=False)
class ChainFit(Result):
    """A Markov chain of some order that was learned: P(x_t | the `order` symbols before it).

    The first symbols of a sequence have tables of their own, from how sequences begin.
    """

    variable: Variable  # What the chain goes through
    order: int  # How many symbols before one matter
    starts: tuple[Floats, ...]  # P(x_1), P(x_2 | x_1), ..., a table for each of the first symbols
    transition: Floats  # P(x_t | x_t-order ... x_t-1): axes from the earliest symbol to the latest

    _told = ("variable", "order")

    def step_log_likelihoods(self, rows: SequencesLike, **places: Any) -> pd.Series[float]:
        """log P(x_t | symbols before it) of each row."""
        sequences = self._read(rows, places)
        return sequences.series(self._step_logs(sequences), "log_likelihood")

    def log_likelihood(self, rows: SequencesLike, **places: Any) -> float:
        """log P of all rows together."""
        return float(self._step_logs(self._read(rows, places)).sum())

    def log_likelihoods(self, rows: SequencesLike, **places: Any) -> pd.Series[float]:
        """log P of each sequence."""
        sequences = self._read(rows, places)
        steps = self._step_logs(sequences)
        return sequences.each_sequence(
            np.array([steps[begin:end].sum() for begin, end in pairwise(sequences.starts)]), "log_likelihood"
        )

    def _read(self, rows: SequencesLike, places: dict[str, Any]) -> Sequences:
        return Sequences.read(rows, {self.variable.name: self.variable}, place="this chain", **places)

    def _step_logs(self, sequences: Sequences) -> Floats:
        codes, at = complete_codes(sequences, self.variable.name), position_of(sequences)
        logs = np.empty(len(codes))
        with np.errstate(divide="ignore"):
            for length, table in enumerate((*self.starts, self.transition)):
                here = np.flatnonzero(at == length if length < self.order else at >= length)
                logs[here] = np.log(table[tuple(codes[here - back] for back in range(length, -1, -1))])
        return logs

    def simulate(
        self, length: int, seed: int | np.random.Generator | None = None, num_sequences: int = 1
    ) -> list[list[State]]:
        """Sequences drawn from the chain.

        >>> chain = markov_chain([list("abab")], order=1)
        >>> chain.simulate(4, seed=0)
        [['a', 'b', 'a', 'b']]
        """
        size, rng = read_count("length", length), generator_of(seed)
        codes = np.empty((read_count("num_sequences", num_sequences, 1), size), dtype=np.int64)
        for t in range(size):
            table = self.starts[t] if t < self.order else self.transition
            rows = table[tuple(codes[:, t - back] for back in range(table.ndim - 1, 0, -1))]
            rows = np.broadcast_to(rows, (len(codes), self.variable.num_states))
            levels = rng.random(len(codes))[:, None]
            codes[:, t] = (levels >= np.cumsum(rows, axis=1)[:, :-1]).sum(axis=1)
        return [[self.variable.states[code] for code in row] for row in codes.tolist()]

    def to_chain(self) -> MarkovChain:
        """The chain of order one over the last symbols, whose states are tuples where the order is above one."""
        size = self.variable.num_states
        if self.order == 1:
            return MarkovChain(self.transition, self.variable.states, self.starts[0])
        contexts = list(np.ndindex(*[size] * self.order))
        table = np.zeros((len(contexts), len(contexts)))
        for row, context in enumerate(contexts):
            column = np.ravel_multi_index((*context[1:], 0), [size] * self.order)
            table[row, column : column + size] = self.transition[context]
        joint = self.starts[0]
        for later in self.starts[1:]:
            joint = joint[..., None] * later
        names = [tuple(self.variable.states[code] for code in context) for context in contexts]
        return MarkovChain(table, names, joint.ravel())

    def __str__(self) -> str:
        return f"Markov chain of order {self.order} through {self.variable.num_states} symbols"


@keyword_hints
def markov_chain(
    rows: SequencesLike,
    order: int = 1,
    *,
    prior: float = 0.0,
    backoff: float = 0.0,
    variable: Variable | None = None,
    sequence: str | None = None,
    time: str | None = None,
    gaps: str = "refuse",
) -> ChainFit:
    """Learn a Markov chain of any order: (#hx + prior + backoff · P(x | shorter h)) / (#h + ...).

    A context that was never seen takes what the next shorter one says, and so on.

    Parameters
    ----------
    rows
        One column of symbols, a row a step; several sequences as for all models in time.
    order
        How many symbols before one matter; 0 for none.
    prior
        A pseudo-count for each symbol in each context: 0 for the greatest likelihood, 1 for the add-one rule.
    backoff
        So many cases spread as the context without its earliest symbol says: interpolation of all orders.
    variable
        The symbols, where rows do not have all of them.

    Examples
    --------
    >>> chain = markov_chain([list("abab"), list("aab")], prior=1)
    >>> chain.transition.round(4)
    array([[0.3333, 0.6667],
           [0.6667, 0.3333]])
    >>> second = markov_chain([list("aabbaabbaabb")], order=2)
    >>> second.transition[0, 0].tolist()
    [0.0, 1.0]
    """
    depth = read_count("order", order)
    for name, number in (("prior", prior), ("backoff", backoff)):
        check_number(name, number, least=0)
    known = {} if variable is None else {variable.name: variable}
    sequences = Sequences.read(
        rows,
        known,
        sequence=sequence,
        time=time,
        gaps=gaps,
        infer=not known,
        lone=OBSERVATION if variable is None else variable.name,
        place="these rows",
    )
    return chain_of(sequences, depth, prior, backoff)


def chain_of(sequences: Sequences, order: int, prior: float, backoff: float) -> ChainFit:
    """The chain of rows that were read."""
    if len(sequences.variables) != 1:
        raise InvalidArgument(f"A chain goes through one column of symbols, but there are {list(sequences.variables)}.")
    (variable,) = sequences.variables.values()
    if variable.is_continuous:
        raise NotSupported(f"{variable.name!r} has numbers; chains go through symbols. Cut them into intervals.")
    if variable.num_states ** (order + 1) > _MOST_ENTRIES:
        raise TooLarge(f"A table of order {order} over {variable.num_states} symbols is too large. Take a lower order.")
    codes, at = complete_codes(sequences, variable.name), position_of(sequences)
    starts: list[Floats] = []
    for length in range(order):
        shorter = starts[-1] if length else None
        own = np.flatnonzero(at == length)
        starts.append(_smoothed(_windows(codes, own, length, variable.num_states), _shortened(shorter), prior, backoff))
    lower: Floats | None = None
    for length in range(order + 1):
        own = np.flatnonzero(at >= length)
        lower = _smoothed(_windows(codes, own, length, variable.num_states), _shortened(lower), prior, backoff)
    assert lower is not None
    return ChainFit(variable, order, tuple(starts), lower)


def _windows(codes: Ints, ends: NDArray[np.intp], length: int, size: int) -> Floats:
    """How often each symbol followed each context of a length, at some steps."""
    shape = (size,) * (length + 1)
    flat = np.ravel_multi_index(tuple(codes[ends - back] for back in range(length, -1, -1)), shape)
    return np.bincount(flat, minlength=size ** (length + 1)).astype(float).reshape(shape)


def _shortened(table: Floats | None) -> Floats | None:
    """A table of shorter contexts as one of longer contexts, whose earliest symbol does not matter."""
    return None if table is None else table[None]


def _smoothed(counts: Floats, shorter: Floats | None, prior: float, backoff: float) -> Floats:
    uniform = np.full(counts.shape[-1], 1 / counts.shape[-1])
    below = uniform if shorter is None else shorter
    cells = counts + prior + (backoff * below if shorter is not None else 0.0)
    totals = cells.sum(axis=-1, keepdims=True)
    fallback = np.broadcast_to(below, counts.shape).copy()
    return np.asarray(np.divide(cells, np.broadcast_to(totals, cells.shape), out=fallback, where=totals > 0))


def complete_codes(sequences: Sequences, name: str) -> Ints:
    """The symbols by position; an error where one is missing."""
    codes = sequences.columns[name].astype(np.int64)
    if (codes < 0).any():
        raise InvalidArgument(
            f"{name!r} is missing at {sequences.where(int(np.argmax(codes < 0)))}. Chains count complete sequences; "
            "learn.hmm with the state known in part learns from gaps, too."
        )
    return codes


def position_of(sequences: Sequences) -> Ints:
    """How many steps come before each one in its sequence."""
    lengths = np.diff(sequences.starts)
    return np.arange(sequences.num_steps) - np.repeat(sequences.starts[:-1], lengths)


# --- n-grams ---


def ngram_counts(
    sequences: Iterable[Sequence[State]], longest: int = 2, least: int = 1
) -> dict[tuple[State, ...], int]:
    """How often each run of up to `longest` symbols occurs, runs that overlap included, if at least `least` times.

    What occurs k times has parts that occur k times at least: longer runs are counted only where both runs without an
    end are frequent (Agrawal & Srikant 1994).

    >>> ngram_counts([list("abab")], longest=3, least=2)
    {('a',): 2, ('b',): 2, ('a', 'b'): 2}
    """
    listed = [tuple(each) for each in sequences]
    most, fewest = read_count("longest", longest, 1), read_count("least", least, 1)
    frequent: dict[tuple[State, ...], int] = {}
    places = [list(range(len(each))) for each in listed]
    for size in range(1, most + 1):
        pairs = [(each, start) for each, starts in zip(listed, places, strict=True) for start in starts]
        counts = Counter(each[start : start + size] for each, start in pairs)
        kept = {run: count for run, count in counts.items() if count >= fewest}
        if not kept:
            break
        frequent |= kept
        places = [
            [start for start in starts if _may_go_on(each, start, size, kept)]
            for each, starts in zip(listed, places, strict=True)
        ]
    return frequent


def _may_go_on(each: tuple[State, ...], start: int, size: int, kept: dict[tuple[State, ...], int]) -> bool:
    """Whether a run that is longer by one may be frequent: both of its parts are."""
    stop = start + size
    return stop < len(each) and each[start:stop] in kept and each[start + 1 : stop + 1] in kept


class NGramCounts(Estimator):
    """Sequences as rows of counts of n-grams, in the form of scikit-learn: features for any classifier.

    Parameters
    ----------
    longest, least
        The longest runs to count, and how often they must occur in all sequences together.

    Examples
    --------
    >>> counts = NGramCounts(longest=2).fit([list("aba"), list("bb")])
    >>> counts.transform([list("ab")]).tolist()
    [[1.0, 1.0, 1.0, 0.0, 0.0]]
    >>> counts.get_feature_names_out().tolist()
    ['a', 'b', 'a b', 'b a', 'b b']
    """

    def __init__(self, longest: int = 2, least: int = 1) -> None:
        self.longest = longest
        self.least = least

    def fit(self, X: Iterable[Sequence[State]], y: Any = None) -> Self:
        """Find the runs that are frequent enough."""
        self.ngrams_ = tuple(ngram_counts(X, self.longest, self.least))
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "ngrams_")

    def transform(self, X: Iterable[Sequence[State]]) -> Floats:
        """A row for each sequence, a column for each run."""
        self._check_fitted()
        columns = {run: place for place, run in enumerate(self.ngrams_)}
        listed = [tuple(each) for each in X]
        counts = np.zeros((len(listed), len(columns)))
        for row, each in enumerate(listed):
            for size in {len(run) for run in self.ngrams_}:
                for start in range(len(each) - size + 1):
                    place = columns.get(each[start : start + size])
                    if place is not None:
                        counts[row, place] += 1
        return counts

    def fit_transform(self, X: Iterable[Sequence[State]], y: Any = None) -> Floats:
        """Both, on the same sequences."""
        listed = list(X)
        return self.fit(listed).transform(listed)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The runs as texts."""
        self._check_fitted()
        return np.array([" ".join(map(str, run)) for run in self.ngrams_], dtype=object)
