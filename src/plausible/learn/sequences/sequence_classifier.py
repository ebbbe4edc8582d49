"""Classes of sequences: one hidden Markov model or chain for each class, and Bayes' rule."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats
from plausible.base.options import generator_of
from plausible.data.sequences import Sequences
from plausible.errors import InvalidArgument
from plausible.learn.classifiers.estimator import Estimator, read_classes
from plausible.learn.sequences.baum_welch import HMMProblem
from plausible.learn.sequences.chains_of_order import chain_of
from plausible.learn.sequences.emission_learner import EmissionRules
from plausible.learn.sequences.hmm_form import EmissionForm, HMMForm, blank_model, inferred_rows
from plausible.learn.sequences.hmm_starts import started
from plausible.learn.sequences.priors import HMMPrior
from plausible.models.sequences.emissions import OBSERVATION, STATE
from plausible.models.sequences.hidden_markov_model import HiddenMarkovModel
from plausible.models.sequences.hidden_state_model import by_column
from plausible.search.run import Stops, best_run
from plausible.variables import Variable


class SequenceClassifier(Estimator):
    """P(class | sequence) ∝ P(class) p(sequence | model of the class), in the form of scikit-learn.

    X is a list of sequences, each a list of symbols or numbers, a matrix or a frame with a row a step.

    Parameters
    ----------
    kind
        "hmm" or "chain": what is learned of each class.
    num_states, covariance
        Of hidden Markov models: how many hidden states, and the kind of covariances of numbers.
    order
        Of chains: how many symbols before one matter.
    pseudocount
        Cases added to each symbol and transition, and of numbers cases that are spread as the columns are: a class that
        lacks a symbol does not rule it out.
    restarts, max_steps, random_state
        Of EM for hidden Markov models.

    Examples
    --------
    >>> X = [list("aaab"), list("abaa"), list("bbba"), list("babb")]
    >>> model = SequenceClassifier(kind="chain").fit(X, ["A", "A", "B", "B"])
    >>> model.predict([list("aaaa"), list("bbb")]).tolist()
    ['A', 'B']
    """

    def __init__(
        self,
        kind: str = "hmm",
        num_states: int = 2,
        covariance: str = "diagonal",
        order: int = 1,
        pseudocount: float = 1.0,
        restarts: int = 0,
        max_steps: int = 100,
        random_state: int | None = 0,
    ) -> None:
        self.kind = kind
        self.num_states = num_states
        self.covariance = covariance
        self.order = order
        self.pseudocount = pseudocount
        self.restarts = restarts
        self.max_steps = max_steps
        self.random_state = random_state

    def fit(self, X: Sequence[Any], y: Any) -> Self:
        """Learn a model for each class."""
        if self.kind not in ("hmm", "chain"):
            raise InvalidArgument(f"kind={self.kind!r}: expected 'hmm' or 'chain'.")
        classes = read_classes(y, {})
        sequences = inferred_rows(list(X), {}, {}, EmissionForm())
        if sequences.num_sequences != len(classes.codes):
            raise InvalidArgument(f"X has {sequences.num_sequences} sequences, but y has {len(classes.codes)} classes.")
        self.classes_ = classes.states
        self.variables_ = dict(sequences.variables)
        counts = np.bincount(classes.codes, minlength=len(classes.states))
        self.class_prior_ = counts / counts.sum()
        generators = generator_of(self.random_state).spawn(len(counts))
        self.models_ = [
            self._learned(sequences.take(np.flatnonzero(classes.codes == code).tolist()), rng)
            for code, rng in enumerate(generators)
        ]
        return self

    def _learned(self, sequences: Sequences, rng: np.random.Generator) -> Any:
        if self.kind == "chain":
            return chain_of(sequences, self.order, self.pseudocount, 0.0)
        cases, state = float(self.pseudocount), Variable(STATE, self.num_states)
        emission = EmissionForm(covariance=self.covariance).of_columns(list(self.variables_.values()), state)[0]
        model = blank_model(state, emission)
        rules = EmissionRules(HMMPrior(cases, cases, cases, cases, 0.0, cases), 1e-6, ())
        problem = HMMProblem.of(model, sequences, rules)
        stops = Stops(1e-5, self.max_steps)
        starts = (
            problem.init(started(HMMForm(model, sequences, ()), "mixture", rules, own))
            for own in rng.spawn(1 + self.restarts)
        )
        return best_run(lambda begin, clock: problem.run(begin, stops, clock), starts)[0].state.model

    def predict_log_proba(self, X: Sequence[Any]) -> Floats:
        """log P(class | sequence): a row for each sequence, a column for each class."""
        self._check_fitted()
        names = [name for name in self.variables_ if name.startswith(OBSERVATION)]
        rows = by_column(list(X), names) if len(names) == len(self.variables_) else list(X)
        lone = next(iter(self.variables_)) if len(self.variables_) == 1 else None
        known = Sequences.read(rows, self.variables_, lone=lone, place="this classifier")
        logs = np.stack([_log_likelihoods(model, known) for model in self.models_], axis=1) + np.log(self.class_prior_)
        totals = np.logaddexp.reduce(logs, axis=1, keepdims=True)
        return np.asarray(np.where(np.isneginf(totals), np.log(self.class_prior_), logs - totals))

    def predict_proba(self, X: Sequence[Any]) -> Floats:
        """P(class | sequence); the prior of the classes where a sequence is impossible under all of them."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Sequence[Any]) -> NDArray[Any]:
        """The most probable class of each sequence."""
        self._check_fitted()
        return np.asarray(self.classes_[self.predict_log_proba(X).argmax(axis=1)])

    def score(self, X: Sequence[Any], y: Any) -> float:
        """The share of sequences whose class is found."""
        return float((self.predict(X) == np.asarray(y)).mean())


def _log_likelihoods(model: Any, sequences: Sequences) -> Floats:
    """log p of each sequence, -inf where it is impossible."""
    steps = (
        model._step_log_likelihoods(sequences) if isinstance(model, HiddenMarkovModel) else model._step_logs(sequences)
    )
    steps = np.where(np.isnan(steps), 0.0, steps)
    return np.array([steps[begin:end].sum() for begin, end in pairwise(sequences.starts)])
