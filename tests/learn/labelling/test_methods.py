"""Other ways to find weights: perceptron, stochastic gradient, margin; each against an oracle of its own."""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pytest
from scipy.optimize import minimize

import plausible as pb
from labelling_oracle import log_likelihood, score
from plausible.errors import InvalidArgument, NotSupported

CLASSES = ("A", "B")


def data(seed, num_sequences=4, most=3):
    rng = np.random.default_rng(seed)
    labels = [[CLASSES[k] for k in rng.integers(2, size=rng.integers(1, most + 1))] for _ in range(num_sequences)]
    sequences = [
        [{f"is{label}": 1.0, "x": float(rng.normal())} if rng.random() < 0.7 else {"x": 1.0} for label in one]
        for one in labels
    ]
    return sequences, labels


def test_the_greatest_margin_is_that_of_a_quadratic_program():
    """All constraints written out: weights and slacks as a general solver finds them; the gap proves it."""
    sequences, labels = data(0)
    crf = pb.learn.ChainCRF(method="margin", prior=pb.GaussianPrior(0.5), tolerance=1e-9).fit(sequences, labels)
    names, num = list(crf.weights_), len(sequences)

    def features(sequence, labelling):
        return np.array([score({name: 1.0}, sequence, labelling) for name in names])

    rows, losses = [], []
    for number, (sequence, truth) in enumerate(zip(sequences, labels, strict=True)):
        for other in itertools.product(CLASSES, repeat=len(truth)):
            difference = features(sequence, truth) - features(sequence, other)
            rows.append(np.concatenate([difference, np.eye(num)[number]]))
            losses.append(sum(one != two for one, two in zip(truth, other, strict=True)))
    rows, losses = np.array(rows), np.array(losses, dtype=float)
    size = len(names)
    found = minimize(
        lambda v: v[:size] @ v[:size] + v[size:].sum(),
        np.zeros(size + num),
        jac=lambda v: np.concatenate([2 * v[:size], np.ones(num)]),
        constraints={"type": "ineq", "fun": lambda v: rows @ v - losses, "jac": lambda v: rows},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    assert -crf.training_.trace[-1] == pytest.approx(found.fun, abs=1e-6)
    assert crf.training_.objective == crf.training_.trace[-1] - 0.5 * size * math.log(2 * math.pi * 0.5)
    np.testing.assert_allclose(crf.coefficients_, found.x[:size], atol=1e-4)
    assert crf.training_.converged
    assert 0 <= crf.training_.gap <= 1e-8


def perceptron(sequences, labels, orders):
    """The averaged perceptron in dictionaries: the mean of the weights after each sequence."""
    weights, total, num = {}, {}, 0
    for order in orders:
        for place in order:
            sequence, truth = sequences[place], tuple(labels[place])
            ways = sorted(itertools.product(CLASSES, repeat=len(truth)), key=lambda way: way[::-1])
            best = max(ways, key=lambda way: round(score(weights, sequence, way), 9))
            for way, sign in ((truth, 1.0), (best, -1.0)) if best != truth else ():
                for token, label in zip(sequence, way, strict=True):
                    for name, value in token.items():
                        weights[f"{label}: {name}"] = weights.get(f"{label}: {name}", 0.0) + sign * value
                for one, two in itertools.pairwise(way):
                    weights[f"{one} -> {two}"] = weights.get(f"{one} -> {two}", 0.0) + sign
            num += 1
            for name, weight in weights.items():
                total[name] = total.get(name, 0.0) + weight
    return {name: weight / num for name, weight in total.items()}


def test_the_averaged_perceptron_is_the_mean_of_its_weights():
    """Step by step, as written down in dictionaries; the order is that of the seed."""
    sequences, labels = data(2, num_sequences=12, most=4)
    crf = pb.learn.ChainCRF(
        method="perceptron", max_steps=3, seed=5, all_possible_states=True, all_possible_transitions=True
    ).fit(sequences, labels)
    rng = np.random.default_rng(5)
    expected = perceptron(sequences, labels, [rng.permutation(12) for _ in range(crf.training_.num_steps)])
    for name, weight in crf.weights_.items():
        assert weight == pytest.approx(expected.get(name, 0.0), abs=1e-12)


def test_a_perceptron_ends_after_an_epoch_without_mistakes():
    """Of labels that features tell."""
    labels = [["A", "B", "A"], ["B", "B"]]
    crf = pb.learn.ChainCRF(method="perceptron", seed=0).fit([[[label] for label in one] for one in labels], labels)
    assert crf.training_.converged
    assert crf.training_.objective == 0
    assert crf.training_.num_steps < 20


def test_stochastic_gradient_comes_near_the_optimum():
    """Within a part in a thousand of what L-BFGS finds, never above it; the same for the same seed."""
    sequences, labels = data(3, num_sequences=60, most=6)
    options = {"all_possible_states": True, "all_possible_transitions": True}
    best = pb.learn.ChainCRF(**options).fit(sequences, labels).training_.trace[-1]
    fits = [pb.learn.ChainCRF(method="sgd", seed=1, max_steps=200, **options).fit(sequences, labels) for _ in range(2)]
    reached = fits[0].training_.trace[-1]
    assert best * (1 + 1e-3) <= reached <= best + 1e-9
    np.testing.assert_array_equal(fits[0].coefficients_, fits[1].coefficients_)


@pytest.mark.parametrize("method", ["sgd", "perceptron", "margin"])
def test_methods_by_sequences_need_all_labels(method):
    """What is not told can be summed over by the likelihood alone."""
    crf = pb.learn.ChainCRF(method=method)
    with pytest.raises(InvalidArgument, match=r"needs the label of each token.*l-bfgs"):
        crf.fit([["x", "y"]], [["A", None]])
    assert crf.set_params(max_steps=2).fit([["x", "y"], []], [["A", "B"], []]).predict([[]]) == [[]]


def test_methods_refuse_priors_that_they_have_no_place_for():
    """And names of methods that are none."""
    told = [["x"]], [["A"]]
    with pytest.raises(NotSupported, match="one GaussianPrior"):
        pb.learn.ChainCRF(method="sgd", prior=pb.LaplacePrior(1.0)).fit(*told)
    with pytest.raises(NotSupported, match="needs a GaussianPrior"):
        pb.learn.ChainCRF(method="margin", prior=None).fit(*told)
    with pytest.raises(InvalidArgument, match=r"latent=0 must be a whole number of at least 1"):
        pb.learn.ChainCRF(latent=0).fit(*told)
    with pytest.raises(InvalidArgument, match=r"method='lbfgs' is none. Did you mean 'l-bfgs'"):
        pb.learn.ChainCRF(method="lbfgs").fit(*told)


@pytest.mark.parametrize("method", ["l-bfgs", "sgd", "perceptron", "margin"])
def test_what_progress_was_told_before_an_interrupt_is_gone_on_with(method):
    """Ctrl-C passes through; the last state, pickled too, goes on to the weights of a training without it."""
    sequences, labels = data(3, num_sequences=30, most=6)
    options = {"method": method, "seed": 0, "max_steps": 60}
    whole, seen = pb.learn.ChainCRF(**options).fit(sequences, labels), []

    def watch(state):
        seen.append(state)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pb.learn.ChainCRF(progress=watch, **options).fit(sequences, labels)
    resumed = pb.learn.ChainCRF(resume=pickle.loads(pickle.dumps(seen[-1])), **options).fit(sequences, labels)
    again = pb.learn.ChainCRF(resume=whole.training_.run, **options).fit(sequences, labels)
    assert again.training_.num_steps == whole.training_.num_steps > 3
    if method in ("l-bfgs", "margin"):  # the others draw the order of sequences anew
        assert resumed.training_.num_steps == whole.training_.num_steps
        np.testing.assert_allclose(resumed.coefficients_, whole.coefficients_, rtol=1e-9, atol=1e-12)
    with pytest.raises(pb.PlausibleError, match="resume= takes"):
        pb.learn.ChainCRF(resume=seen[-1], **options).fit(sequences[:1], labels[:1])


def test_a_time_limit_ends_training_with_what_there_is():
    """No time, no step; the labeller answers all the same."""
    sequences, labels = data(0)
    crf = pb.learn.ChainCRF(time_limit=0).fit(sequences, labels)
    assert crf.training_.stopped_by == "time limit"
    assert len(crf.predict(sequences)) == len(sequences)


def test_a_group_prior_meets_the_conditions_of_its_optimum():
    """Groups at zero pull by no more than the rate, the others by the rate towards zero: features vanish whole."""
    sequences, labels = data(3, num_sequences=30, most=6)
    scale = 0.15
    crf = pb.learn.ChainCRF(prior=pb.learn.GroupPrior(scale), tolerance=1e-9).fit(sequences, labels)
    weights, names = crf.coefficients_, list(crf.weights_)
    groups = {}
    for place, name in enumerate(names):
        groups.setdefault("transitions" if " -> " in name else name.split(": ", 1)[1], []).append(place)

    def value(point):
        return log_likelihood(dict(zip(names, point, strict=True)), sequences, labels, CLASSES)

    slopes = np.array([(value(weights + step) - value(weights - step)) / 2e-5 for step in 1e-5 * np.eye(len(names))])
    is_zero = {name: not weights[places].any() for name, places in groups.items()}
    assert 0 < sum(is_zero.values()) < len(groups)
    for name, places in groups.items():
        norm = np.linalg.norm(weights[places])
        if is_zero[name]:
            assert np.linalg.norm(slopes[places]) <= 1 / scale + 1e-4
        else:
            np.testing.assert_allclose(slopes[places], weights[places] / norm / scale, atol=1e-4)


@pytest.mark.parametrize(
    ("prior", "unit"),
    [
        (lambda unit: pb.GaussianPrior(unit**-2), 1e-6),
        (lambda unit: pb.learn.GroupPrior(1 / unit), 1e-6),
        (lambda unit: pb.learn.GroupPrior(1 / unit), 1e6),
    ],
    ids=["squares", "norms", "norms of large"],
)
def test_units_of_features_change_neither_the_optimum_nor_the_way_there(prior, unit):
    """One feature in other units, its prior in the same: its weights the other way round, no later."""
    rng = np.random.default_rng(0)
    labels = [[CLASSES[k] for k in rng.integers(0, len(CLASSES), 6)] for _ in range(30)]

    def sequences(unit):
        noise = np.random.default_rng(1)
        return [
            [{"x": unit * (CLASSES.index(label) + noise.normal()), "on": noise.random()} for label in one]
            for one in labels
        ]

    def fit(unit):
        priors = {"x": prior(unit), "on": prior(1.0), "transitions": prior(1.0)}
        return pb.learn.ChainCRF(prior=priors, tolerance=1e-9).fit(sequences(unit), labels)

    plain, other = fit(1.0), fit(unit)
    assert other.training_.converged
    assert other.training_.num_steps <= plain.training_.num_steps + 3
    for name, weight in plain.weights_.items():
        times = unit if name.endswith(": x") else 1.0
        assert other.weights_[name] * times == pytest.approx(weight, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("prior", [pb.GaussianPrior(1.0), pb.GaussianPrior(100.0), pb.HyperbolicPrior()], ids=repr)
@pytest.mark.parametrize("size", [1e-150, 1e-9, 1e-7])
def test_features_too_small_to_count_leave_the_others_their_weights(prior, size):
    """Under the same prior as all others, tiny numbers get no weight, and training ends as it does without them."""
    rng = np.random.default_rng(3)
    labels = [[CLASSES[k] for k in rng.integers(0, len(CLASSES), 5)] for _ in range(12)]
    noise = [[float(rng.normal()) for _ in one] for one in labels]
    plain = [[{"first": label == "A"} for label in one] for one in labels]
    tiny = [
        [{**token, "x": size * value} for token, value in zip(tokens, values, strict=True)]
        for tokens, values in zip(plain, noise, strict=True)
    ]
    without = pb.learn.ChainCRF(prior=prior, tolerance=1e-8).fit(plain, labels)
    fit = pb.learn.ChainCRF(prior=prior, tolerance=1e-8).fit(tiny, labels)
    assert fit.training_.converged
    for name, weight in without.weights_.items():
        assert fit.weights_[name] == pytest.approx(weight, abs=1e-5)


@pytest.mark.parametrize("size", [1.0, 1e3, 1e6, 1e9, 1e12])
def test_the_greatest_margin_is_found_whatever_the_size_of_features(size):
    """Signs tell the labels apart: as numbers grow, that takes ever smaller weights, and no slack."""
    sequences = [[{"x": size * value} for value in (1.0, -1.0, 0.5)]] * 3
    crf = pb.learn.ChainCRF(method="margin").fit(sequences, [["A", "B", "A"]] * 3)
    assert crf.training_.converged
    assert crf.predict(sequences[:1]) == [["A", "B", "A"]]
