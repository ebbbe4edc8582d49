"""The log-likelihood of labels given features, as a function of the weights: of whole chains, or label by label."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Codes, Flags, Floats, Ints, inner
from plausible.errors import InvalidArgument
from plausible.kernels.label_chains import TokenFeatures
from plausible.learn.labelling.chains import Chains, FeatureTable
from plausible.learn.labelling.labels import Labels, WeightLayout
from plausible.learn.labelling.tokens import Tokens


@dataclass(frozen=True, slots=True, eq=False)
class LabelledTokens:
    """Sequences with what is told of their labels, laid out for the weights of a model."""

    tokens: Tokens
    labels: Labels  # of hidden states
    shares: Floats  # how often each sequence counts
    layout: WeightLayout
    rows: TokenFeatures
    table: FeatureTable
    threads: int | None = None

    @classmethod
    def of(
        cls, tokens: Tokens, labels: Labels, shares: Floats, layout: WeightLayout, threads: int | None
    ) -> LabelledTokens:
        """Lay the features out."""
        rows = TokenFeatures(tokens.starts, tokens.features, tokens.values, layout.starts, layout.states)
        return cls(tokens, labels, shares, layout, rows, FeatureTable.of(rows, layout.num_states), threads)

    @property
    def num_tokens(self) -> float:
        """How many tokens count."""
        return float(self.shares @ np.diff(self.tokens.sequence_starts))

    @property
    def starts(self) -> Ints:
        """Where sequences begin."""
        return self.tokens.sequence_starts

    @property
    def allowed(self) -> Flags:
        """Token, state: whether it may be."""
        if self.labels.allowed is None:
            return np.eye(self.layout.num_states, dtype=bool)[self.labels.codes]
        return self.labels.allowed

    @property
    def token_shares(self) -> Floats:
        """The share of the sequence of each token."""
        return np.repeat(self.shares, np.diff(self.starts))

    def chains(self, weights: Floats) -> Chains:
        """The chains that weights make."""
        scores = self.table.scores(weights, self.threads)
        return Chains(self.starts, scores, self.layout.matrix(weights), self.threads)

    def expected(self, beliefs: Floats, pairs: Floats) -> Floats:
        """The expected sum of each feature that has a weight."""
        return self.layout.joined(self.table.sums(beliefs, self.threads), pairs)

    def observed(self) -> Floats:
        """The sums of the features of complete labels."""
        return self.observed_of(self.labels.codes)

    def observed_of(self, states: Codes) -> Floats:
        """The sums of the features of a labelling."""
        size, codes, later = self.layout.num_states, states.astype(np.int64), self.tokens.later
        beliefs = np.zeros((len(codes), size))
        beliefs[np.arange(len(codes)), codes] = self.token_shares
        places = codes[later - 1] * size + codes[later]
        pairs = np.bincount(places, self.token_shares[later], minlength=size**2).astype(float)
        return self.expected(beliefs, pairs)


class LabelLikelihood(ABC):
    """The log-likelihood of labels as a function of the weights, for a climb."""

    def __init__(self, data: LabelledTokens) -> None:
        self.data = data

    @property
    def total(self) -> float:
        """How many tokens count."""
        return self.data.num_tokens

    @property
    def spreads(self) -> Floats:
        """The largest value of the feature of each weight, at any token; one for transitions."""
        tokens, layout = self.data.tokens, self.data.layout
        peaks = np.zeros(len(layout.starts) - 1)
        np.maximum.at(peaks, tokens.features, np.abs(tokens.values))
        own = np.repeat(np.where(peaks > 0, peaks, 1.0), np.diff(layout.starts))
        return np.concatenate([own, np.ones(len(layout.transitions))])

    @abstractmethod
    def at(self, weights: Floats) -> tuple[float, Floats]:
        """The value and the gradient."""


class ChainLikelihood(LabelLikelihood):
    """Σ_s w_s log P(labels of s | features of s): concave where all labels are told, with a state for each.

    Labels that are not told are summed out: log Σ_{y allowed} exp θ·f(y) - log Σ_y exp θ·f(y).
    """

    def __init__(self, data: LabelledTokens) -> None:
        super().__init__(data)
        self._observed = data.observed() if data.labels.is_complete else None

    def at(self, weights: Floats) -> tuple[float, Floats]:
        """Value and gradient; one pass of forward and backward messages, two where labels are not told."""
        data, chains = self.data, self.data.chains(weights)
        free = chains.sums(data.shares)
        if self._observed is not None:
            gradient = data.expected(free.beliefs, free.pairs)
            np.subtract(self._observed, gradient, out=gradient)
            return inner(weights, self._observed) - inner(data.shares, free.log_totals), gradient
        told = chains.within(data.allowed).sums(data.shares)
        self._refuse_impossible(told.log_totals)
        value = float(data.shares @ (told.log_totals - free.log_totals))
        return value, data.expected(told.beliefs - free.beliefs, told.pairs - free.pairs)

    def _refuse_impossible(self, log_totals: Floats) -> None:
        if np.isneginf(log_totals).any():
            raise InvalidArgument(f"No labelling of sequence {int(np.argmin(log_totals))} is possible.")


class LocalLikelihood(LabelLikelihood):
    """Σ_s w_s Σ_t log P(label t | label t - 1, features of t): multinomial logistic regressions, so it is concave."""

    def __init__(self, data: LabelledTokens) -> None:
        super().__init__(data)
        self._observed = data.observed()
        self._later = data.tokens.later
        self._before = data.labels.codes[self._later - 1].astype(np.int64)

    def at(self, weights: Floats) -> tuple[float, Floats]:
        """Value and gradient."""
        data, size = self.data, self.data.layout.num_states
        chains = data.chains(weights)
        scores = chains.scores
        scores[self._later] += chains.transitions[self._before]
        peaks = scores.max(axis=1, keepdims=True)
        beliefs = np.exp(scores - peaks)
        totals = beliefs.sum(axis=1, keepdims=True)
        value = float(weights @ self._observed - data.token_shares @ (peaks + np.log(totals))[:, 0])
        beliefs *= data.token_shares[:, None] / totals
        pairs = np.zeros((size, size))
        np.add.at(pairs, self._before, beliefs[self._later])
        return value, self._observed - data.expected(beliefs, pairs)
