"""Restricted Boltzmann machines, and stacks of them: binary features of binary columns, by contrastive divergence."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple, Self

import numpy as np

from plausible.base import Floats, Seed, check_count, check_flag, check_number, generator_of
from plausible.errors import InvalidArgument, TooLarge
from plausible.factors import Factor
from plausible.learn.classifiers.estimator import Estimator
from plausible.models import MarkovNetwork
from plausible.search.run import Run, Stops, iterate
from plausible.variables import Variable

#: log Z is a sum over all states of the smaller side, of at most so many units.
_MOST_UNITS = 22


class EpochState(NamedTuple):
    """Weights after some epochs, in single precision, and what the next one needs."""

    num_steps: int  # epochs
    weights: Any
    visible_bias: Any
    hidden_bias: Any
    chains: Any  # hidden units that persistent chains go on from: chains x units

    @property
    def is_finite(self) -> bool:
        """Whether no weight has grown beyond all numbers."""
        return all(bool(np.isfinite(part).all()) for part in self[1:4])


class RestrictedBoltzmannMachine(Estimator):
    """P(v, h) ∝ exp(v·b + h·c + vᵀ W h) over binary columns v and binary hidden units h, in scikit-learn form.

    Given one side the units of the other are independent, so a Gibbs sweep is two products of matrices. Weights are
    learned by (persistent) contrastive divergence on batches of rows (Smolensky 1986; Hinton 2002; Tieleman 2008). It
    is a Markov network with hidden variables; `pb.learn.markov` with `variables=` learns a small one, or any other
    Boltzmann machine, by its likelihood. An epoch costs (steps + 1) · rows · columns · units.

    Parameters
    ----------
    num_hidden
        The number of hidden units.
    steps
        Gibbs sweeps before weights move, k.
    persistent
        Whether chains go on from where they were; else they begin at the rows of the batch.
    learning_rate
        How far weights move along the gradient of a batch, its mean over rows, in the first epoch; falling to 0.
    batch_size
        Rows in a batch, and chains.
    num_epochs
        Passes over all rows.
    time_limit, progress, resume
        As for `markov`; `progress` is told the state after each epoch, and training goes on from one, or from `run_`.
    seed
        The same seed gives the same weights.

    Attributes
    ----------
    weights_, visible_bias_, hidden_bias_
        W, of shape (columns, units), b and c.
    run_
        How training went.

    Examples
    --------
    >>> import numpy as np
    >>> import plausible as pb
    >>> rows = np.repeat([[1, 1, 0, 0], [0, 0, 1, 1]], 200, axis=0)
    >>> machine = pb.learn.RestrictedBoltzmannMachine(2, learning_rate=0.5, num_epochs=100, seed=0).fit(rows)
    >>> machine.transform(rows).shape, bool(machine.score(rows) > -1.5)       # independent columns have -2.77
    ((400, 2), True)
    """

    def __init__(
        self,
        num_hidden: int = 64,
        *,
        steps: int = 1,
        persistent: bool = True,
        learning_rate: float = 0.1,
        batch_size: int = 100,
        num_epochs: int = 10,
        time_limit: float | None = None,
        progress: Callable[[EpochState], object] | None = None,
        resume: Run[EpochState] | EpochState | None = None,
        seed: Seed = None,
    ) -> None:
        self.num_hidden = num_hidden
        self.steps = steps
        self.persistent = persistent
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.num_epochs = num_epochs
        self.time_limit = time_limit
        self.progress = progress
        self.resume = resume
        self.seed = seed

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "weights_")

    def __sklearn_tags__(self) -> Any:
        utils = import_module("sklearn.utils")
        return utils.Tags(
            estimator_type=None,
            target_tags=utils.TargetTags(required=False),
            transformer_tags=utils.TransformerTags(),
            input_tags=utils.InputTags(),
        )

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from rows of zeros and ones, or of probabilities between them; y is not looked at."""
        for name in ("num_hidden", "steps", "batch_size"):
            check_count(name, getattr(self, name), least=1)
        check_count("num_epochs", self.num_epochs)
        check_flag("persistent", self.persistent)
        check_number("learning_rate", self.learning_rate, above=0)
        stops, rows = Stops(0.0, self.num_epochs, self.time_limit, self.progress), _read(X)
        self._note_features(X, X.columns if hasattr(X, "columns") else [f"X{at}" for at in range(rows.shape[1])])
        generator = generator_of(self.seed)
        begin = _begun(rows, self, generator) if self.resume is None else _resumed(self.resume, rows, self)
        self.run_ = iterate(_Epochs(rows.astype(np.float32), self, generator), begin, stops)
        parts = (part.astype(np.float64) for part in self.run_.state[1:4])
        self.weights_, self.visible_bias_, self.hidden_bias_ = parts
        return self

    def transform(self, X: Any) -> Floats:
        """P(h = 1 | v) of each row: rows x units."""
        return np.asarray(_sigmoid(self._rows(X) @ self.weights_ + self.hidden_bias_))

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """Learn, and transform the same rows."""
        return self.fit(X).transform(X)

    def free_energy(self, X: Any) -> Floats:
        """-log Σ_h exp(v·b + h·c + vᵀ W h) of each row: -log P(v) less log Z."""
        rows = self._rows(X)
        inner = np.logaddexp(0, rows @ self.weights_ + self.hidden_bias_).sum(axis=1)
        return np.asarray(-rows @ self.visible_bias_ - inner)

    def log_partition(self) -> float:
        """log Z, exactly: a sum over all states of the smaller side, at most 22 units."""
        self._check_fitted()
        weights, own, other = self.weights_, self.visible_bias_, self.hidden_bias_
        if weights.shape[0] > weights.shape[1]:
            weights, own, other = weights.T, other, own
        if len(own) > _MOST_UNITS:
            raise TooLarge(
                f"log Z of {self.weights_.shape[0]} columns and {self.weights_.shape[1]} units is a sum of 2^{len(own)}"
                f" terms; up to {_MOST_UNITS} on one side are summed. Compare rows by free_energy instead."
            )
        total = -math.inf
        for first in range(0, 2 ** len(own), 2**14):
            numbers = np.arange(first, min(first + 2**14, 2 ** len(own)))
            states = (numbers[:, None] >> np.arange(len(own)) & 1).astype(np.float64)
            logs = states @ own + np.logaddexp(0, states @ weights + other).sum(axis=1)
            total = np.logaddexp(total, np.logaddexp.reduce(logs))
        return float(total)

    def score_samples(self, X: Any) -> Floats:
        """log P(v) of each row, exactly; see `log_partition` for the sizes that it takes."""
        return -self.free_energy(X) - self.log_partition()

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of log P(v) over rows."""
        return float(self.score_samples(X).mean())

    def sample(self, num_rows: int, *, sweeps: int = 1000, seed: Seed = None) -> Floats:
        """Rows of v at the end of chains of so many Gibbs sweeps, one for each row."""
        self._check_fitted()
        check_count("num_rows", num_rows)
        generator = generator_of(seed)
        hidden = (generator.random((num_rows, len(self.hidden_bias_))) < 0.5).astype(np.float64)
        visible = np.zeros((num_rows, len(self.visible_bias_)))
        for _ in range(sweeps):
            visible = self._draw_visible(hidden, generator)
            shares = _sigmoid(visible @ self.weights_ + self.hidden_bias_)
            hidden = (generator.random(shares.shape) < shares).astype(np.float64)
        return visible

    def to_network(self) -> MarkovNetwork:
        """The same distribution as a Markov network; hidden units are called H0, H1, ..."""
        self._check_fitted()
        visible = [Variable(str(name), 2) for name in self._columns_]
        hidden = [Variable(f"H{at}", 2) for at in range(len(self.hidden_bias_))]
        biases = [*zip(visible, self.visible_bias_, strict=True), *zip(hidden, self.hidden_bias_, strict=True)]
        factors = [Factor([one], np.exp([0.0, bias])) for one, bias in biases]
        for row, first in enumerate(visible):
            for column, second in enumerate(hidden):
                factors.append(Factor([first, second], np.exp([[0, 0], [0, self.weights_[row, column]]])))
        return MarkovNetwork(factors)

    def _draw_visible(self, hidden: Floats, generator: np.random.Generator) -> Floats:
        shares = _sigmoid(hidden @ self.weights_.T + self.visible_bias_)
        return np.asarray(generator.random(shares.shape) < shares, dtype=np.float64)

    def _rows(self, X: Any) -> Floats:
        self._check_fitted()
        rows = _read(X)
        if rows.shape[1] != self.n_features_in_:
            raise InvalidArgument(
                f"X has {rows.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input."
            )
        return rows


def _read(X: Any) -> Floats:
    try:
        rows = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"X is no table of numbers: {error}. Put states into indicators first.") from None
    if rows.ndim != 2 or not rows.size:
        raise InvalidArgument(f"X has the shape {rows.shape}: a table with rows and columns is needed.")
    if not ((rows >= 0) & (rows <= 1)).all():
        row, column = np.argwhere(~((rows >= 0) & (rows <= 1)))[0].tolist()
        raise InvalidArgument(
            f"X has {rows[row, column]:g} in row {row}, column {column}: a Boltzmann machine takes zeros and ones, or "
            "probabilities between them. Put states into indicators first."
        )
    return rows


def _sigmoid(values: Any) -> Any:
    """1 / (1 + exp -x), which never overflows."""
    values = values * values.dtype.type(0.5)
    np.tanh(values, out=values)
    values += 1
    values *= values.dtype.type(0.5)
    return values


def _begun(rows: Floats, options: RestrictedBoltzmannMachine, generator: np.random.Generator) -> EpochState:
    """Weights near zero, under which columns have their own frequencies."""
    means = (rows.sum(axis=0) + 0.5) / (len(rows) + 1)
    weights = generator.normal(scale=0.01, size=(rows.shape[1], options.num_hidden)).astype(np.float32)
    chains = _draw(np.full((min(options.batch_size, len(rows)), options.num_hidden), 0.5, dtype=np.float32), generator)
    nothing = np.zeros(options.num_hidden, dtype=np.float32)
    return EpochState(0, weights, np.log(means / (1 - means)).astype(np.float32), nothing, chains)


def _resumed(resume: Any, rows: Floats, options: RestrictedBoltzmannMachine) -> Run[EpochState]:
    state = resume.state if isinstance(resume, Run) else resume
    shape = (rows.shape[1], options.num_hidden)
    if not isinstance(state, EpochState) or state.weights.shape != shape:
        raise InvalidArgument(
            f"resume= takes the run_ of a machine of {shape[0]} columns and {shape[1]} units, or the last state that "
            "progress= was told."
        )
    return resume if isinstance(resume, Run) else Run(state, state.num_steps)


def _draw(shares: Any, generator: np.random.Generator) -> Any:
    """Zeros and ones with these probabilities."""
    return (generator.random(shares.shape, dtype=np.float32) < shares).astype(np.float32)


@dataclass(frozen=True, slots=True)
class _Epochs:
    """(Persistent) contrastive divergence in single precision: a pass over all rows, batch by batch."""

    rows: Any
    options: RestrictedBoltzmannMachine
    generator: np.random.Generator

    def __call__(self, state: EpochState) -> EpochState:
        options, generator, epoch = self.options, self.generator, state.num_steps
        weights, visible_bias, hidden_bias = (part.copy() for part in state[1:4])
        chains, size = state.chains, min(options.batch_size, len(self.rows))
        length = options.learning_rate * (1 - epoch / options.num_epochs)
        order = generator.permutation(len(self.rows))
        with np.errstate(over="ignore", invalid="ignore"):  # told below
            for first in range(0, len(self.rows), size):
                batch = self.rows[order[first : first + size]]
                hidden = _sigmoid(batch @ weights + hidden_bias)
                chains = chains if options.persistent else _draw(hidden, generator)
                for _ in range(options.steps):
                    visible = _draw(_sigmoid(chains @ weights.T + visible_bias), generator)
                    shares = _sigmoid(visible @ weights + hidden_bias)
                    chains = _draw(shares, generator)
                rate, share = np.float32(length / len(batch)), np.float32(length / len(visible))
                weights += rate * (batch.T @ hidden) - share * (visible.T @ shares)
                visible_bias += rate * batch.sum(axis=0) - share * visible.sum(axis=0)
                hidden_bias += rate * hidden.sum(axis=0) - share * shares.sum(axis=0)
        after = EpochState(epoch + 1, weights, visible_bias, hidden_bias, chains)
        if not after.is_finite:
            raise InvalidArgument(
                f"Weights grew beyond all numbers in epoch {epoch + 1}: take a learning_rate= below "
                f"{options.learning_rate:g}."
            )
        return after


@dataclass(frozen=True, slots=True, eq=False)
class BoltzmannStack:
    """Machines on top of one another, each learned from the hidden units of the one below: a deep belief network."""

    machines: tuple[RestrictedBoltzmannMachine, ...]  # The lowest first

    def transform(self, X: Any) -> Floats:
        """P(h = 1) of the highest units, passed up layer by layer."""
        rows = _read(X)
        for machine in self.machines:
            rows = machine.transform(rows)
        return rows

    def sample(self, num_rows: int, *, sweeps: int = 1000, seed: Seed = None) -> Floats:
        """Rows drawn by the highest machine, passed down layer by layer."""
        generator = generator_of(seed)
        rows = self.machines[-1].sample(num_rows, sweeps=sweeps, seed=generator)
        for machine in self.machines[-2::-1]:
            rows = machine._draw_visible(rows, generator)
        return rows


def fit_stack(X: Any, num_hidden: Sequence[int], *, seed: Seed = None, **options: Any) -> BoltzmannStack:
    """Learn a stack of machines, layer by layer from below (Hinton, Osindero & Teh 2006).

    Parameters
    ----------
    X
        Rows of zeros and ones.
    num_hidden
        The units of each layer, the lowest first.
    options
        Of each `RestrictedBoltzmannMachine`.

    Examples
    --------
    >>> import numpy as np
    >>> import plausible as pb
    >>> rows = np.repeat([[1, 1, 0, 0], [0, 0, 1, 1]], 50, axis=0)
    >>> stack = pb.learn.fit_stack(rows, [3, 2], seed=0)
    >>> stack.transform(rows).shape, stack.sample(5, sweeps=10, seed=0).shape
    ((100, 2), (5, 4))
    """
    if not len(num_hidden):
        raise InvalidArgument("num_hidden= is empty: a stack has at least one layer, such as [64, 32].")
    generator, rows = generator_of(seed), _read(X)
    machines = []
    for number in num_hidden:
        machine = RestrictedBoltzmannMachine(number, seed=generator, **options)
        rows = machine.fit_transform(rows)
        machines.append(machine)
    return BoltzmannStack(tuple(machines))
