"""Cross-validation of learners of networks by the log-loss on held-out rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.base.options import check_count
from plausible.base.records import record
from plausible.base.seeds import Seed, generator_of
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument
from plausible.learn.evaluation.losses import name_learners, read_learner, row_losses, weighted_mean

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CrossValidation", "LearnerComparison", "compare_learners", "cross_validate"]


@dataclass(frozen=True, slots=True, eq=False)
class CrossValidation:
    """The losses of rows, each under a network learned from the folds without it.

    Attributes
    ----------
    losses
        -log P of each row, in nats.
    weights
        What each row weighs.
    folds
        The fold of each row.
    """

    losses: Floats
    weights: Floats
    folds: Ints

    @property
    def loss(self) -> float:
        """The mean loss of a row; the lower, the better. Infinite if a row was impossible: give a prior."""
        return weighted_mean(self.losses, self.weights)

    @property
    def standard_error(self) -> float:
        """Of the mean loss, from the spread of the rows; NaN where it is infinite or there is one row only."""
        return _error(self.losses, self.weights)

    @property
    def fold_losses(self) -> Floats:
        """The mean loss of each fold."""
        marks = [self.folds == fold for fold in range(int(self.folds.max(initial=-1)) + 1)]
        return np.array([weighted_mean(self.losses[mark], self.weights[mark]) for mark in marks])

    def __repr__(self) -> str:
        return f"<CrossValidation: loss {self.loss:.6g} ± {self.standard_error:.2g} nats a row>"


def cross_validate(
    data: TableLike, learner: object, num_folds: int = 10, *, target: str | None = None, seed: Seed = 0
) -> CrossValidation:
    """The log-loss of a learner: each fold is predicted by a network learned from all others.

    Parameters
    ----------
    data
        Complete rows; what `Table.read` takes.
    learner
        A method of `learn.structure` by its name, a graph or arrow text, or a function of a `Table` that gives a
        network, a graph, or the result of a search. Where a graph has no parameters, they are learned with BDeu(1).
    num_folds
        Of sizes that differ by one at most; as many as rows is leave-one-out.
    target
        With it, the loss is -log P(target | all others): how well the network classifies.

    Examples
    --------
    >>> import plausible as pb
    >>> frame = pb.examples.load("asia").sample(500, seed=1)
    >>> empty, full = pb.DAG("", nodes=list(frame)), pb.examples.load("asia").graph
    >>> pb.learn.cross_validate(frame, full, 5).loss < pb.learn.cross_validate(frame, empty, 5).loss
    True
    >>> pb.learn.cross_validate(frame, "hill-climbing", 5)
    <CrossValidation: loss 2.32... ± 0.066 nats a row>
    """
    table = Table.read(data)
    return _validated(table, learner, _folds(table, num_folds, seed), target)


def _folds(table: Table, num_folds: int, seed: Seed) -> Ints:
    """The fold of each row."""
    check_count("num_folds", num_folds, 2)
    if table.num_rows < num_folds:
        raise InvalidArgument(f"{num_folds} folds need as many rows at least; there are {table.num_rows}.")
    return generator_of(seed).permutation(np.arange(table.num_rows) % num_folds)


def _validated(table: Table, learner: object, folds: Ints, target: str | None) -> CrossValidation:
    learn, losses = read_learner(learner), np.empty(table.num_rows)
    for fold in range(int(folds.max()) + 1):
        held = folds == fold
        losses[held] = row_losses(learn(table.take(~held)), table.take(held), target)
    weights = table.row_weights
    return CrossValidation(losses, weights, folds)


@record(eq=False)
class LearnerComparison:
    """Cross-validations of several learners on the same folds, the best first.

    Attributes
    ----------
    results
        Name -> its cross-validation.
    """

    results: Mapping[str, CrossValidation]

    @property
    def best(self) -> str:
        """The name of the learner with the lowest loss."""
        return next(iter(self.results))

    def to_frame(self) -> pd.DataFrame:
        """A row for each learner: its loss, by how much it exceeds the best one's, and the error of this difference."""
        import pandas as pd

        top = self.results[self.best]
        rows = []
        for name, found in self.results.items():
            with np.errstate(invalid="ignore"):
                excess = found.losses - top.losses
            rows.append((name, found.loss, weighted_mean(excess, top.weights), _error(excess, top.weights)))
        return pd.DataFrame(rows, columns=["learner", "loss", "excess", "standard_error"])

    def __str__(self) -> str:
        return str(self.to_frame().to_string(index=False))


def compare_learners(
    data: TableLike, learners: object, num_folds: int = 10, *, target: str | None = None, seed: Seed = 0
) -> LearnerComparison:
    """Cross-validate several learners on the same folds, so that differences are those of the same rows.

    Parameters
    ----------
    data
        Complete rows.
    learners
        Name -> learner, or a list of learners; each as in `cross_validate`.
    num_folds
        Of the rows.
    target
        With it, the loss is -log P(target | all others).

    Examples
    --------
    >>> import plausible as pb
    >>> frame = pb.examples.load("asia").sample(500, seed=1)
    >>> pb.learn.compare_learners(frame, ["hill-climbing", "chow-liu"], 3).best
    'hill-climbing'
    """
    named = name_learners(learners)
    if not named:
        raise InvalidArgument("There are no learners to compare.")
    table = Table.read(data)
    folds = _folds(table, num_folds, seed)
    found = {name: _validated(table, learner, folds, target) for name, learner in named.items()}
    return LearnerComparison(dict(sorted(found.items(), key=lambda item: item[1].loss)))


def _error(values: Floats, weights: Floats) -> float:
    counting = weights > 0
    kept, shares = values[counting], weights[counting] / weights.sum()
    if len(kept) < 2 or not np.isfinite(kept).all():
        return math.nan
    return float(np.sqrt(np.square(shares * (kept - kept @ shares)).sum() * len(kept) / (len(kept) - 1)))
