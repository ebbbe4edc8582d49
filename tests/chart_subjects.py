"""A small result of each kind that has a chart, and the functions of `plausible.plotting` that draw other things."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import plausible as pb
from plausible import plotting
from plausible.causal.counterfactuals.contrasts import Contrast
from plausible.causal.interventional.response_posterior import PosteriorAnswer
from plausible.causal.partial.checks import bootstrap_bounds
from plausible.decisions import (
    choose_observations,
    compare_actions,
    rank_observations,
    strategy_stability,
    utility_tornado,
)
from plausible.learn.confidence.weighted_graphs import EdgeStrengths
from plausible.learn.evaluation.predicted_events import calibration, roc_curve
from plausible.learn.incomplete_scores.cardinality import CardinalityChoice, CardinalityScore
from plausible.learn.missingness.diagnosis import diagnose_missing
from plausible.learn.missingness.imputation import pool_estimates
from plausible.learn.mixtures.comparison import ClusterChoice, ClusterScore
from plausible.learn.sequences.hmm_choice import HMMChoice, HMMScore
from plausible.models.sequences.state_estimates import StateEstimates
from plausible.utilities import Lottery

TRIAL = "Z -> T -> Y; T <-> Y"
EFFECT = pb.causal.average_causal_effect({"Y": 1}, {"T": 1}, {"T": 0})
SEEN = {"xray": "yes", "smoke": "no", "dysp": "no"}


@cache
def asia() -> pb.BayesianNetwork:
    return pb.examples.load("asia")


@cache
def rows() -> pd.DataFrame:
    return asia().sample(200, seed=1)


@cache
def oil() -> Any:
    return pb.examples.load("oil")


@cache
def hmm() -> pb.HiddenMarkovModel:
    return pb.HiddenMarkovModel(
        [0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], [[0.9, 0.1], [0.2, 0.8]], states=["rain", "dry"], symbols=["u", "n"]
    )


@cache
def system() -> pb.LinearDynamicalSystem:
    eye = [[1.0]]
    return pb.LinearDynamicalSystem(eye, eye, eye, eye, [0.0], [[5.0]])


OBSERVED = [1.0, 2.0, float("nan"), 0.5, 1.5]


def system_estimates() -> StateEstimates:
    return system().smooth(OBSERVED)


def switching_estimates() -> Any:
    model = pb.models.SwitchingLinearDynamicalSystem([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [system(), system()])
    return model.smooth([1.0, 2.0, 0.5])


def incomplete_rows() -> pd.DataFrame:
    part = rows().copy()
    rng = np.random.default_rng(0)
    for name in ("smoke", "lung", "xray"):
        part.loc[rng.random(len(part)) < 0.3, name] = None
    return part


def short_chains() -> Any:
    lengths = pb.learn.ChainLengths(num_draws=20, num_chains=2, burn_in=5)
    return pb.learn.sample_orders(rows()[["smoke", "lung", "bronc"]], lengths=lengths, seed=0)


def bounds() -> Any:
    return pb.causal.bounds(TRIAL, EFFECT, trial_rows())


def trial_rows() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 300)
    t = np.where(rng.random(300) < 0.7, z, rng.integers(0, 2, 300))
    return pd.DataFrame({"Z": z, "T": t, "Y": np.where(rng.random(300) < 0.7, t, rng.integers(0, 2, 300))})


def predictions() -> tuple[list[str], np.ndarray]:
    rng = np.random.default_rng(0)
    chance = rng.random(100)
    return list(np.where(rng.random(100) < chance, "ill", "well")), chance


#: Name -> what makes a result that has `plot`.
RESULTS: dict[str, Callable[[], Any]] = {
    "Factor": lambda: asia().query("lung", {"xray": "yes"}),
    "joint Factor": lambda: asia().query(["lung", "bronc", "smoke"]),
    "Marginals": lambda: asia().marginals({"xray": "yes"}),
    "SensitivityFunction": lambda: asia().sensitivity(
        "lung", "yes", {"xray": "yes"}, parameter=("xray", {"either": "no"}, "yes")
    ),
    "SensitivitySurface": lambda: asia().sensitivity_surface(
        "lung",
        "yes",
        {"xray": "yes"},
        parameters=[("lung", {"smoke": "yes"}, "yes"), ("xray", {"either": "no"}, "yes")],
    ),
    "EvidenceImpact": lambda: asia().evidence_impact("lung", SEEN),
    "Conflict": lambda: asia().conflict(SEEN),
    "DecisionTornado": lambda: utility_tornado(oil()),
    "StrategyStability": lambda: strategy_stability(oil()),
    "ActionComparison": lambda: compare_actions(oil(), "drill", {"seismic": "open", "test": "yes"}),
    "Policy": lambda: oil().solve().policies["drill"],
    "ObservationRanking": lambda: rank_observations(oil(), "drill", costs=5),
    "ObservationChoice": lambda: choose_observations(oil(), "drill"),
    "HasRun": lambda: pb.learn.em(asia().graph, incomplete_rows(), restarts=2, seed=0),
    "HasChains": short_chains,
    "FoundGraph": lambda: pb.learn.structure(rows(), method="first-ascent"),
    "PosteriorAnswer": lambda: PosteriorAnswer(np.random.default_rng(0).random((2, 100)), np.ones((2, 100))),
    "LearningCurve": lambda: pb.learn.learning_curve(rows(), {"true": asia().graph}, [20, 100], repeats=2),
    "LearnerComparison": lambda: pb.learn.compare_learners(rows(), {"true": asia().graph}, 3),
    "EdgeStrengths": lambda: EdgeStrengths(("A", "B"), np.array([[0.0, 0.6], [0.2, 0.0]]), None, None, "an expert"),
    "MissingnessReport": lambda: diagnose_missing(incomplete_rows()),
    "PooledEstimate": lambda: pool_estimates([1.0, 1.2, 0.9], [0.1, 0.1, 0.12]),
    "StateEstimates": system_estimates,
    "Innovations": lambda: system().innovations(OBSERVED),
    "SwitchingEstimates": switching_estimates,
    "Lottery": lambda: oil().risk_profile(oil().solve().strategy),
    "EffectEstimate": lambda: pb.causal.estimate_effect(asia().graph, rows(), "dysp", "smoke"),
    "EffectComparison": lambda: pb.causal.compare_effect(asia(), "dysp", "lung"),
    "Bounds": bounds,
    "BootstrappedBounds": lambda: bootstrap_bounds(TRIAL, EFFECT, trial_rows(), num_samples=5),
    "Contrast": lambda: Contrast(asia().query("lung", do={"smoke": "yes"}), asia().query("lung", do={"smoke": "no"})),
    "HMMChoice": lambda: HMMChoice(
        pb.learn.hmm([["u", "n", "u"]], states=2, max_steps=2),
        (HMMScore(1, -9.0, -8.0), HMMScore(2, -7.0, -6.0)),
        "bic",
    ),
    "ClusterChoice": lambda: ClusterChoice(
        "bic", tuple(ClusterScore(k, -10.0 + k, 0.0, -9.0, k, True) for k in (1, 2, 3)), 3, (3,), None
    ),
    "CardinalityChoice": lambda: CardinalityChoice(
        "H", "bic", tuple(CardinalityScore(k, -10.0 + k, 0.0, asia()) for k in (1, 2, 3))
    ),
    "MarkovStructure": lambda: pb.learn.markov_structure(rows()[["smoke", "lung", "bronc"]], method="l1"),
    "PrecisionFit": lambda: pb.learn.graphical_lasso(
        pd.DataFrame(np.random.default_rng(0).standard_normal((50, 3)), columns=list("abc")), penalty=[0.05, 0.5]
    ),
    "RocCurve": lambda: roc_curve(*predictions(), "ill"),
    "Calibration": lambda: calibration(*predictions(), "ill"),
}

#: Name -> a chart of what is no result: frames, and several things side by side. Each takes the axes.
FUNCTIONS: dict[str, Callable[[Any], plotting.Chart]] = {
    "plot_comparison": lambda ax: plotting.plot_comparison(
        {"before": asia().query("dysp"), "after": asia().query("dysp", {"xray": "yes"})}, ax
    ),
    "plot_tornado": lambda ax: plotting.plot_tornado(asia().tornado("lung", "yes", {"xray": "yes"}), ax),
    "plot_risk": lambda ax: plotting.plot_risk({"sure": Lottery({1: 1.0}), "bold": Lottery({0: 0.5, 3: 0.5})}, ax),
    "plot_intervals": lambda ax: plotting.plot_intervals({"assumed": 0.2, "bounds": (-0.1, 0.4)}, ax),
    "plot_states": lambda ax: plotting.plot_states(hmm().smooth(["u", "u", "n"]), ax),
    "plot_forecast": lambda ax: plotting.plot_forecast(system().forecast(OBSERVED, steps=3)["y1"], OBSERVED, ax),
    "plot_chains": lambda ax: plotting.plot_chains(np.random.default_rng(0).random((3, 50)), ax),
}


@cache
def result(name: str) -> Any:
    return RESULTS[name]()


def drawn(name: str, ax: Any = None) -> plotting.Chart:
    return FUNCTIONS[name](ax) if name in FUNCTIONS else result(name).plot(ax)


@contextmanager
def given_axes(**look: Any) -> Iterator[Any]:
    """Axes of a figure that somebody else made."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 5), layout="constrained")
    FigureCanvasAgg(figure)
    yield figure.add_subplot(**look)
