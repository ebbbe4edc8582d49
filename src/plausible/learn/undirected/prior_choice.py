"""How strong a prior of weights should be: by rows that were held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from plausible.base.options import Seed, check_count, generator_of
from plausible.base.records import Result
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument
from plausible.learn.undirected.fit import MarkovFit
from plausible.learn.undirected.learning import ModelLike, learn_markov, read_sample
from plausible.learn.undirected.named_objectives import ObjectiveLike, read_objective
from plausible.learn.undirected.priors import PriorOfWeights

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class ChosenPrior(Result):
    """The prior that did best on rows that were held out, and the fit of all rows with it."""

    prior: PriorOfWeights
    fit: MarkovFit
    scores: pd.DataFrame  # A row for each prior: the objective of held-out rows, a total over folds, and each fold's


def choose_prior(
    model: ModelLike,
    data: TableLike,
    priors: Sequence[PriorOfWeights],
    *,
    objective: ObjectiveLike = "likelihood",
    folds: int = 5,
    seed: Seed = None,
    **options: Any,
) -> ChosenPrior:
    """Choose among priors by cross-validation: the one under which held-out rows have the largest objective.

    Each fold is held out in turn, and its objective looked at, without the prior, at weights learned from the others;
    a fold with a combination that these rule out has -inf. Of equal priors the first is chosen. It costs folds x priors
    fits, and one more.

    Parameters
    ----------
    model, data, objective
        As for `markov`.
    priors
        Those to choose among; None for no prior.
    folds
        How many parts the rows are split into, at random.
    options
        Further ones of `markov`.

    Examples
    --------
    >>> import plausible as pb
    >>> rows = pb.examples.load("asia").sample(60, seed=0)[["smoke", "lung", "bronc"]]
    >>> priors = [pb.GaussianPrior(variance) for variance in (1e-4, 1.0)]
    >>> pb.learn.choose_prior("smoke - lung - bronc - smoke", rows, priors, seed=0).prior
    GaussianPrior(variance=1.0)
    """
    import pandas as pd

    check_count("folds", folds, least=2)
    if not len(priors):
        raise InvalidArgument("priors= is empty: there is nothing to choose among.")
    table = Table.read(data)
    if table.num_rows < folds:
        raise InvalidArgument(f"{table.num_rows} rows can't be split into folds={folds} parts.")
    order = generator_of(seed).permutation(table.num_rows)
    parts = [np.sort(part) for part in np.array_split(order, folds)]
    declared = {**table.variables, **{one.name: one for one in options.pop("variables", ())}}
    options = {**options, "objective": objective, "variables": list(declared.values())}
    scores = [[_held_out(model, table, part, prior, options) for part in parts] for prior in priors]
    totals = [sum(row) for row in scores]
    best = int(np.argmax(totals))
    frame = pd.DataFrame(scores, columns=[f"fold {number}" for number in range(folds)])
    frame.insert(0, "total", totals)
    frame.insert(0, "prior", [repr(prior) for prior in priors])
    return ChosenPrior(priors[best], learn_markov(model, table, prior=priors[best], **options), frame)


def _held_out(model: ModelLike, table: Table, part: Any, prior: PriorOfWeights, options: dict[str, Any]) -> float:
    """The objective of some rows at weights learned from all others."""
    kept = np.setdiff1d(np.arange(table.num_rows), part)
    fit = learn_markov(model, table.take(kept), prior=prior, **options)
    sample = read_sample(model, table.take(part), options["variables"], options.get("engine"), options.get("budget"))
    sample = replace(sample, design=fit._climb.objective.design)
    if sample.is_complete and sample.counts[~np.isfinite(sample.design.base)].any():
        return -float("inf")
    return read_objective(options["objective"]).on(sample).at(fit.run.state.point)[0]
