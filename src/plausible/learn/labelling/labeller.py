"""What all sequence labellers answer, whatever made the scores of their chains."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.options import check_count
from plausible.base.tolerances import PROBABILITY_NOISE
from plausible.errors import ImpossibleEvidence, InvalidArgument, counted
from plausible.learn.classifiers.estimator import Estimator
from plausible.learn.labelling.chains import Chains
from plausible.learn.labelling.explanation import Explanation, TokenFeature, explained
from plausible.learn.labelling.labels import Labels, read_labels, read_shares
from plausible.learn.labelling.storage import load, save, to_record
from plausible.learn.labelling.tokens import FrameRows, SequenceLike, Tokens, Vocabulary, read_tokens

if TYPE_CHECKING:
    import pandas as pd


class Labelling(NamedTuple):
    """Labels of a sequence, and how probable they are."""

    labels: list[Hashable]
    log_probability: float  # log P(labels | sequence)


class Given(NamedTuple):
    """Sequences as they were given, and their labels, none where they were not."""

    sequences: Iterable[SequenceLike]
    labels: Iterable[Iterable[Any]]


def read_given(sequences: Any, labels: Any, sequence: str | None, time: str | None) -> Given:
    """A list of sequences with a list of labels, or one frame with columns for them."""
    if sequence is None:
        if time is not None:
            raise InvalidArgument(
                f"time={time!r} orders rows of one frame: name the column of its sequences, sequence=."
            )
        return Given(sequences, () if labels is None else labels)
    rows = FrameRows.read(sequences, sequence, time)
    if isinstance(labels, str):
        rows, labels = rows.without(labels)
    return Given(rows.sequences, () if labels is None else labels)


class SequenceLabeller(Estimator, ABC):
    """A label for each token, by chains in which neighbouring labels depend on one another.

    Sequences are told in one of these forms: a list of dictionaries, one for each token, in which texts become
    indicators such as "word=the", numbers are values, and True is one; a list of lists of texts, each an indicator; a
    matrix with a row for each token, dense or sparse; a data frame. Many sequences are a list of them, or one frame
    with the arguments `sequence=` and `time=`, which name columns; labels may then be the name of a column, too.
    Features that were not there when fitting are ignored.
    """

    threads: int | None
    classes_: tuple[Hashable, ...]
    vocabulary_: Vocabulary

    _latent = 1  # how many hidden states stand for a label

    def fit(
        self,
        sequences: Any,
        labels: Any = None,
        sample_weight: Iterable[float] | None = None,
        *,
        sequence: str | None = None,
        time: str | None = None,
    ) -> Self:
        """Learn from sequences with a label for each token."""
        self._check_options()
        if labels is None:
            raise InvalidArgument("Labels are needed to fit: a list of lists, one label for each token.")
        given, vocabulary = read_given(sequences, labels, sequence, time), Vocabulary()
        tokens = read_tokens(given.sequences, vocabulary)
        vocabulary.close()
        told = read_labels(given.labels, tokens)
        self._learn(vocabulary, tokens, told, read_shares(sample_weight, tokens.num_sequences))
        return self

    @abstractmethod
    def _check_options(self) -> None:
        """Refuse parameters that make no sense."""

    @abstractmethod
    def _learn(self, vocabulary: Vocabulary, tokens: Tokens, told: Labels, shares: Floats) -> None:
        """Set what is learned from tokens, labels and how often each sequence counts."""

    @abstractmethod
    def _chains(self, tokens: Tokens) -> Chains:
        """The chains of states of some sequences."""

    def _start(self) -> Floats:
        """What is added to the scores of first tokens."""
        return np.zeros(len(self.classes_))

    @abstractmethod
    def _weights_of(self, feature: int) -> Floats:
        """How a feature counts for each state."""

    @abstractmethod
    def _learned(self) -> dict[str, Any]:
        """What was learned beside the labels and the names of features, as lists of numbers."""

    @abstractmethod
    def _take(self, record: Mapping[str, Any]) -> bool:
        """Take what `_learned` told, and say whether it is that of the labels and features."""

    def to_dict(self) -> dict[str, Any]:
        """All that predictions need, and the parameters, in the types that JSON knows."""
        self._check_fitted()
        return to_record(self)

    def save(self, path: str | Path) -> None:
        """Write it to a file, as JSON; how training went is not kept."""
        self._check_fitted()
        save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote."""
        labeller: Self = load(path, {cls.__name__: cls})
        return labeller

    def __sklearn_tags__(self) -> Any:
        """No classifier to scikit-learn, which would ask for a class of each sequence to split data by."""
        utils = import_module("sklearn.utils")
        return utils.Tags(
            estimator_type=None, target_tags=utils.TargetTags(required=True), input_tags=utils.InputTags(string=True)
        )

    def _read(self, sequences: Any, sequence: str | None = None, time: str | None = None) -> Tokens:
        self._check_fitted()
        return read_tokens(read_given(sequences, None, sequence, time).sequences, self.vocabulary_)

    def _read_both(self, sequences: Any, labels: Any, sequence: str | None, time: str | None) -> tuple[Tokens, Labels]:
        self._check_fitted()
        given = read_given(sequences, labels, sequence, time)
        tokens = read_tokens(given.sequences, self.vocabulary_)
        return tokens, read_labels(given.labels, tokens, self.classes_)

    def _possible_chains(self, tokens: Tokens) -> tuple[Chains, Any]:
        chains = self._chains(tokens)
        sums = chains.sums()
        _refuse_impossible(sums.log_totals)
        return chains, sums

    def predict(self, sequences: Any, *, sequence: str | None = None, time: str | None = None) -> list[list[Hashable]]:
        """The most probable labelling of each sequence; with hidden states, the most probable label of each token.

        Of labellings that are equally probable, that with the earlier labels in the order of `classes_`, from the last
        token on.
        """
        tokens = self._read(sequences, sequence, time)
        if self._latent > 1:
            beliefs = self._label_beliefs(self._possible_chains(tokens)[1].beliefs)
            places = np.argmax(beliefs >= beliefs.max(axis=1, keepdims=True, initial=0.0) - PROBABILITY_NOISE, axis=1)
        else:
            paths, values = self._chains(tokens).best()
            _refuse_impossible(values[:, 0])
            places = paths[0]
        return self._named(tokens, places)

    def predict_marginals(
        self, sequences: Any, *, sequence: str | None = None, time: str | None = None
    ) -> list[pd.DataFrame]:
        """P(label | sequence) of each token: for each sequence a frame with a row a token and a column a label."""
        import pandas as pd

        tokens = self._read(sequences, sequence, time)
        beliefs = self._label_beliefs(self._possible_chains(tokens)[1].beliefs)
        columns = pd.Index(list(self.classes_), tupleize_cols=False)
        return [pd.DataFrame(part, columns=columns) for part in tokens.split(beliefs)]

    def predict_pairs(self, sequences: Any, *, sequence: str | None = None, time: str | None = None) -> list[Floats]:
        """P(label, next label | sequence): for each sequence an array with the axes position, label, next label."""
        tokens = self._read(sequences, sequence, time)
        chains = self._chains(tokens)
        sums, size = chains.sums(with_edges=True), len(self.classes_)
        _refuse_impossible(sums.log_totals)
        shape = (len(sums.edges), size, self._latent, size, self._latent)
        return [part[1:] for part in tokens.split(sums.edges.reshape(shape).sum(axis=(2, 4)))]

    def predict_best(
        self, sequences: Any, number: int, *, sequence: str | None = None, time: str | None = None
    ) -> list[list[Labelling]]:
        """The most probable labellings of each sequence, best first; fewer where there are not so many."""
        check_count("number", number, 1)
        if self._latent > 1:
            raise InvalidArgument(
                "With hidden states, labellings are sums over many paths: only single labels are told."
            )
        tokens = self._read(sequences, sequence, time)
        chains, sums = self._possible_chains(tokens)
        paths, values = chains.best(number)
        found: list[list[Labelling]] = [[] for _ in range(tokens.num_sequences)]
        for rank in range(number):
            for place, labels in enumerate(self._named(tokens, paths[rank])):
                if values[place, rank] > -np.inf:
                    found[place].append(Labelling(labels, float(values[place, rank] - sums.log_totals[place])))
        return found

    def log_likelihood(
        self, sequences: Any, labels: Any, *, sequence: str | None = None, time: str | None = None
    ) -> float:
        """Σ log P(labels | sequence), natural logarithms; labels that are `None` or sets are summed over."""
        tokens, told = self._read_both(sequences, labels, sequence, time)
        chains, states = self._chains(tokens), told.states(self._latent)
        if states.allowed is None:
            scores = chains.scores_of(states.codes)
        else:
            scores = chains.within(states.allowed).sums().log_totals
        return float((scores - chains.sums().log_totals).sum())

    def score(
        self,
        sequences: Any,
        labels: Any,
        sample_weight: Iterable[float] | None = None,
        *,
        sequence: str | None = None,
        time: str | None = None,
    ) -> float:
        """The share of tokens whose label is predicted, of those whose label is told."""
        given = read_given(sequences, labels, sequence, time)
        tokens, told = self._read_both(list(given.sequences), given.labels, None, None)
        place_of = {label: place for place, label in enumerate(self.classes_)}
        predicted = self.predict(given.sequences)
        places = np.array([place_of[label] for one in predicted for label in one], dtype=np.int64)
        shares = np.repeat(read_shares(sample_weight, tokens.num_sequences), np.diff(tokens.sequence_starts))
        shares = shares * (told.codes >= 0)
        if not shares.sum() > 0:
            raise InvalidArgument("No token has a label and a weight: there is nothing to score.")
        return float(shares @ (places == told.codes) / shares.sum())

    def explain(self, sequence: SequenceLike, position: int, *, against: Hashable = None) -> Explanation:
        """Why a token has its label and not another: by default the most probable one and the next.

        The log-odds of the two, log P(label | sequence) - log P(other | sequence), is the sum of what each feature of
        the token says, and of what the labels before and after it say by their transitions.
        """
        tokens = self._read([sequence])
        if not -tokens.num_tokens <= position < tokens.num_tokens:
            raise InvalidArgument(
                f"position={position} is not in the sequence, which has {counted(tokens.num_tokens, 'token')}."
            )
        if self._latent > 1:
            raise InvalidArgument("With hidden states, the log-odds of labels is no sum over features.")
        place, names = position % tokens.num_tokens, self.vocabulary_.names
        entries = range(tokens.starts[place], tokens.starts[place + 1])
        features = [
            TokenFeature(names[tokens.features[entry]], tokens.values[entry], self._weights_of(tokens.features[entry]))
            for entry in entries
        ]
        return explained(self._chains(tokens), place, features, self._start(), self.classes_, against)

    def _label_beliefs(self, beliefs: Floats) -> Floats:
        return np.asarray(beliefs.reshape(len(beliefs), len(self.classes_), self._latent).sum(axis=2))

    def _named(self, tokens: Tokens, places: Any) -> list[list[Hashable]]:
        names = [self.classes_[place] for place in places.tolist()]
        return tokens.split(names)


def _refuse_impossible(log_totals: Floats) -> None:
    """Refuse sequences that no labelling is possible for: weights of -inf forbid all of them."""
    if np.isneginf(log_totals).any():
        raise ImpossibleEvidence(
            f"Sequence {int(np.argmin(log_totals))} has no possible labelling under these weights."
        )
