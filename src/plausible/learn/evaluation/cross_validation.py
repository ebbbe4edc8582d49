"""Losses of learners on rows that they have not seen: cross-validation, learning curves, and comparisons."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plausible.base import Floats, Ints, Result, Seed, chart_by, check_count, generator_of, keyword_hints, record
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.graphs import DAG
from plausible.learn.estimation.learners import LogisticLearner
from plausible.learn.estimation.priors import LIGHT_PRIOR
from plausible.learn.evaluation.measures import mean_loss, name_learners, read_learner, row_losses, weighted_mean
from plausible.learn.learned_parameters import learn_parameters
from plausible.learn.structures.knowledge import named_in
from plausible.models import BayesianNetwork

if TYPE_CHECKING:
    import pandas as pd

    from plausible.base.pictured import Axes, Chart


@dataclass(frozen=True, slots=True, eq=False)
class CrossValidation:
    """The losses of rows, each under a network learned from the folds without it."""

    losses: Floats  # -log P of each row, in nats
    weights: Floats  # What each row weighs
    folds: Ints  # The fold of each row

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


@keyword_hints
def cross_validate(
    data: TableLike, learner: object, num_folds: int = 10, *, target: str | None = None, seed: Seed = 0
) -> CrossValidation:
    """The log-loss of a learner: each fold is predicted by a network learned from all others.

    Parameters
    ----------
    data, num_folds
        Complete rows, and into how many folds they are divided; as many as rows is leave-one-out.
    learner
        A method of `learn.structure` by its name, a graph or arrow text, or a function of a `Table` that gives a
        network, a graph, or the result of a search. Where a graph has no parameters, they are learned with BDeu(1).
    target
        With it, the loss is -log P(target | all others): how well the network classifies. Columns that are hardly
        variables, such as ids, are left out with a warning, unless the learner or the target names them.

    Examples
    --------
    >>> import plausible as pb
    >>> frame = pb.examples.load("asia").sample(500, seed=1)
    >>> empty, full = pb.DAG("", nodes=list(frame)), pb.examples.load("asia").graph
    >>> pb.learn.cross_validate(frame, full, 5).loss < pb.learn.cross_validate(frame, empty, 5).loss
    True
    >>> pb.learn.cross_validate(frame, "hill-climbing", 5)
    <CrossValidation: loss 2.31... ± 0.06... nats a row>
    """
    table = Table.for_learning(data, named_in((learner, target)))
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
class LearnerComparison(Result):
    """Cross-validations of several learners on the same folds, the best first."""

    results: Mapping[str, CrossValidation]  # Name -> its cross-validation

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

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw losses with their standard errors; it needs matplotlib (the extra `plot`)."""
        return chart_by("plot_learners", self, ax)

    def __str__(self) -> str:
        return str(self.to_frame().to_string(index=False))


def compare_learners(
    data: TableLike, learners: object, num_folds: int = 10, *, target: str | None = None, seed: Seed = 0
) -> LearnerComparison:
    """Cross-validate several learners on the same folds, so that differences are those of the same rows.

    `learners` are name -> learner, or a list of learners; each, and all else, as in `cross_validate`.

    >>> import plausible as pb
    >>> frame = pb.examples.load("asia").sample(500, seed=1)
    >>> pb.learn.compare_learners(frame, ["hill-climbing", "chow-liu"], 3).best
    'hill-climbing'
    """
    named = name_learners(learners)
    if not named:
        raise InvalidArgument("There are no learners to compare.")
    table = Table.for_learning(data, named_in((named, target)))
    folds = _folds(table, num_folds, seed)
    found = {name: _validated(table, learner, folds, target) for name, learner in named.items()}
    return LearnerComparison(dict(sorted(found.items(), key=lambda item: item[1].loss)))


def _error(values: Floats, weights: Floats) -> float:
    counting = weights > 0
    kept, shares = values[counting], weights[counting] / weights.sum()
    if len(kept) < 2 or not np.isfinite(kept).all():
        return math.nan
    return float(np.sqrt(np.square(shares * (kept - kept @ shares)).sum() * len(kept) / (len(kept) - 1)))


@record(eq=False)
class LearningCurve(Result):
    """Losses of networks learned from more and more rows."""

    sizes: tuple[int, ...]  # Numbers of rows learned from
    #: Name of a learner -> mean losses of a row that was learned from, or not. Axes: size, repeat.
    training: Mapping[str, Floats]
    held_out: Mapping[str, Floats]

    def to_frame(self) -> pd.DataFrame:
        """A row for each learner and size, with means over the repeats and the spread of the held-out loss."""
        import pandas as pd

        rows = []
        for name, losses in self.held_out.items():
            with np.errstate(invalid="ignore"):  # infinite losses have no spread
                spreads = losses.std(axis=1)
            means = self.training[name].mean(axis=1), losses.mean(axis=1)
            rows += [(name, *line) for line in zip(self.sizes, *means, spreads, strict=True)]
        return pd.DataFrame(rows, columns=["learner", "rows", "training", "held_out", "spread"])

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw losses by the number of rows; it needs matplotlib (the extra `plot`)."""
        return chart_by("plot_learning_curve", self, ax)

    def __str__(self) -> str:
        return str(self.to_frame().to_string(index=False))


def learning_curve(
    data: TableLike,
    learners: object,
    sizes: Sequence[int],
    *,
    target: str | None = None,
    share: float = 0.3,
    repeats: int = 5,
    seed: Seed = 0,
) -> LearningCurve:
    """Learn from the first rows of a random order, and look at the loss on others that are held out.

    Larger training sets contain the smaller ones, and all learners see the same rows.

    Parameters
    ----------
    data, learners, target
        As in `compare_learners`; there may be one learner alone.
    sizes, share
        Numbers of rows to learn from, and the share of all rows that is held out.
    repeats
        Random orders of the rows.

    Examples
    --------
    >>> import plausible as pb
    >>> net = pb.examples.load("asia")
    >>> curve = pb.learn.learning_curve(net.sample(1500, seed=1), {"true graph": net.graph}, [20, 1000], repeats=2)
    >>> curve.held_out["true graph"].mean(axis=1).round(1)
    array([2.5, 2.3])
    """
    check_count("repeats", repeats, 1)
    table, rng = Table.for_learning(data, named_in((learners, target))), generator_of(seed)
    if not 0 < share < 1:
        raise InvalidArgument(f"share={share!r} of the rows is held out: a number between 0 and 1.")
    num_held = max(1, round(share * table.num_rows))
    for size in sizes:
        check_count("sizes", size, 1)
        if size > table.num_rows - num_held:
            raise InvalidArgument(
                f"{size} rows to learn from are too many: {table.num_rows - num_held} are not held out."
            )
    orders = [rng.permutation(table.num_rows) for _ in range(repeats)]
    training, held_out = {}, {}
    for name, learner in name_learners(learners).items():
        learn = read_learner(learner)
        losses = []
        for order in orders:
            held = table.take(order[:num_held])
            for size in sizes:
                rows = table.take(order[num_held : num_held + size])
                network = learn(rows)
                losses.append((mean_loss(network, rows, target), mean_loss(network, held, target)))
        training[name], held_out[name] = np.array(losses).reshape(repeats, len(sizes), 2).transpose(2, 1, 0)
    return LearningCurve(tuple(sizes), training, held_out)


def compare_generative_discriminative(
    data: TableLike, target: str, sizes: Sequence[int], *, repeats: int = 5, penalty: float = 1.0, seed: Seed = 0
) -> LearningCurve:
    """Naive Bayes against logistic regression on P(target | others), by how many rows there are.

    Both have the same family of posteriors. Naive Bayes maximises the joint likelihood: its own, perhaps wrong, limit
    is near after O(log n) rows. Logistic regression maximises the conditional likelihood: its limit is never worse, but
    O(n) rows away. Ng & Jordan 2002, "On discriminative vs. generative classifiers".

    The target is a discrete variable; `penalty` is that of the weights of the logistic regression. The other options
    are those of `learning_curve`.
    """
    table = Table.for_learning(data, [target])
    UnknownVariable.check(target, table.variables, "the data")
    if table.variables[target].is_continuous:
        raise NotSupported(f"{target!r} is continuous; a class is a discrete variable.")
    others = [name for name in table.variables if name != target]
    naive = DAG([(target, name) for name in others], nodes=list(table.variables))
    regression = DAG([(name, target) for name in others], nodes=list(table.variables))

    def generative(rows: Table) -> BayesianNetwork:
        return learn_parameters(naive, rows, LIGHT_PRIOR)

    def discriminative(rows: Table) -> BayesianNetwork:
        kinds = {target: LogisticLearner(penalty)}
        return learn_parameters(regression, rows, LIGHT_PRIOR, unseen="uniform", kinds=kinds)

    learners = {"generative": generative, "discriminative": discriminative}
    return learning_curve(table, learners, sizes, target=target, repeats=repeats, seed=seed)
