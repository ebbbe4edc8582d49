"""Labellers that are trained label by label: maximum entropy Markov models, and hidden Markov models by counting."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.options import check_number
from plausible.base.tolerances import PROBABILITY_NOISE
from plausible.errors import InvalidArgument
from plausible.learn.labelling.chains import Chains
from plausible.learn.labelling.crf import LogLinearLabeller
from plausible.learn.labelling.labeller import SequenceLabeller
from plausible.learn.labelling.labels import Labels
from plausible.learn.labelling.likelihood import LabelledTokens, LocalLikelihood
from plausible.learn.labelling.tokens import Tokens, Vocabulary
from plausible.learn.labelling.training import Trained, climb_likelihood
from plausible.learn.undirected.priors import Penalty


@dataclass(kw_only=True, eq=False, repr=False)
class MaximumEntropyMarkovModel(LogLinearLabeller):
    """P(labels | x) = Π_t P(label | label before, x_t), each a multinomial logistic regression (MEMM).

    The features, the weights and the options are those of `ChainCRF`. As each label is normalised by itself, what
    comes later cannot revise what was said before: P(label t | x) depends on x_1 ... x_t only, which is called label
    bias. It is worst where transitions are nearly deterministic.

    References
    ----------
    McCallum, Freitag & Pereira (2000), Maximum entropy Markov models for information extraction and segmentation.

    Examples
    --------
    >>> model = MaximumEntropyMarkovModel().fit([["the", "cat"], ["cats", "sleep"]], [["D", "N"], ["N", "V"]])
    >>> [f"{model.predict_marginals([['the', last]])[0].loc[0, 'D']:.6f}" for last in ("cat", "sleep")]
    ['0.461432', '0.461432']
    """

    def _trained(self, data: LabelledTokens, penalty: Penalty) -> Trained:
        if not data.labels.is_complete:
            raise InvalidArgument("A MEMM needs the label of each token; ChainCRF sums over those that are not told.")
        start = np.zeros(data.layout.num_weights) if self.resume is None else self.resume
        return climb_likelihood(LocalLikelihood(data), penalty, start, self._stops())

    def _log_likelihood(self, data: LabelledTokens, weights: Floats) -> float:
        return LocalLikelihood(data).at(weights)[0]

    def _chains(self, tokens: Tokens) -> Chains:
        """What normalises a label depends on the one before, so it is part of that one's score."""
        chains, later = super()._chains(tokens), tokens.later
        chains.scores[later - 1] -= _log_totals(self._scores(tokens)[later], chains.transitions)
        return chains


def _log_totals(scores: Floats, transitions: Floats) -> Floats:
    """log Σ_label exp(score + transition), of each token and label before it."""
    both = scores[:, None, :] + transitions
    peaks = both.max(axis=2, initial=-1e300)
    return np.asarray(peaks + np.log(np.exp(both - peaks[:, :, None]).sum(axis=2)))


@dataclass(kw_only=True, eq=False, repr=False)
class HiddenMarkovLabeller(SequenceLabeller):
    """A hidden Markov model of labels and one symbol a token, by counts and a Dirichlet prior in each row.

    P(labels, symbols) = Π_t P(label | label before) P(symbol | label): it is told how labels go on and what they look
    like, not how to tell them apart, so it needs fewer sequences than a conditional model where it holds, and is worse
    where there are plenty and it does not.

    Parameters
    ----------
    pseudo_counts
        Added to each count of first labels, transitions and symbols.
    threads
        By default one for each core.

    Examples
    --------
    >>> model = HiddenMarkovLabeller().fit([["the", "cat", "sleeps"]], [["D", "N", "V"]])
    >>> model.predict([["the", "dog"]])
    [['D', 'N']]
    """

    pseudo_counts: float = 1.0
    threads: int | None = None

    classes_: tuple[Hashable, ...] = field(init=False)  # The labels, sorted if they can be
    vocabulary_: Vocabulary = field(init=False)  # The symbols and their places
    initial_: Floats = field(init=False)  # P(first label)
    transition_: Floats = field(init=False)  # P(label | label before): axes are the label before and the label
    emission_: Floats = field(init=False)  # P(symbol | label): axes are label and symbol

    def _check_options(self) -> None:
        check_number("pseudo_counts", self.pseudo_counts, least=0)

    def _learn(self, vocabulary: Vocabulary, tokens: Tokens, told: Labels, shares: Floats) -> None:
        """Count; each token has one symbol, such as "the" or {"word": "the"}."""
        _refuse_many(tokens, exactly=True)
        if not told.is_complete:
            raise InvalidArgument("Counting needs the label of each token; ChainCRF sums over those that are not told.")
        weights, size = np.repeat(shares, np.diff(tokens.sequence_starts)), len(told.classes)
        codes, later = told.codes.astype(np.int64), tokens.later
        firsts = np.setdiff1d(np.arange(tokens.num_tokens), later)
        self.classes_, self.vocabulary_ = told.classes, vocabulary
        self.initial_ = self._rows(codes[firsts], weights[firsts], (size,))
        self.transition_ = self._rows(codes[later - 1] * size + codes[later], weights[later], (size, size))
        symbols = len(vocabulary.places)
        self.emission_ = self._rows(codes * symbols + tokens.features, weights, (size, symbols))

    def _rows(self, cells: Any, weights: Floats, shape: tuple[int, ...]) -> Floats:
        """Counts as probabilities; rows without any are uniform."""
        counts = np.bincount(cells, weights, minlength=int(np.prod(shape))).reshape(shape) + self.pseudo_counts
        totals = counts.sum(axis=-1, keepdims=True)
        return np.asarray(np.where(totals > 0, counts, 1.0) / np.where(totals > 0, totals, float(shape[-1])))

    def _learned(self) -> dict[str, Any]:
        return {"first": self.initial_.tolist(), "next": self.transition_.tolist(), "symbols": self.emission_.tolist()}

    def _take(self, record: Mapping[str, Any]) -> bool:
        size, symbols = len(self.classes_), len(self.vocabulary_.places)
        tables = [np.array(record[name], dtype=float) for name in ("first", "next", "symbols")]
        self.initial_, self.transition_, self.emission_ = tables
        shapes = [(size,), (size, size), (size, symbols)]
        return [table.shape for table in tables] == shapes and all(
            bool((table >= 0).all()) and np.allclose(table.sum(axis=-1), 1.0, rtol=0, atol=PROBABILITY_NOISE)
            for table in tables
        )

    def _start(self) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.initial_))

    def _weights_of(self, feature: int) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.emission_[:, feature]))

    def _scores(self, tokens: Tokens) -> Floats:
        """A symbol that was not there when fitting says nothing."""
        _refuse_many(tokens, exactly=False)
        scores, has_symbol = np.zeros((tokens.num_tokens, len(self.classes_))), np.diff(tokens.starts) > 0
        with np.errstate(divide="ignore"):
            scores[has_symbol] = np.log(self.emission_).T[tokens.features]
        return scores

    def _chains(self, tokens: Tokens) -> Chains:
        scores = self._scores(tokens)
        scores[np.setdiff1d(np.arange(tokens.num_tokens), tokens.later)] += self._start()
        with np.errstate(divide="ignore"):
            return Chains(tokens.sequence_starts, scores, np.log(self.transition_), self.threads)


def _refuse_many(tokens: Tokens, *, exactly: bool) -> None:
    numbers = np.diff(tokens.starts)
    wrong = (numbers != 1) if exactly else (numbers > 1)
    if wrong.any():
        token = int(np.argmax(wrong))
        raise InvalidArgument(
            f"{tokens.place_of(token)} has {numbers[token]} symbols, but a hidden Markov model has one for each token: "
            "give one text, or take ChainCRF."
        )
    if (tokens.values != 1).any():
        raise InvalidArgument("A hidden Markov model has symbols, not numbers: give one text for each token.")
