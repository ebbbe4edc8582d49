"""Chains of labels: probabilities, best labellings and gradients against the list of all labellings."""

from __future__ import annotations

import itertools
import json
import math
import pickle

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

import plausible as pb
from labelling_oracle import distribution, log_likelihood, score
from plausible.errors import ImpossibleEvidence, InvalidArgument
from plausible.kernels.label_chains import TokenFeatures
from plausible.learn.labelling.chains import Chains, FeatureTable, token_scores
from plausible.learn.labelling.labels import WeightLayout, read_labels, read_shares
from plausible.learn.labelling.likelihood import ChainLikelihood, LabelledTokens, LocalLikelihood
from plausible.learn.labelling.tokens import Vocabulary, read_tokens

CLASSES = ("A", "B", "C")


def data(seed, lengths=(3, 1, 4, 0, 2), num_features=4):
    """Sequences of dictionaries with numbers, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    sequences = [
        [{f"f{k}": float(rng.normal()) for k in range(num_features) if rng.random() < 0.7} for _ in range(length)]
        for length in lengths
    ]
    return sequences, [[CLASSES[k] for k in rng.integers(3, size=length)] for length in lengths]


def fitted(seed=0, **options):
    sequences, labels = data(seed)
    return pb.learn.ChainCRF(all_possible_states=True, all_possible_transitions=True, **options).fit(sequences, labels)


def labelled(sequences, labels, latent=1, flags=(True, True), shares=None, threads=1):
    vocabulary = Vocabulary()
    tokens = read_tokens(sequences, vocabulary)
    told = read_labels(labels, tokens)
    states, size = told.states(latent), len(told.classes) * latent
    layout = WeightLayout.of(tokens, states, len(vocabulary.places), size, *flags)
    return LabelledTokens.of(tokens, states, read_shares(shares, tokens.num_sequences), layout, threads), vocabulary


@pytest.mark.parametrize("seed", range(3))
def test_probabilities_of_labels_equal_enumeration(seed):
    """Of single labels, of pairs side by side, and of whole labellings, partly told ones too."""
    crf, (sequences, labels) = fitted(seed), data(seed + 10)
    for sequence, frame, pairs in zip(
        sequences, crf.predict_marginals(sequences), crf.predict_pairs(sequences), strict=True
    ):
        joint = distribution(crf.weights_, sequence, CLASSES)
        for t, label in itertools.product(range(len(sequence)), CLASSES):
            expected = math.fsum(p for labels, p in joint.items() if labels[t] == label)
            assert frame.loc[t, label] == pytest.approx(expected, abs=1e-12)
        for t, one, two in itertools.product(range(len(sequence) - 1), range(3), range(3)):
            wanted = (CLASSES[one], CLASSES[two])
            expected = math.fsum(p for labels, p in joint.items() if labels[t : t + 2] == wanted)
            assert pairs[t][one, two] == pytest.approx(expected, abs=1e-12)
    partly = [[None if t % 2 else ({label, "A"} if t else label) for t, label in enumerate(one)] for one in labels]
    for told in (labels, partly):
        expected = log_likelihood(crf.weights_, sequences, told, CLASSES)
        assert crf.log_likelihood(sequences, told) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_best_labellings_equal_enumeration(seed):
    """The best one, the next ones in order, and no more than there are."""
    crf, (sequences, _) = fitted(seed), data(seed + 20)
    for sequence, best, labels in zip(sequences, crf.predict_best(sequences, 7), crf.predict(sequences), strict=True):
        joint = sorted(distribution(crf.weights_, sequence, CLASSES).items(), key=lambda item: -item[1])
        assert [tuple(one.labels) for one in best] == [labels for labels, _ in joint[:7]]
        np.testing.assert_allclose([one.log_probability for one in best], np.log([p for _, p in joint[:7]]), atol=1e-10)
        assert tuple(labels) == joint[0][0]


def test_ties_go_to_earlier_labels():
    """Without any weights all labellings are equal, and so they are listed by their last labels first."""
    crf = fitted(max_steps=0)
    assert crf.predict([[{}, {}]]) == [["A", "A"]]
    assert [one.labels for one in crf.predict_best([[{}, {}]], 4)[0]] == [
        ["A", "A"], ["B", "A"], ["C", "A"], ["A", "B"]
    ]  # fmt: skip


TOLD = [["A", None, {"B", "C"}], ["B"], [None] * 4, [], ["C", "A"]]


@pytest.mark.parametrize(
    ("labels", "latent", "flags", "likelihood"),
    [
        (None, 1, (True, True), ChainLikelihood),
        (None, 1, (False, False), ChainLikelihood),
        (TOLD, 1, (False, True), ChainLikelihood),
        (None, 2, (True, True), ChainLikelihood),
        (TOLD, 2, (True, False), ChainLikelihood),
        (None, 1, (False, True), LocalLikelihood),
    ],
)
def test_gradients_equal_finite_differences(labels, latent, flags, likelihood):
    """Of whole and partly told labels, with hidden states, weighted sequences, and label by label."""
    sequences, complete = data(3)
    some, _ = labelled(sequences, labels or complete, latent, flags, shares=[1.0, 2.5, 0.5, 1.0, 0.0])
    at, rng = likelihood(some).at, np.random.default_rng(0)
    weights = rng.normal(size=some.layout.num_weights)
    gradient, step = at(weights)[1], 1e-6
    for place in range(weights.size):
        moved = np.eye(weights.size)[place] * step
        slope = (at(weights + moved)[0] - at(weights - moved)[0]) / (2 * step)
        assert gradient[place] == pytest.approx(slope, abs=1e-6)


def test_the_likelihood_of_partly_told_labels_equals_enumeration():
    """Labels that are not told are summed over; hidden states as well."""
    sequences, _ = data(3)
    some, vocabulary = labelled(sequences, TOLD, latent=2)
    weights = np.random.default_rng(1).normal(size=some.layout.num_weights)
    states = [f"{label}[{k}]" for label in CLASSES for k in range(2)]
    named = dict(zip(some.layout.names(vocabulary.names, states), weights, strict=True))
    opened = [
        [None if fact is None else {f"{x}[{k}]" for x in fact for k in range(2)} for fact in facts] for facts in TOLD
    ]
    expected = log_likelihood(named, sequences, opened, states)
    assert ChainLikelihood(some).at(weights)[0] == pytest.approx(expected, abs=1e-9)


def objective_of(sequences, labels, names, precision=1.0):
    def at(weights):
        named = dict(zip(names, weights, strict=True))
        return -log_likelihood(named, sequences, labels, CLASSES) + 0.5 * precision * float(weights @ weights)

    return at


def test_the_optimum_is_that_of_a_general_optimiser():
    """Under a Gaussian prior: the same weights; the objective has the density of the prior, normalised."""
    sequences, labels = data(5, lengths=(3, 2, 3), num_features=2)
    crf = pb.learn.ChainCRF(prior=pb.GaussianPrior(0.5), all_possible_transitions=True).fit(sequences, labels)
    names = list(crf.weights_)
    found = minimize(
        objective_of(sequences, labels, names, 2.0), np.zeros(len(names)), method="BFGS", options={"gtol": 1e-7}
    )
    np.testing.assert_allclose(list(crf.weights_.values()), found.x, atol=1e-5)
    assert crf.training_.converged
    constant = 0.5 * len(names) * math.log(2 * math.pi * 0.5)
    assert -crf.training_.objective == pytest.approx(found.fun + constant, abs=1e-9)
    assert crf.training_.log_likelihood == pytest.approx(crf.log_likelihood(sequences, labels), abs=1e-9)


def test_the_optimum_without_a_prior_has_the_greatest_entropy():
    """The dual (Koller & Friedman 2009, exercise 20.6): expected features are those observed, and the entropy is -ℓ."""
    sequences, labels = data(12, lengths=(4, 4, 3, 4, 4, 3), num_features=1)
    crf = pb.learn.ChainCRF(prior=None, all_possible_states=True, tolerance=1e-9).fit(sequences, labels)
    joints = [distribution(crf.weights_, sequence, CLASSES) for sequence in sequences]
    for name in crf.weights_:
        expected = sum(
            p * score({name: 1.0}, x, y) for x, joint in zip(sequences, joints, strict=True) for y, p in joint.items()
        )
        observed = sum(score({name: 1.0}, x, y) for x, y in zip(sequences, labels, strict=True))
        assert expected == pytest.approx(observed, abs=1e-5)
    entropy = -math.fsum(p * math.log(p) for joint in joints for p in joint.values() if p)
    assert entropy == pytest.approx(-crf.training_.log_likelihood, abs=1e-4)


def test_the_margin_of_a_labelling_needs_no_sum():
    """log P of the best one less that of the next is a difference of scores: Z cancels."""
    crf, (sequences, _) = fitted(1), data(21)
    for sequence, (best, *others) in zip(sequences, crf.predict_best(sequences, 2), strict=True):
        if others:
            margin = score(crf.weights_, sequence, best.labels) - score(crf.weights_, sequence, others[0].labels)
            assert best.log_probability - others[0].log_probability == pytest.approx(margin, abs=1e-10)


def test_only_what_is_seen_has_a_weight_unless_all_is_asked_for():
    """Features with labels, and transitions."""
    sequences, labels = [[["x"], ["y"]], [["x"]]], [["A", "B"], ["C"]]
    assert list(pb.learn.ChainCRF().fit(sequences, labels).weights_) == ["A: x", "C: x", "B: y", "A -> B"]
    everything = pb.learn.ChainCRF(all_possible_states=True, all_possible_transitions=True).fit(sequences, labels)
    assert len(everything.weights_) == 2 * 3 + 9
    assert everything.weights_["B: x"] < 0


def test_a_laplace_prior_meets_the_conditions_of_its_optimum():
    """No derivative of the likelihood exceeds 1/scale, and those of weights that are not zero reach it."""
    sequences, labels = data(7)
    crf = pb.learn.ChainCRF(prior=pb.LaplacePrior(0.7), all_possible_states=True).fit(sequences, labels)
    some, _ = labelled(sequences, labels, flags=(True, False))
    gradient, weights = ChainLikelihood(some).at(crf.coefficients_)[1], crf.coefficients_
    assert 0 < crf.training_.num_nonzero < crf.training_.num_weights
    assert (np.abs(gradient) <= 1 / 0.7 + 1e-5).all()
    np.testing.assert_allclose(gradient[weights != 0], np.sign(weights[weights != 0]) / 0.7, atol=1e-5)


def test_priors_may_differ_by_name():
    """Of one weight, of all of a feature, of transitions; those without one have none."""
    sequences, labels = data(8)
    prior = {"A: f0": pb.GaussianPrior(1e-4), "f1": pb.GaussianPrior(1e-4), "transitions": pb.GaussianPrior(1.0)}
    crf = pb.learn.ChainCRF(prior=prior, all_possible_states=True).fit(sequences, labels)
    small = {name for name, weight in crf.weights_.items() if abs(weight) < 1e-3}
    assert small == {"A: f0", "A: f1", "B: f1", "C: f1"}


def test_a_long_sequence_does_not_underflow():
    """A hundred thousand tokens: log Z is finite, probabilities sum to one, and pieces far apart do not matter."""
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(100_000, 4))
    labels = [CLASSES[k] for k in rng.integers(3, size=40)]
    crf = pb.learn.ChainCRF(all_possible_transitions=True).fit([matrix[:40]], [labels])
    frame = crf.predict_marginals([matrix])[0]
    np.testing.assert_allclose(frame.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(frame[:20], crf.predict_marginals([matrix[:200]])[0][:20], atol=1e-9)
    assert math.isfinite(crf.log_likelihood([matrix], crf.predict([matrix])))


@pytest.mark.parametrize("factor", [1.0, 60.0, 3000.0])
def test_infinite_and_huge_weights_are_no_trouble(factor):
    """Forbidden transitions and labels, also where only improbable ways are left: as all labellings say."""
    crf = fitted(4)
    crf.coefficients_ = crf.coefficients_ * factor
    weights = list(crf.weights_)
    for name in ("A -> A", "B -> A", "C -> C", "B: f1"):
        crf.coefficients_[weights.index(name)] = -np.inf
    sequences, _ = data(30)
    sequences = [[{name: abs(value) for name, value in token.items()} for token in one] for one in sequences]
    for sequence, frame in zip(sequences, crf.predict_marginals(sequences), strict=True):
        joint = distribution(crf.weights_, sequence, CLASSES)
        for t, label in itertools.product(range(len(sequence)), CLASSES):
            expected = math.fsum(p for labels, p in joint.items() if labels[t] == label)
            assert frame.loc[t, label] == pytest.approx(expected, abs=1e-9)
    for name in ("A", "B", "C"):
        crf.coefficients_[weights.index(f"{name}: f0")] = -np.inf
    with pytest.raises(ImpossibleEvidence, match="Sequence 1 has no possible labelling"):
        crf.predict([[{"f1": 1.0}], [{"f0": 1.0}]])


def test_what_can_never_come_may_fit_best_for_long():
    """Each label keeps to itself and the first token rules the second one out, though it scores e¹² times as much."""
    scores = np.tile([0.0, 12.0, -3.0], (400, 1))
    scores[0, 1:] = -np.inf
    transitions = np.where(np.eye(3, dtype=bool), 0.5, -np.inf)
    sums = Chains(np.array([0, 400]), scores, transitions).sums()
    np.testing.assert_array_equal(sums.beliefs, np.tile([1.0, 0.0, 0.0], (400, 1)))
    np.testing.assert_allclose(sums.pairs, np.diag([399.0, 0.0, 0.0]), atol=1e-9)
    np.testing.assert_allclose(sums.log_totals, 399 * 0.5, rtol=1e-12)


@pytest.mark.parametrize("num_labels", [1, 3, 9, 40])
def test_scores_and_sums_of_features_are_matrix_products(num_labels):
    """Features with weights for none, some and all of the labels, of which those with many lie with room for all."""
    rng = np.random.default_rng(num_labels)
    has_weight = rng.random((30, num_labels)) < np.linspace(0, 1, 30)[:, None]
    values = rng.normal(size=(50, 30)) * (rng.random((50, 30)) < 0.3)
    tokens, features = np.nonzero(values)
    starts = np.searchsorted(tokens, np.arange(51)).astype(np.int64)
    weight_starts = np.append(0, np.cumsum(has_weight.sum(axis=1))).astype(np.int64)
    labels = np.nonzero(has_weight)[1].astype(np.int32)
    rows = TokenFeatures(starts, features.astype(np.int32), values[tokens, features], weight_starts, labels)
    table, weights, beliefs = (
        FeatureTable.of(rows, num_labels),
        rng.normal(size=len(labels)),
        rng.random((50, num_labels)),
    )
    matrix = np.zeros(has_weight.shape)
    matrix[has_weight] = weights
    assert table.is_widened == (num_labels > 1)
    np.testing.assert_allclose(table.scores(weights), values @ matrix, atol=1e-12)
    np.testing.assert_array_equal(table.scores(weights), token_scores(rows, weights, num_labels, None))
    np.testing.assert_allclose(table.sums(beliefs), (values.T @ beliefs)[has_weight], atol=1e-12)


def test_answers_are_the_same_bits_for_any_number_of_threads():
    """Training, probabilities and labels; sequences are many enough for several parts."""
    rng = np.random.default_rng(0)
    sequences = [[[f"w{k}" for k in rng.integers(200, size=3)] for _ in range(30)] for _ in range(500)]
    labels = [[CLASSES[k] for k in rng.integers(3, size=30)] for _ in range(500)]
    fits = [pb.learn.ChainCRF(threads=threads, max_steps=5).fit(sequences, labels) for threads in (1, 2, 3)]
    for other in fits[1:]:
        np.testing.assert_array_equal(fits[0].coefficients_, other.coefficients_)
        for one, two in zip(
            fits[0].predict_marginals(sequences[:50]), other.predict_marginals(sequences[:50]), strict=True
        ):
            np.testing.assert_array_equal(one, two)


def test_weights_of_sequences_count_them_as_often():
    """Twice is as two copies, zero is as if it were not there."""
    sequences, labels = data(9)
    weighted = pb.learn.ChainCRF(all_possible_states=True).fit(sequences, labels, sample_weight=[2, 1, 1, 1, 1])
    copied = pb.learn.ChainCRF(all_possible_states=True).fit([sequences[0], *sequences], [labels[0], *labels])
    np.testing.assert_allclose(weighted.coefficients_, copied.coefficients_, atol=1e-5)


def test_hidden_states_tell_labels_apart_that_look_alike():
    """The label tells whether a symbol is that before, which the label before does not say, but its hidden state."""
    rng = np.random.default_rng(1)
    sequences = [[[f"x{k}"] for k in rng.integers(2, size=8)] for _ in range(60)]
    labels = [["c"] + [f"{'ab'[one == two]}" for one, two in itertools.pairwise(sequence)] for sequence in sequences]
    plain = pb.learn.ChainCRF(prior=pb.GaussianPrior(10.0)).fit(sequences, labels).score(sequences, labels)
    hidden = pb.learn.ChainCRF(prior=pb.GaussianPrior(10.0), latent=2, restarts=3, seed=0).fit(sequences, labels)
    assert plain < 0.8 < 0.99 < hidden.score(sequences, labels)
    assert next(iter(hidden.weights_)).startswith("a[0]: x")
    np.testing.assert_allclose(hidden.predict_marginals(sequences[:1])[0].sum(axis=1), 1.0)


def test_labels_that_are_not_told_help():
    """With half of the labels gone, the fit is a maximum of what is observed, and predicts the rest."""
    rng = np.random.default_rng(0)
    labels = [["A" if t % 2 else "B" for t in range(6)] for _ in range(20)]
    sequences = [[[label.lower()] if rng.random() < 0.8 else ["?"] for label in one] for one in labels]
    partly = [[label if rng.random() < 0.5 else None for label in one] for one in labels]
    crf = pb.learn.ChainCRF(all_possible_states=True, all_possible_transitions=True).fit(sequences, partly)
    assert crf.training_.converged
    assert crf.score(sequences, labels) > 0.95


def test_an_explanation_adds_up_to_the_log_odds():
    """Of probabilities by enumeration, features, transitions before and after included; against any label."""
    crf, (sequences, _) = fitted(6), data(40)
    for position in range(4):
        told = crf.explain(sequences[2], position)
        marginals = crf.predict_marginals(sequences)[2].loc[position]
        assert told.label == marginals.idxmax()
        assert told.log_odds == pytest.approx(math.log(marginals[told.label] / marginals[told.against]), abs=1e-9)
        assert sum(part.contribution for part in told.contributions) == pytest.approx(told.log_odds)
        for part in told.contributions:
            if part.value is not None:
                assert part.weight == crf.weights_[f"{told.label}: {part.name}"]
                assert part.contribution == pytest.approx(part.value * (part.weight - part.weight_against))
    other = crf.explain(sequences[2], -1, against="B")
    assert (other.position, other.against) == (3, "B")
    assert list(other.to_frame()["name"]) == [part.name for part in other.contributions]


def test_a_model_survives_files_and_pickles(tmp_path):
    """Predictions, weights, parameters and labels of all kinds are the same."""
    sequences, labels = data(11)
    labels = [[{"A": 1, "B": ("b", 2), "C": "c"}[label] for label in one] for one in labels]
    prior = pb.GaussianPrior(2.0) + pb.LaplacePrior(3.0)
    crf = pb.learn.ChainCRF(prior=prior, all_possible_transitions=True, max_steps=20).fit(sequences, labels)
    crf.save(tmp_path / "model.json")
    for again in (pb.learn.ChainCRF.load(tmp_path / "model.json"), pickle.loads(pickle.dumps(crf))):
        assert again.predict(sequences) == crf.predict(sequences)
        assert again.weights_ == crf.weights_
        assert again.get_params() == crf.get_params()
        assert again.classes_ == crf.classes_
    (tmp_path / "text.json").write_text("no")
    with pytest.raises(pb.PlausibleError, match="is no JSON"):
        pb.learn.ChainCRF.load(tmp_path / "text.json")


def test_matrices_are_features_by_column():
    """Dense, sparse and by name: the same model."""
    rng = np.random.default_rng(0)
    matrices = [rng.normal(size=(length, 3)) for length in (4, 2, 3)]
    labels = [[CLASSES[k] for k in rng.integers(3, size=len(matrix))] for matrix in matrices]
    named = [[{str(k): value for k, value in enumerate(row)} for row in matrix.tolist()] for matrix in matrices]
    fits = [pb.learn.ChainCRF().fit(form, labels) for form in (matrices, list(map(csr_matrix, matrices)), named)]
    for other in fits[1:]:
        np.testing.assert_allclose(fits[0].coefficients_, other.coefficients_, atol=1e-6)
    with pytest.raises(InvalidArgument, match="sequence 0 has 2 columns, but others have 3"):
        fits[0].predict([np.ones((2, 2))])
    with pytest.raises(InvalidArgument, match="sequence 0, position 1: the feature 2 is nan"):
        fits[0].predict([np.array([[1.0, 0.0, 2.0], [1.0, 0.0, np.nan]])])


def test_a_damaged_file_is_refused_by_what_is_wrong_with_it(tmp_path):
    """Parts that are missing, too short or of the wrong kind are told, and nothing is half read."""
    model = pb.learn.ChainCRF().fit([["the", "cat"]], [["D", "N"]])
    whole, path = model.to_dict(), tmp_path / "model.json"
    changes = [
        ({"weights": None}, "damaged"),
        ({"weights": whole["weights"][1:]}, "not those of its features"),
        ({"weights": ["x"]}, "could not convert"),
        ({"weight_states": [5] * len(whole["weight_states"])}, "not those of its features"),
        ({"parameters": {**whole["parameters"], "colour": 1}}, "'colour'"),
    ]
    for change, told in changes:
        path.write_text(json.dumps(whole | change))
        with pytest.raises(pb.errors.FormatError, match=told):
            pb.learn.ChainCRF.load(path)
    path.write_text(json.dumps({name: part for name, part in whole.items() if name != "parameters"}))
    with pytest.raises(pb.errors.FormatError, match="damaged: 'parameters'"):
        pb.learn.ChainCRF.load(path)
