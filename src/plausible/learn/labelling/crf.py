"""Conditional random fields over chains, and the same chains normalised label by label."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.options import Seed, check_count, check_flag, generator_of
from plausible.errors import InvalidArgument, suggestion
from plausible.kernels.jit import repeated
from plausible.kernels.label_chains import TokenFeatures
from plausible.learn.labelling.chains import Chains, token_scores
from plausible.learn.labelling.labeller import SequenceLabeller
from plausible.learn.labelling.labels import Labels, WeightLayout
from plausible.learn.labelling.likelihood import ChainLikelihood, LabelledTokens
from plausible.learn.labelling.margin import widen_margin
from plausible.learn.labelling.tokens import Tokens, Vocabulary
from plausible.learn.labelling.training import (
    Trained,
    Training,
    average_perceptron,
    climb_likelihood,
    stochastic_gradient,
)
from plausible.learn.undirected.priors import GaussianPrior, Penalty, PriorOfWeights, read_prior
from plausible.search.run import Stops, best_first

#: Training makes about so many steps: kernels that would be interpreted for long are compiled before it starts.
_FORESEEN = 30
#: What weights have if nobody says.
UNIT_PRIOR = GaussianPrior(1.0)
#: Ways to find weights, and when each ends if nobody says.
_USUAL = {
    "l-bfgs": Stops(1e-7, 1000),
    "sgd": Stops(1e-5, 100),
    "perceptron": Stops(0.0, 50),
    "margin": Stops(1e-3, 1000),
}


@dataclass(kw_only=True, eq=False, repr=False)
class LogLinearLabeller(SequenceLabeller):
    """Chains whose scores are weights times features; subclasses say what is normalised."""

    prior: PriorOfWeights = UNIT_PRIOR
    all_possible_states: bool = False
    all_possible_transitions: bool = False
    max_steps: int | None = None
    tolerance: float | None = None
    time_limit: float | None = None
    progress: Callable[[Any], object] | None = None
    resume: Any = None
    threads: int | None = None

    classes_: tuple[Hashable, ...] = field(init=False)  # The labels, sorted if they can be
    vocabulary_: Vocabulary = field(init=False)  # The features and their places
    layout_: WeightLayout = field(init=False)  # Which weights there are
    coefficients_: Floats = field(init=False)  # The weights, in the order of the layout
    training_: Training = field(init=False)  # How they were found

    @abstractmethod
    def _trained(self, data: LabelledTokens, penalty: Penalty) -> Trained:
        """Find the weights."""

    @property
    def _method(self) -> str:
        return "l-bfgs"

    def _learn(self, vocabulary: Vocabulary, tokens: Tokens, told: Labels, shares: Floats) -> None:
        states, size = told.states(self._latent), len(told.classes) * self._latent
        flags = self.all_possible_states, self.all_possible_transitions
        layout = WeightLayout.of(tokens, states, len(vocabulary.places), size, *flags)
        data = LabelledTokens.of(tokens, states, shares, layout, self.threads)
        names = self._weight_names(layout, vocabulary, told.classes) if isinstance(self.prior, Mapping) else [""]
        penalty = read_prior(self.prior, names, layout.groups, [*vocabulary.places, "transitions"])
        with repeated(_FORESEEN):
            trained = self._trained(data, penalty)
        self.classes_, self.vocabulary_, self.layout_ = told.classes, vocabulary, layout
        self.coefficients_ = trained.weights
        constant = 0.0 if self._method == "perceptron" else penalty.constant
        self.training_ = Training(
            self._method,
            self._log_likelihood(data, trained.weights),
            float(trained.run.trace[-1]) + constant,
            layout.num_weights,
            int(np.count_nonzero(trained.weights)),
            trained.run,
            trained.gap,
        )

    def _check_options(self) -> None:
        for name in ("all_possible_states", "all_possible_transitions"):
            check_flag(name, getattr(self, name))
        self._stops()

    @abstractmethod
    def _log_likelihood(self, data: LabelledTokens, weights: Floats) -> float:
        """What the training data say of weights."""

    def _stops(self) -> Stops:
        usual = _USUAL[self._method]
        tolerance = usual.tolerance if self.tolerance is None else self.tolerance
        max_steps = usual.max_steps if self.max_steps is None else self.max_steps
        return Stops(tolerance, max_steps, self.time_limit, self.progress)

    def _weight_names(self, layout: WeightLayout, vocabulary: Vocabulary, classes: Iterable[Hashable]) -> list[str]:
        many = self._latent > 1
        states = [f"{label}[{part}]" if many else str(label) for label in classes for part in range(self._latent)]
        return layout.names(vocabulary.names, states)

    @property
    def weights_(self) -> dict[str, float]:
        """Name -> weight: "label: feature" for those of features, "label -> next label" for those of transitions."""
        self._check_fitted()
        names = self._weight_names(self.layout_, self.vocabulary_, self.classes_)
        return dict(zip(names, self.coefficients_.tolist(), strict=True))

    def _learned(self) -> dict[str, Any]:
        return {
            "weight_starts": self.layout_.starts.tolist(),
            "weight_states": self.layout_.states.tolist(),
            "transitions": self.layout_.transitions.tolist(),
            "weights": self.coefficients_.tolist(),
        }

    def _take(self, record: Mapping[str, Any]) -> bool:
        num_states = len(self.classes_) * self._latent
        self.layout_ = layout = WeightLayout(
            np.array(record["weight_starts"], dtype=np.int64),
            np.array(record["weight_states"], dtype=np.int32),
            np.array(record["transitions"], dtype=np.int64),
            num_states,
        )
        self.coefficients_ = np.array(record["weights"], dtype=float).reshape(-1)
        is_whole = layout.num_weights == len(self.coefficients_) and bool(np.isfinite(self.coefficients_).all())
        is_whole &= len(layout.starts) == len(self.vocabulary_.places) + 1
        is_whole &= int(layout.starts[-1]) == len(layout.states)
        for places, end in ((layout.states, num_states), (layout.transitions, num_states**2)):
            is_whole &= bool(((places >= 0) & (places < end)).all())
        return is_whole

    def _weights_of(self, feature: int) -> Floats:
        begin, end = self.layout_.starts[feature], self.layout_.starts[feature + 1]
        weights = np.zeros(self.layout_.num_states)
        weights[self.layout_.states[begin:end]] = self.coefficients_[begin:end]
        return weights

    def _scores(self, tokens: Tokens) -> Floats:
        layout = self.layout_
        rows = TokenFeatures(tokens.starts, tokens.features, tokens.values, layout.starts, layout.states)
        return token_scores(rows, self.coefficients_, layout.num_states, self.threads)

    def _chains(self, tokens: Tokens) -> Chains:
        transitions = self.layout_.matrix(self.coefficients_)
        return Chains(tokens.sequence_starts, self._scores(tokens), transitions, self.threads)


@dataclass(kw_only=True, eq=False, repr=False)
class ChainCRF(LogLinearLabeller):
    """A linear-chain conditional random field: P(y | x) = exp Σ_t (θ·f(y_t, x_t) + θ(y_{t-1}, y_t)) / Z(x).

    The objective is the total log-likelihood of the labels given the features, plus the log-density of the prior, in
    natural logarithms; it is concave, so that there is one optimum, unless labels are missing or hidden states are
    asked for.

    Parameters
    ----------
    prior
        Of the weights: `GaussianPrior(variance)` (CRFsuite's c2 is 1/(2 variance)), `LaplacePrior(scale)` (its c1 is
        1/scale), `GroupPrior(scale)` (a feature vanishes with all labels, or with none), a sum of priors, or {name:
        prior} by names as in `weights_`, of features, or "transitions".
    all_possible_states
        Whether each feature has a weight with each label, or only with those that it is seen with.
    all_possible_transitions
        The same of transitions; those without a weight are possible, with a weight of zero.
    max_steps, tolerance
        When training ends. L-BFGS: no derivative exceeds the tolerance (1e-7) times the number of tokens and the
        largest value of its feature; "sgd": an
        epoch changes the objective by no greater share (1e-5); "margin": nor is the gap a greater share (1e-3). Steps
        of "sgd" and "perceptron" are epochs.
    time_limit
        In seconds.
    progress
        Told the state after each step; a true answer ends training.
    resume
        What to go on with: `training_.run` of an earlier fit, or the last state that `progress` was told, so that
        nothing is lost by Ctrl-C.
    method
        "l-bfgs" (orthant by orthant under a Laplace prior), "sgd", "perceptron" (averaged, without a prior), or
        "margin" (the truth wins over each labelling by as many labels as that has wrong; `training_.gap` bounds what is
        left to win).
    latent
        How many hidden states each label has; transitions and features have weights for each of them.
    restarts
        With hidden states, from how many more starts to climb: the best top counts, as there are many.
    seed
        For the order of sequences in "sgd" and "perceptron", and for the starts where there are hidden states.
    threads
        By default one for each core; answers are the same to the last bit for any number.

    References
    ----------
    Lafferty, McCallum & Pereira (2001), Conditional random fields. With hidden states: Morency, Quattoni & Darrell
    (2007), Latent-dynamic discriminative models.

    Examples
    --------
    >>> words = [[{"word": word} for word in text.split()] for text in ("the cat sleeps", "a cat sees the dog")]
    >>> crf = ChainCRF().fit(words, [["D", "N", "V"], ["D", "N", "V", "D", "N"]])
    >>> crf.predict([[{"word": "the"}, {"word": "fish"}, {"word": "sleeps"}]])
    [['D', 'N', 'V']]
    """

    _estimator_type: ClassVar[None] = None

    method: Literal["l-bfgs", "sgd", "perceptron", "margin"] = "l-bfgs"
    latent: int = 1
    restarts: int = 0
    seed: Seed = None

    @property
    def _latent(self) -> int:  # type: ignore[override]
        return self.latent

    @property
    def _method(self) -> str:
        if self.method not in _USUAL:
            raise InvalidArgument(f"method={self.method!r} is none.{suggestion(self.method, _USUAL)}")
        return self.method

    def _trained(self, data: LabelledTokens, penalty: Penalty) -> Trained:
        method, stops, generator = self._method, self._stops(), generator_of(self.seed)
        if method == "margin":
            return widen_margin(data, penalty, stops, self.resume)
        if method == "perceptron":
            return average_perceptron(data, stops, generator, self.resume)
        if method == "sgd":
            return stochastic_gradient(data, penalty, stops, generator, self.resume)
        size, likelihood = data.layout.num_weights, ChainLikelihood(data)
        if self.resume is not None or self.latent == 1:
            start = np.zeros(size) if self.resume is None else self.resume
            return climb_likelihood(likelihood, penalty, start, stops)
        starts = (generator.normal(scale=0.1, size=size) for _ in range(self.restarts + 1))
        climbs = [climb_likelihood(likelihood, penalty, start, stops) for start in starts]
        return best_first(climbs, lambda one: one.run.trace[-1])[0]

    def _log_likelihood(self, data: LabelledTokens, weights: Floats) -> float:
        return ChainLikelihood(data).at(weights)[0]

    def _check_options(self) -> None:
        super()._check_options()
        check_count("latent", self.latent, 1)
        check_count("restarts", self.restarts)
