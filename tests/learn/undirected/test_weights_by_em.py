"""EM for weights: monotone, the optima of the gradient, and as many inferences as it says."""

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible.learn.undirected.partition import RowsPartition, TreePartition

FEATURES = [["A", "B"], ["B", "C"], ["C", "A"]]
VARIABLES = [pb.Variable(name, 2) for name in "ABC"]


def rows(number=200):
    """A chain with a third of all cells missing."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, number)
    table = np.stack([first, first ^ (rng.random(number) < 0.2), first ^ (rng.random(number) < 0.3)], axis=1)
    return pd.DataFrame(np.where(rng.random((number, 3)) < 0.3, np.nan, table), columns=list("ABC"))


@pytest.mark.parametrize("prior", [pb.GaussianPrior(1.0), pb.LaplacePrior(0.2)])
@pytest.mark.parametrize("inner_steps", [1, 8])
def test_em_never_falls_and_ends_where_the_gradient_does(inner_steps, prior):
    """The same value and weights as by L-BFGS, whatever many inner steps."""
    method = pb.learn.PartialEM(inner_steps=inner_steps)
    options = {"prior": prior, "variables": VARIABLES, "tolerance": 1e-5}
    fit = pb.learn.markov(FEATURES, rows(), optimizer=method, **options)
    other = pb.learn.markov(FEATURES, rows(), **options)
    assert fit.converged
    assert np.diff(fit.trace).min() >= -1e-9
    assert fit.objective == pytest.approx(other.objective, abs=1e-4)


def test_a_hidden_variable_is_learned_too():
    """A hidden cause of three columns explains them as well as by the gradient, from the same start."""
    frame = rows().dropna().astype(int)
    stars = [["H", name] for name in "ABC"]
    options = {"prior": pb.GaussianPrior(2.0), "variables": [*VARIABLES, pb.Variable("H", 2)], "seed": 1}
    fit = pb.learn.markov(stars, frame, optimizer="em", **options)
    other = pb.learn.markov(stars, frame, **options)
    assert fit.objective == pytest.approx(other.objective, abs=1e-3)


def test_an_em_step_takes_one_pass_over_rows(monkeypatch):
    """M inferences for expected counts, and K + 3 for log Z, a few more where a line search needs them."""
    calls = {RowsPartition: 0, TreePartition: 0}
    for kind in calls:

        def counted(self, logs, kind=kind, at=kind.at):
            calls[kind] += 1
            return at(self, logs)

        monkeypatch.setattr(kind, "at", counted)
    frame, per_step = rows(), []
    for steps in (4, 8):
        calls |= dict.fromkeys(calls, 0)
        method = pb.learn.PartialEM(inner_steps=3)
        options = {"prior": pb.GaussianPrior(1.0), "variables": VARIABLES, "tolerance": 0.0}
        pb.learn.markov(FEATURES, frame, optimizer=method, max_steps=steps, **options)
        per_step.append(tuple(calls.values()))
    rows_passes, tree_passes = (after - before for before, after in zip(*per_step, strict=True))
    assert rows_passes == 4
    assert 4 * 6 <= tree_passes <= 4 * 10


def test_complete_rows_are_refused():
    """There is nothing to fill in."""
    with pytest.raises(pb.errors.NotSupported, match="missing"):
        pb.learn.markov(FEATURES, rows().dropna().astype(int), optimizer="em")
