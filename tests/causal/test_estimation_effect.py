"""Estimated effects against formulas written out, known models, and the nominal coverage of intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calculus_oracle import LatentModel, parts_of
from plausible import BayesianNetwork, LinearGaussianCPD, TableCPD
from plausible.causal.estimation.adjusted import (
    DoublyRobust,
    Standardization,
    Weighting,
    linear_fit,
    logistic_fit,
    logistic_mean,
)
from plausible.causal.estimation.effect import estimate_effect
from plausible.causal.estimation.estimate import Bootstrap
from plausible.causal.estimation.methods import FrontDoor, InstrumentalVariable, PlugIn
from plausible.data.table import Table
from plausible.errors import InvalidArgument, NotIdentifiable, NotSupported, PositivityViolation, UnknownVariable
from plausible.graphs import PAG, PDAG, CausalGraph
from refusals import refuses

NO_RESAMPLES = Bootstrap(resamples=0)
CONFOUNDED = "C -> T -> Y; C -> Y"
FRONT_DOOR = "S -> T -> C; S <-> C"


def _expanded(columns, counts):
    """A table with a row for each cell and its count as weight."""
    return Table.read(columns, weights=counts)


def _simpson():
    """The cells of the drug example, with their probabilities as weights of 1000 cases."""
    cells = [(g, d, c) for g in ("male", "female") for d in (0, 1) for c in (0, 1)]
    treated = {"male": 0.75, "female": 0.25}
    cured = {("male", 1): 0.7, ("male", 0): 0.8, ("female", 1): 0.2, ("female", 0): 0.4}
    weights = [
        1000 * 0.5 * (treated[g] if d else 1 - treated[g]) * (cured[g, d] if c else 1 - cured[g, d])
        for g, d, c in cells
    ]
    genders, drugs, cures = zip(*cells, strict=True)
    return _expanded({"gender": genders, "drug": drugs, "cure": cures}, weights)


@pytest.mark.parametrize("method", ["doubly-robust", "standardization", "weighting", PlugIn(prior=None)])
def test_simpsons_paradox_is_resolved(method):
    """Expected 0.45 and 0.60 under intervention, whatever the method; 0.575 and 0.5 are what is seen."""
    estimate = estimate_effect(
        "gender -> drug -> cure; gender -> cure", _simpson(), "cure", "drug", method=method, bootstrap=NO_RESAMPLES
    )
    assert estimate.means == pytest.approx((0.60, 0.45), abs=1e-9)
    assert estimate.difference == pytest.approx(-0.15, abs=1e-9)
    assert estimate.variables == ("gender",)


def test_front_door_vector():
    """P(c | do(s1)) = 0.4525 and P(c | do(s0)) = 0.4975, while 0.8525 and 0.0975 are seen."""
    cells = [(s, t, c) for s in (0, 1) for t in (0, 1) for c in (0, 1)]
    tar = {1: 0.95, 0: 0.05}
    cancer = {(0, 0): 0.10, (0, 1): 0.90, (1, 0): 0.05, (1, 1): 0.85}
    weights = [
        1e4 * 0.5 * (tar[s] if t else 1 - tar[s]) * (cancer[t, s] if c else 1 - cancer[t, s]) for s, t, c in cells
    ]
    columns = dict(zip("STC", zip(*cells, strict=True), strict=True))
    estimate = estimate_effect(FRONT_DOOR, _expanded(columns, weights), "C", "S", bootstrap=NO_RESAMPLES)
    assert estimate.method == "front-door"
    assert estimate.variables == ("T",)
    assert estimate.means == pytest.approx((0.4975, 0.4525), abs=1e-9)


def test_every_identified_effect_is_estimated():
    """Figure 21.3 (e) has neither a set to adjust for nor a front door: frequencies give the model's effect."""
    graph = CausalGraph("X -> Y; X -> Z1 -> Y; Z1 -> Z2 -> Y; X <-> Z2; Z1 <-> Y")
    model = LatentModel(np.random.default_rng(0), graph.nodes, *parts_of(graph))
    joint = model.probability(graph.nodes)
    assert graph.nodes[:2] == ("X", "Y")
    truth = model.probability(["Y"], ["X"])[:, 1].reshape(-1)
    cells = np.argwhere(np.ones(joint.shape))
    columns = {node: cells[:, place] for place, node in enumerate(graph.nodes)}
    data = Table.read(columns, weights=1000 * joint.reshape(-1))
    estimate = estimate_effect(graph, data, "Y", "X", bootstrap=Bootstrap(resamples=20))
    assert estimate.method == "identified"
    np.testing.assert_allclose(estimate.means, truth, atol=1e-10)
    assert estimate.interval[0] < estimate.difference < estimate.interval[1]


def _discrete_rows(rng, num_rows):
    c = rng.integers(0, 3, num_rows)
    d = rng.integers(0, 2, num_rows)
    t = (rng.random(num_rows) < 0.2 + 0.2 * c + 0.15 * d).astype(int)
    y = rng.normal(1.0 + t * (1 + c) - d, 1.0)
    return {"C": c, "D": d, "T": t, "Y": y}


def _standardized(rows):
    """Σ_w E[Y | x, w] P(w), stratum by stratum."""
    frame = pd.DataFrame(rows)
    means = []
    for level in (0, 1):
        strata = frame.groupby(["C", "D"])
        means.append(sum(len(part) * part.Y[part["T"] == level].mean() for _, part in strata) / len(frame))
    return means


@pytest.mark.parametrize("method", [Standardization(), Weighting(), DoublyRobust()])
def test_free_strata_make_all_methods_standardisation(method):
    """With a number for each stratum, weighting and doubly robust estimates are the stratified mean."""
    rows = _discrete_rows(np.random.default_rng(0), 800)
    graph = "C -> T -> Y; C -> Y; D -> T; D -> Y"
    estimate = estimate_effect(graph, rows, "Y", "T", method=method, bootstrap=NO_RESAMPLES)
    assert sorted(estimate.variables) == ["C", "D"]
    np.testing.assert_allclose(estimate.means, _standardized(rows), rtol=1e-9)


def test_weights_are_repeated_rows():
    """A row of weight three is three rows, in estimates, standard errors and reports."""
    rng = np.random.default_rng(1)
    rows = pd.DataFrame(_discrete_rows(rng, 300))
    times = rng.integers(1, 4, 300)
    graph = "C -> T -> Y; C -> Y; D -> T; D -> Y"
    weighted = estimate_effect(graph, Table.read(rows, weights=times), "Y", "T", bootstrap=NO_RESAMPLES)
    repeated = estimate_effect(graph, rows.loc[rows.index.repeat(times)], "Y", "T", bootstrap=NO_RESAMPLES)
    assert weighted.means == pytest.approx(repeated.means)
    assert weighted.standard_error == pytest.approx(repeated.standard_error)
    assert weighted.num_cases == repeated.num_cases == times.sum()
    assert weighted.positivity.effective[1] == pytest.approx(repeated.positivity.effective[1])


def _continuous_rows(rng, num_rows, curve=lambda c: c):
    """A confounder with a logistic effect on the treatment; the treatment adds 2 to the outcome."""
    c = rng.normal(size=num_rows)
    t = (rng.random(num_rows) < 1 / (1 + np.exp(-c))).astype(int)
    return {"C": c, "T": t, "Y": 2.0 * t + 1.5 * curve(c) + rng.normal(size=num_rows)}


@pytest.mark.parametrize("method", [Standardization(), Weighting(), DoublyRobust()])
def test_continuous_covariates_are_adjusted_for(method):
    """The truth is 2; without adjustment it would be 3.2."""
    rows = _continuous_rows(np.random.default_rng(2), 20_000)
    estimate = estimate_effect(CONFOUNDED, rows, "Y", "T", method=method, bootstrap=NO_RESAMPLES)
    assert estimate.difference == pytest.approx(2.0, abs=0.08)
    seen = rows["Y"][rows["T"] == 1].mean() - rows["Y"][rows["T"] == 0].mean()
    assert seen > 2.8


@pytest.mark.parametrize(
    ("odds", "added", "truth", "wrong"),
    [
        (lambda c: c, lambda c: 3.0 * c**2, 2.25, "standardization"),  # the outcome is no line, the treatment logistic
        (lambda c: 2.0 * c**2 + c - 1.5, lambda c: 1.0 + c, 1.0, "weighting"),  # the other way round
    ],
)
def test_one_right_model_is_enough_for_the_doubly_robust(odds, added, truth, wrong):
    """The doubly robust estimate finds the truth, the one by the wrong model alone does not."""
    rng = np.random.default_rng(3)
    c = rng.uniform(-1.5, 1.5, size=20_000)
    t = (rng.random(20_000) < 1 / (1 + np.exp(-odds(c)))).astype(int)
    rows = {"C": c, "T": t, "Y": t * added(c) + 3.0 * c + rng.normal(size=20_000)}
    robust = estimate_effect(CONFOUNDED, rows, "Y", "T", bootstrap=NO_RESAMPLES)
    naive = estimate_effect(CONFOUNDED, rows, "Y", "T", method=wrong, bootstrap=NO_RESAMPLES)
    assert abs(robust.difference - truth) < 4 * robust.standard_error
    assert abs(naive.difference - truth) > 5 * robust.standard_error


def test_binary_outcomes_have_logistic_models():
    """Standardised logistic regression against the truth of the model, which is no line."""
    rng = np.random.default_rng(4)
    c = rng.normal(size=40_000)
    t = (rng.random(40_000) < 1 / (1 + np.exp(-c))).astype(int)
    y = (rng.random(40_000) < 1 / (1 + np.exp(-(t + 2 * c - 1)))).astype(int)
    grid = np.linspace(-8, 8, 4001)
    density = np.exp(-(grid**2) / 2)
    truth = [np.average(1 / (1 + np.exp(-(level + 2 * grid - 1))), weights=density) for level in (0, 1)]
    estimate = estimate_effect(
        CONFOUNDED, {"C": c, "T": t, "Y": y}, "Y", "T", method="standardization", bootstrap=NO_RESAMPLES
    )
    assert estimate.means == pytest.approx(truth, abs=0.01)


@pytest.mark.slow
def test_intervals_cover_the_effect_as_often_as_they_say():
    """90% intervals of the influence function and of resamples, in 80 data sets."""
    rng = np.random.default_rng(5)
    plans = [Bootstrap(resamples=0, confidence=0.9), Bootstrap(resamples=30, confidence=0.9)]
    covered = np.zeros(2)
    for _ in range(80):
        rows = _continuous_rows(rng, 250)
        for place, plan in enumerate(plans):
            low, high = estimate_effect(CONFOUNDED, rows, "Y", "T", bootstrap=plan).interval
            covered[place] += low <= 2.0 <= high
    assert (covered > 64).all()
    assert (covered < 79).all()


def test_the_same_seed_gives_the_same_interval():
    """Resampling is reproducible, and does not depend on the order of the rows of discrete data."""
    rows = pd.DataFrame(_discrete_rows(np.random.default_rng(6), 300))
    rows["Y"] = (rows["Y"] > 1).astype(int)
    graph = "C -> T -> Y; C -> Y; D -> T; D -> Y"
    first, again, other = (
        estimate_effect(graph, data, "Y", "T", bootstrap=Bootstrap(resamples=50, seed=seed))
        for data, seed in ((rows, 1), (rows.iloc[::-1], 1), (rows, 2))
    )
    assert first.interval == again.interval
    assert first.interval != other.interval
    assert first.interval[0] < first.difference < first.interval[1]


def test_linear_treatments_have_slopes():
    """The effect of three units of a continuous treatment, by adjustment, by the front door and in a network."""
    rng = np.random.default_rng(7)
    u, c = rng.normal(size=(2, 5000))
    t = c + u + rng.normal(size=5000)
    m = 2.0 * t + rng.normal(size=5000)
    y = -1.5 * m + 3.0 * c + u + rng.normal(size=5000)
    rows = {"C": c, "U": u, "T": t, "M": m, "Y": y}
    graph = "C -> T -> M -> Y; C -> Y; U -> T; U -> Y"
    hidden = "T -> M -> Y; T <-> Y"
    by_adjustment = estimate_effect(graph, rows, "Y", "T", levels=(0, 3), bootstrap=Bootstrap(resamples=20))
    by_network = estimate_effect(graph, rows, "Y", "T", levels=(0, 3), method="plug-in", bootstrap=NO_RESAMPLES)
    by_front_door = estimate_effect(hidden, rows, "Y", "T", levels=(0, 3), bootstrap=NO_RESAMPLES)
    assert (by_adjustment.method, by_front_door.method) == ("standardization", "front-door")
    for estimate in (by_adjustment, by_network, by_front_door):
        assert estimate.difference == pytest.approx(-9.0, abs=0.35)
    assert by_adjustment.standard_error < 0.2
    assert by_network.standard_error is None


def test_plug_in_completes_missing_cells():
    """With cells missing at random the other methods refuse, and the network is learned by expectation maximisation."""
    net = BayesianNetwork(
        TableCPD("C", [0.4, 0.6]),
        TableCPD("T", [[0.8, 0.2], [0.3, 0.7]], ["C"]),
        TableCPD("Y", [[[0.9, 0.1], [0.5, 0.5]], [[0.6, 0.4], [0.2, 0.8]]], ["C", "T"]),
    )
    rows = net.sample(4000, seed=0).astype("float")
    rows.loc[::7, "Y"] = np.nan
    with pytest.raises(InvalidArgument, match="'Y' is missing in 572 of 4000 rows"):
        estimate_effect(CONFOUNDED, rows, "Y", "T")
    estimate = estimate_effect(net, rows, "Y", "T", method="plug-in", bootstrap=NO_RESAMPLES)
    assert estimate.difference == pytest.approx(0.4, abs=0.05)


def test_binary_instrument_is_walds_estimate():
    """The ratio of two differences of means."""
    rng = np.random.default_rng(8)
    z = rng.integers(0, 2, 500)
    u = rng.normal(size=500)
    t = (rng.random(500) < 0.2 + 0.5 * z).astype(int)
    y = 1.5 * t + u + rng.normal(size=500)
    estimate = estimate_effect(
        "Z -> T -> Y; T <-> Y", {"Z": z, "T": t, "Y": y}, "Y", "T", method="instrument", bootstrap=NO_RESAMPLES
    )
    wald = (y[z == 1].mean() - y[z == 0].mean()) / (t[z == 1].mean() - t[z == 0].mean())
    assert estimate.difference == pytest.approx(wald)
    assert estimate.variables == ("Z",)
    assert estimate.strength == pytest.approx(first_stage_strength(t, [np.ones(500)], [z]))
    assert np.isnan(estimate.means).all()


def first_stage_strength(treatment, without, added):
    """F of the columns added to a regression: the fall of the sum of squares for each, by the variance that is left."""
    both = np.column_stack([*without, *added])
    alone = np.column_stack(without)
    squares = [
        np.sum((treatment - design @ np.linalg.lstsq(design, treatment, rcond=None)[0]) ** 2)
        for design in (alone, both)
    ]
    left = len(treatment) - both.shape[1]
    return (squares[0] - squares[1]) / len(added) / (squares[1] / left)


def test_the_strength_of_an_instrument_of_three_states_counts_two_columns():
    """Given a condition, by a regression of the treatment with and without the instrument's indicators."""
    rng = np.random.default_rng(11)
    w = rng.normal(size=300)
    z = rng.integers(0, 3, 300)
    t = 0.4 * (z == 1) + 0.9 * (z == 2) + w + rng.normal(size=300)
    rows = {"W": w, "Z": np.array(list("abc"))[z], "T": t, "Y": t + w + rng.normal(size=300)}
    estimate = estimate_effect(
        "W -> Z -> T -> Y; W -> Y; W -> T; T <-> Y", rows, "Y", "T", method="instrument", bootstrap=NO_RESAMPLES
    )
    expected = first_stage_strength(t, [np.ones(300), w], [1.0 * (z == 1), 1.0 * (z == 2)])
    assert estimate.strength == pytest.approx(expected)


def test_conditional_instruments_remove_confounding():
    """The truth is 1; the regression of Y on T is far off; intervals of both kinds cover."""
    rng = np.random.default_rng(9)
    w, u, v = rng.normal(size=(3, 8000))
    z = w + rng.normal(size=8000)
    t = z + 2 * u + v
    y = 1.0 * t - 3.0 * u + 2.0 * w + rng.normal(size=8000)
    rows = {"W": w, "Z": z, "T": t, "Y": y}
    graph = "W -> Z -> T -> Y; W -> Y; T <-> Y"
    estimate = estimate_effect(graph, rows, "Y", "T", method="instrument", bootstrap=NO_RESAMPLES)
    assert estimate.variables == ("Z", "W")
    assert estimate.difference == pytest.approx(1.0, abs=4 * estimate.standard_error)
    assert estimate.standard_error < 0.1
    resampled = estimate_effect(graph, rows, "Y", "T", method="instrument", bootstrap=Bootstrap(resamples=40))
    assert resampled.standard_error == pytest.approx(estimate.standard_error, rel=0.4)
    with pytest.raises(InvalidArgument, match="Z <- W -> Y is open"):
        estimate_effect(graph, rows, "Y", "T", method=InstrumentalVariable("Z"))


# --- positivity, classes, mistakes ---


def test_strata_without_a_level_are_named():
    """A saturated model refuses them; a regression goes on and reports them."""
    rows = {"C": [0, 0, 0, 1, 1, 1], "T": [0, 1, 0, 0, 0, 0], "Y": [0.5, 1.5, 0.7, 2.5, 2.2, 2.9]}
    with pytest.raises(PositivityViolation, match=r"No case with C=1 has T=1 \(1 of 2 strata") as caught:
        estimate_effect(CONFOUNDED, rows, "Y", "T")
    assert caught.value.undefined == ({"C": 1, "T": 1},)
    method = Standardization(model="regression")
    report = estimate_effect(CONFOUNDED, rows, "Y", "T", method=method, bootstrap=NO_RESAMPLES).positivity
    assert not report.is_satisfied
    assert [(cell.level, dict(cell.covariates), cell.share) for cell in report.empty] == [(1, {"C": 1}, 0.5)]
    assert {(cell.level, cell.num_cases) for cell in report.sparse} == {(0, 2.0), (0, 3.0), (1, 1.0)}
    assert "no cases of 1 where C=1 (50.00% of all cases)" in str(report)


def test_propensities_are_those_of_the_strata():
    """Shares of treated cases, stratum by stratum, and what their weights are worth."""
    rows = {"C": [0] * 10 + [1] * 10, "T": ([1] * 5 + [0] * 5) + ([1] * 2 + [0] * 8), "Y": np.arange(20.0) + 0.5}
    report = estimate_effect(CONFOUNDED, rows, "Y", "T", bootstrap=NO_RESAMPLES).positivity
    assert report.propensity[1] == pytest.approx((0.2, 0.5))
    assert report.propensity[0] == pytest.approx((0.5, 0.8))
    inverse = np.array([2.0] * 5 + [5.0] * 2)
    assert report.effective[1] == pytest.approx(inverse.sum() ** 2 / (inverse**2).sum())


def test_classes_of_graphs_will_do_for_adjustment():
    """What all members agree on is estimated; what they do not is refused."""
    rows = _discrete_rows(np.random.default_rng(10), 500)
    pag = PAG("C o-> T; D o-> T; T -> Y")
    estimate = estimate_effect(pag, rows, "Y", "T", bootstrap=NO_RESAMPLES)
    assert estimate.variables == ()
    with pytest.raises(NotIdentifiable, match="'T - Y' leaves open"):
        estimate_effect(PDAG("T - Y"), rows, "Y", "T")


def test_more_levels_and_events():
    """Two of three levels are compared; the event of an outcome with words for states is asked for."""
    rng = np.random.default_rng(11)
    t = rng.integers(0, 3, 3000)
    words = np.array(["bad", "fair", "good"])
    y = words[np.clip(t + rng.integers(-1, 2, 3000), 0, 2)]
    rows = {"T": t, "Y": y}
    refuses(InvalidArgument, "levels=", estimate_effect, "T -> Y", rows, "Y", "T", event="good")
    refuses(InvalidArgument, "event='good'", estimate_effect, "T -> Y", rows, "Y", "T", levels=(0, 2))
    estimate = estimate_effect("T -> Y", rows, "Y", "T", levels=(0, 2), event="good", bootstrap=NO_RESAMPLES)
    assert estimate.means == pytest.approx([(y[t == level] == "good").mean() for level in (0, 2)])
    assert "T: 0 -> 2 on P(Y=good)" in str(estimate)


def test_mistakes_in_estimation_are_told():
    """Names, sets, methods, levels and rows that will not do."""
    rows = {"C": [0, 1, 0, 1], "T": [0, 1, 1, 0], "Y": [0.5, 1.5, 2.5, 3.5]}
    refuses(UnknownVariable, "'Q'", estimate_effect, CONFOUNDED, rows, "Q", "T")
    refuses(UnknownVariable, "'U' is not a variable of the data", estimate_effect, "C -> T -> U", rows, "U", "T")
    with pytest.raises(InvalidArgument, match="T <- C -> Y is open"):
        estimate_effect(CONFOUNDED, rows, "Y", "T", method=DoublyRobust(adjustment=()))
    with pytest.raises(InvalidArgument, match="no method 'magic'"):
        estimate_effect(CONFOUNDED, rows, "Y", "T", method="magic")
    with pytest.raises(NotIdentifiable):
        estimate_effect("T -> Y; T <-> Y", rows, "Y", "T")
    refuses(NotSupported, "continuous", estimate_effect, "Y -> C", rows, "C", "Y", method=Weighting())
    refuses(NotSupported, "latent cause", estimate_effect, "T -> Y; T <-> Y", rows, "Y", "T", method="plug-in")
    refuses(InvalidArgument, "front-door criterion", estimate_effect, CONFOUNDED, rows, "Y", "T", method=FrontDoor("C"))
    with pytest.raises(InvalidArgument, match="No row has T=1"):
        estimate_effect(CONFOUNDED, Table.read(rows, weights=[1, 0, 0, 1]), "Y", "T")
    with pytest.raises(InvalidArgument, match="no rows"):
        estimate_effect(CONFOUNDED, Table.read(rows, weights=[0, 0, 0, 0]), "Y", "T")
    with pytest.raises(NotSupported, match="In all 4 rows 'C' was set from outside"):
        estimate_effect(CONFOUNDED, Table.read(rows, interventions={"C": [True] * 4}), "Y", "T")
    with pytest.raises(NotSupported, match="In all 4 rows 'C' was set from outside"):
        estimate_effect(CONFOUNDED, Table.read(rows, interventions={"C": [True] * 4}), "Y", "T", method="plug-in")
    with pytest.raises(InvalidArgument, match="resamples=3"):
        Bootstrap(resamples=3)


def test_regressions_satisfy_their_normal_equations():
    """Gradients vanish; separable data stay finite."""
    rng = np.random.default_rng(12)
    design = np.column_stack([np.ones(50), rng.normal(size=(50, 2))])
    weights, y = rng.random(50), rng.integers(0, 2, 50).astype(float)
    slopes = linear_fit(design, y, weights)
    np.testing.assert_allclose(design.T @ (weights * (y - design @ slopes)), 0, atol=1e-9)
    odds = logistic_fit(design, y, weights)
    np.testing.assert_allclose(design.T @ (weights * (y - logistic_mean(design, odds))), 0, atol=1e-5)
    separable = (design[:, 1] > 0).astype(float)
    assert np.isfinite(logistic_fit(design, separable, weights)).all()


def test_gaussian_network_is_the_truth_of_its_samples():
    """Rows drawn from a linear Gaussian network give back its effect."""
    net = BayesianNetwork(
        LinearGaussianCPD("C"), LinearGaussianCPD("T", 0, {"C": 1.0}), LinearGaussianCPD("Y", 1, {"C": 2.0, "T": 0.5})
    )
    estimate = estimate_effect(net, net.sample(3000, seed=1), "Y", "T", bootstrap=Bootstrap(resamples=40))
    assert estimate.difference == pytest.approx(0.5, abs=0.08)
    assert estimate.interval[0] < 0.5 < estimate.interval[1]


# --- thin strata, gaps, and what is assumed ---


def _thin_rows(rng):
    """Twelve strata, half of them with a single treated case; the outcome depends on the stratum only."""
    z = np.repeat(np.arange(12), 30)
    place = np.tile(np.arange(30), 12)
    x = (place < np.where(z < 6, 1, 15)).astype(int)
    return {"C": z, "T": x, "Y": np.where(z < 6, 10.0, 0.0) + 0.1 * rng.normal(size=360)}


@pytest.mark.parametrize("method", ["doubly-robust", "standardization", "weighting"])
def test_resamples_average_both_levels_over_the_same_strata(method):
    """Strata that lose a level in a resample shift neither mean: the interval is as narrow as the noise."""
    estimate = estimate_effect(CONFOUNDED, _thin_rows(np.random.default_rng(0)), "Y", "T", method=method)
    low, high = estimate.interval
    assert -0.1 < low < 0.0 < high < 0.1
    assert len(estimate.positivity.sparse) == 6
    assert "the interval may be too narrow" in str(estimate)


def test_strata_with_fewer_than_five_cases_of_a_level_are_sparse():
    """Of three strata with four, five and six treated cases, the first."""
    place = np.tile(np.arange(30), 3)
    rows = {"C": np.repeat([0, 1, 2], 30), "T": (place < np.repeat([4, 5, 6], 30)).astype(int), "Y": 1.0 * place}
    report = estimate_effect(CONFOUNDED, rows, "Y", "T", method="standardization", bootstrap=NO_RESAMPLES).positivity
    assert [(cell.level, dict(cell.covariates), cell.num_cases) for cell in report.sparse] == [(1, {"C": 0}, 4.0)]


def test_front_door_resamples_average_over_the_same_treatments():
    """A cell that is empty in a resample must not compare mediators among differently treated cases."""
    rng = np.random.default_rng(1)
    s = np.repeat([0, 1], 200)
    t = np.where(np.isin(np.arange(400), [0, 1, 398, 399]), 1 - s, s)
    rows = {"S": s, "T": t, "C": 10.0 * s + 0.1 * rng.normal(size=400)}
    low, high = estimate_effect(FRONT_DOOR, rows, "C", "S").interval
    assert -0.5 < low < 0.0 < high < 0.5


@pytest.mark.slow
def test_intervals_with_thin_strata_cover_the_effect():
    """Ten strata, 7% treated in half of them: 95% intervals cover no effect in 9 of 10 data sets or more."""
    rng = np.random.default_rng(2)
    covered = []
    while len(covered) < 100:
        c = rng.integers(10, size=400)
        t = (rng.random(400) < np.where(c < 5, 0.07, 0.5)).astype(int)
        if not np.bincount(2 * c + t, minlength=20).all():
            continue
        rows = {"C": c, "T": t, "Y": np.where(c < 5, 10.0, 0.0) + 0.1 * rng.normal(size=400)}
        low, high = estimate_effect(CONFOUNDED, rows, "Y", "T", bootstrap=100).interval
        covered.append(low <= 0 <= high)
    assert np.mean(covered) >= 0.88


def test_plug_in_reports_what_the_prior_fills_in():
    """The treatment copies the covariate: no effect within a stratum is in the data, with or without a mediator."""
    rng = np.random.default_rng(3)
    c = rng.integers(0, 2, 400)
    rows = {"C": c, "T": c, "M": c, "Y": (rng.random(400) < 0.7 - 0.4 * c).astype(int)}
    estimate = estimate_effect(CONFOUNDED, rows, "Y", "T", method="plug-in", bootstrap=NO_RESAMPLES)
    assert [(cell.level, dict(cell.covariates)) for cell in estimate.positivity.empty] == [(0, {"C": 1}), (1, {"C": 0})]
    assert "a model or a prior fills in" in str(estimate)
    through = estimate_effect(
        "C -> T -> M -> Y; C -> Y", rows, "Y", "T", method="plug-in", bootstrap=NO_RESAMPLES
    ).positivity.empty
    assert sorted(tuple(sorted(cell.covariates.items())) for cell in through) == [
        (("C", 0), ("M", 1)),
        (("C", 1), ("M", 0)),
    ]
    assert {cell.level for cell in through} == {None}


def test_plug_in_with_all_cells_has_nothing_to_report():
    """Rows of all kinds leave neither empty nor sparse cells, with discrete and continuous outcomes."""
    rows = _discrete_rows(np.random.default_rng(4), 2000)
    for outcome in (rows["Y"], (rows["Y"] > 1).astype(int)):
        data = {"C": rows["C"], "T": rows["T"], "Y": outcome}
        report = estimate_effect(CONFOUNDED, data, "Y", "T", method="plug-in", bootstrap=NO_RESAMPLES).positivity
        assert (report.empty, report.sparse) == ((), ())


@pytest.mark.parametrize("method", ["front-door", "identified"])
def test_thin_cells_of_mediators_are_reported(method):
    """Three cases of each kind have a mediator that goes against their treatment."""
    s = np.repeat([0, 1], 200)
    t = np.where(np.isin(np.arange(400), [0, 1, 2, 397, 398, 399]), 1 - s, s)
    rows = {"S": s, "T": t, "C": np.tile([0, 1], 200)}
    report = estimate_effect(FRONT_DOOR, rows, "C", "S", method=method, bootstrap=NO_RESAMPLES).positivity
    assert [cell.num_cases for cell in report.sparse] == [3.0, 3.0]
    assert report.empty == ()


def test_slopes_that_differ_are_averaged():
    """y = x w has the effect E[w] = 1, though cases with large w have more spread in x and would count for more."""
    rng = np.random.default_rng(5)
    w = rng.normal(size=4000) + 1
    x = w + rng.normal(size=4000) * np.exp(0.5 * w)
    rows = {"C": w, "T": x, "Y": x * w + rng.normal(size=4000)}
    estimate = estimate_effect(CONFOUNDED, rows, "Y", "T", bootstrap=NO_RESAMPLES)
    assert estimate.difference == pytest.approx(w.mean(), abs=0.03)
    assert estimate.difference == pytest.approx(1.0, abs=0.08)
    assert "assuming   Y is linear in T, C and their products with T" in str(estimate)


def test_means_at_levels_of_a_number_are_those_of_the_equation():
    """y = 5 + 2 t + (3 + t) c without noise has the mean 5 + 2 t + (3 + t) E[c]; and m = 2 t, y = 5 - 3 m."""
    rng = np.random.default_rng(6)
    c, u = rng.normal(2.0, 1.0, size=(2, 300))
    t = c + u
    estimate = estimate_effect(
        CONFOUNDED, {"C": c, "T": t, "Y": 5 + 2 * t + (3 + t) * c}, "Y", "T", levels=(1, 4), bootstrap=NO_RESAMPLES
    )
    assert estimate.means == pytest.approx([7 + 4 * c.mean(), 13 + 7 * c.mean()])
    m = 2 * t + rng.normal(size=300)
    m -= np.linalg.lstsq(np.stack([np.ones(300), t], axis=1), m - 2 * t, rcond=None)[0] @ [np.ones(300), t]
    rows = {"T": t, "M": m, "Y": 5 - 3 * m}
    found = estimate_effect("T -> M -> Y; T <-> Y", rows, "Y", "T", levels=(1, 4), bootstrap=NO_RESAMPLES)
    assert found.method == "front-door"
    assert found.means == pytest.approx([5 - 6 * 1, 5 - 6 * 4])


def test_an_instrument_is_named_where_nothing_else_helps():
    """It is not taken unasked; the columns that are missing are named, too."""
    rng = np.random.default_rng(6)
    rows = {name: rng.integers(0, 2, 200) for name in "ZTY"}
    with pytest.raises(NotIdentifiable, match=r"method='instrument'.*\(Z\).*linear.*causal.bounds") as caught:
        estimate_effect("Z -> T -> Y; T <-> Y", rows, "Y", "T")
    assert caught.value.hedge is not None
    with pytest.raises(NotIdentifiable, match="no column for 'U'"):
        estimate_effect("Z -> T -> Y; U -> T; U -> Y", rows, "Y", "T")
    assert "assuming   the effect of T is linear" in str(
        estimate_effect("Z -> T -> Y; T <-> Y", rows, "Y", "T", method="instrument", bootstrap=NO_RESAMPLES)
    )


def test_arguments_that_make_no_sense_are_refused_in_words():
    """Several treatments, equal levels, a treatment that never varies, and no number of resamples."""
    rows = {"C": [0, 1] * 20, "T": [0, 0, 1, 1] * 10, "Y": [0, 1, 1, 1] * 10}
    refuses(InvalidArgument, r"one treatment.*not \['T', 'C'\]", estimate_effect, CONFOUNDED, rows, "Y", ["T", "C"])
    refuses(InvalidArgument, "levels= names 1 twice", estimate_effect, CONFOUNDED, rows, "Y", "T", levels=(1, 1))
    refuses(InvalidArgument, "'T' is 1 everywhere", estimate_effect, CONFOUNDED, {**rows, "T": [1] * 40}, "Y", "T")
    with pytest.raises(InvalidArgument, match="number of resamples, not 'many'"):
        estimate_effect(CONFOUNDED, rows, "Y", "T", bootstrap="many")
    assert (
        estimate_effect(CONFOUNDED, rows, "Y", "T", bootstrap=30).interval
        == estimate_effect(CONFOUNDED, rows, "Y", "T", bootstrap=Bootstrap(resamples=30)).interval
    )


def test_an_outcome_above_the_treatment_has_no_causal_path():
    """The effect is zero by the graph, and the result and the refusal say why."""
    rows = {"T": [0, 1] * 20, "Y": [0, 0, 1, 1] * 10}
    estimate = estimate_effect("Y -> T", rows, "Y", "T")
    assert estimate.difference == pytest.approx(0.0)
    assert "No causal path leads from 'T' to 'Y'" in str(estimate)
    with pytest.raises(InvalidArgument, match="No causal path leads from 'T' to 'Y'"):
        estimate_effect("Y -> T", rows, "Y", "T", method="doubly-robust")


# --- overlap with continuous covariates ---


def _by_age(treated):
    """3000 ages, a treatment that depends on them, and an outcome that it raises by one."""
    rng = np.random.default_rng(0)
    age = rng.uniform(40, 70, 3000)
    t = treated(age, rng).astype(int)
    y = t + 0.02 * (age - 55) ** 2 * np.sign(age - 55) + rng.normal(size=3000)
    return {"C": age, "T": t, "Y": y}


@pytest.mark.parametrize("method", [None, "weighting", DoublyRobust(model="regression")])
def test_levels_that_no_case_could_both_have_are_not_compared(method):
    """All above 55 are treated and nobody else: any answer would be the model's, even with the wrong sign."""
    with pytest.raises(
        PositivityViolation, match=r"Only \d\.\d\d% of all cases had, by C, a chance of both T=0 and T=1"
    ):
        estimate_effect(CONFOUNDED, _by_age(lambda age, rng: age > 55), "Y", "T", method=method, bootstrap=NO_RESAMPLES)


def test_standardisation_without_overlap_extrapolates_and_says_so():
    """The way that the refusal names; half of the cases have no chance of each level."""
    rows = _by_age(lambda age, rng: age > 55)
    estimate = estimate_effect(CONFOUNDED, rows, "Y", "T", method=Standardization("C", "regression"), bootstrap=20)
    report = estimate.positivity
    assert not report.is_satisfied
    assert not report.has_overlap
    assert list(report.unlikely.values()) == pytest.approx([0.5, 0.5], abs=0.03)
    assert report.comparable == pytest.approx(1 - sum(report.unlikely.values()))
    assert "chance of both levels" in str(estimate)
    assert "all but 0 for" in str(estimate)


def test_partial_overlap_is_warned_of_with_its_share():
    """Chances that fall below a fiftieth of the average for the oldest and the youngest."""
    rows = _by_age(lambda age, rng: rng.random(3000) < 1 / (1 + np.exp(55 - age)))
    estimate = estimate_effect(CONFOUNDED, rows, "Y", "T", bootstrap=20)
    share = np.mean(np.abs(rows["C"] - 55) < np.log(99))  # where both chances are above 0.01
    assert not estimate.positivity.is_satisfied
    assert estimate.positivity.comparable == pytest.approx(share, abs=0.04)
    assert f"only {estimate.positivity.comparable:.2%} of all cases" in str(estimate)


def test_ranges_without_a_level_are_named_whatever_the_propensity_model_says():
    """Treated in the middle only: a logistic regression gives everyone the same chance; the tenths do not."""
    rows = _by_age(lambda age, rng: np.abs(age - 55) < 5)
    report = estimate_effect(CONFOUNDED, rows, "Y", "T", bootstrap=NO_RESAMPLES).positivity
    assert not report.is_satisfied
    assert not report.unlikely
    for level, inside in ((0, True), (1, False)):
        ranges = [[float(end) for end in c.covariates["C"].split(" to ")] for c in report.empty if c.level == level]
        assert ranges
        assert all((max(abs(end - 55) for end in ends) < 5.1) is inside for ends in ranges)


def test_rare_treatments_at_random_are_no_violation():
    """One case in a hundred is treated, whatever its age."""
    rows = _by_age(lambda age, rng: rng.random(3000) < 0.01)
    report = estimate_effect(CONFOUNDED, rows, "Y", "T", bootstrap=NO_RESAMPLES).positivity
    assert report.is_satisfied
    assert report.comparable == 1.0


def test_a_continuous_covariate_does_not_hide_empty_strata():
    """Smoking men are all treated: said with and without ages beside."""
    rng = np.random.default_rng(0)
    man, smokes, age = rng.integers(2, size=600), rng.integers(3, size=600), rng.uniform(40, 70, 600)
    treated = np.where((man == 1) & (smokes == 2), 1, rng.integers(2, size=600))
    rows = {"man": man, "smokes": smokes, "age": age, "T": treated, "Y": treated + age + rng.normal(size=600)}
    graph = "man -> T; smokes -> T; man -> Y; smokes -> Y; T -> Y"
    with pytest.raises(PositivityViolation, match=r"fill in: method=DoublyRobust\(model='regression'\)"):
        estimate_effect(graph, rows, "Y", "T")
    report = estimate_effect(f"{graph}; age -> T; age -> Y", rows, "Y", "T", bootstrap=NO_RESAMPLES).positivity
    assert not report.is_satisfied
    assert [(cell.level, dict(cell.covariates)) for cell in report.empty] == [(0, {"man": 1, "smokes": 2})]
    assert report.empty[0].share == pytest.approx(np.mean((man == 1) & (smokes == 2)))


def test_a_number_of_resamples_may_be_of_any_whole_kind():
    rows = {"X": [0, 1] * 30, "Y": [0, 1, 1] * 20}
    found = [estimate_effect("X -> Y", rows, "Y", "X", bootstrap=number) for number in (20, np.int64(20))]
    assert found[0].interval == found[1].interval
