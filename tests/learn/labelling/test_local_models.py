"""Labellers trained label by label, and what label bias is."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import plausible as pb
from plausible.errors import InvalidArgument

CLASSES = ("A", "B", "C")


def words(seed, num_sequences=30, length=5):
    rng = np.random.default_rng(seed)
    labels = [[CLASSES[k] for k in rng.integers(3, size=length)] for _ in range(num_sequences)]
    return [[label.lower() if rng.random() < 0.6 else "?" for label in one] for one in labels], labels


def local(weights, token, before):
    """P(label | label before, token) by its definition."""
    scores = [weights.get(f"{y}: {token}", 0.0) + weights.get(f"{before} -> {y}", 0.0) for y in CLASSES]
    total = sum(map(math.exp, scores))
    return {y: math.exp(value) / total for y, value in zip(CLASSES, scores, strict=True)}


def test_a_memm_is_a_product_of_local_distributions():
    """Marginals, the log-likelihood and best labellings, by listing all labellings."""
    sequences, labels = words(0)
    model = pb.learn.MaximumEntropyMarkovModel(all_possible_states=True, all_possible_transitions=True)
    weights = model.fit(sequences, labels).weights_
    joint = {}
    for way in itertools.product(CLASSES, repeat=4):
        steps = zip(sequences[0][:4], way, ("", *way), strict=False)
        joint[way] = math.prod(local(weights, token, before)[label] for token, label, before in steps)
    assert sum(joint.values()) == pytest.approx(1.0)
    frame = model.predict_marginals([sequences[0][:4]])[0]
    for t, label in itertools.product(range(4), CLASSES):
        assert frame.loc[t, label] == pytest.approx(sum(p for way, p in joint.items() if way[t] == label), abs=1e-12)
    way = max(joint, key=joint.get)
    assert model.predict([sequences[0][:4]]) == [list(way)]
    assert model.log_likelihood([sequences[0][:4]], [way]) == pytest.approx(math.log(joint[way]), abs=1e-10)


def test_a_memm_is_a_logistic_regression():
    """On the token and the label before it: the weights that scikit-learn finds; C is the variance."""
    sequences, labels = words(1)
    model = pb.learn.MaximumEntropyMarkovModel(all_possible_states=True, all_possible_transitions=True, tolerance=1e-9)
    weights = model.fit(sequences, labels).weights_
    symbols = sorted({token for one in sequences for token in one})
    rows, answers = [], []
    for sequence, truth in zip(sequences, labels, strict=True):
        for token, label, before in zip(sequence, truth, ["", *truth], strict=False):
            rows.append([float(token == s) for s in symbols] + [float(before == y) for y in CLASSES])
            answers.append(label)
    peer = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=10000).fit(rows, answers)
    for label, found in zip(CLASSES, peer.coef_, strict=True):
        ours = [weights[f"{label}: {s}"] for s in symbols] + [weights[f"{y} -> {label}"] for y in CLASSES]
        np.testing.assert_allclose(ours, found, atol=1e-5)


@pytest.mark.parametrize("kind", ["ChainCRF", "HiddenMarkovLabeller", "MaximumEntropyMarkovModel"])
def test_what_comes_later_revises_labels_but_not_in_a_memm(kind):
    """Label bias: P(first label | all) of a MEMM does not change with the last token; those of the others do."""
    sequences, labels = [["r", "i", "b"], ["r", "o", "b"]] * 5, [["1", "2", "3"], ["4", "5", "3"]] * 5
    model = getattr(pb.learn, kind)().fit(sequences, labels)
    first = [model.predict_marginals([["r", token, "b"]])[0].loc[0, "1"] for token in "io"]
    if kind == "MaximumEntropyMarkovModel":
        assert first[0] == pytest.approx(first[1], abs=1e-12)
    else:
        assert first[0] > first[1] + 0.1


def test_a_hidden_markov_model_is_counts():
    """Pseudo-counts are added; probabilities given symbols are those of the joint."""
    sequences, labels = words(2)
    model = pb.learn.HiddenMarkovLabeller(pseudo_counts=0.5).fit(sequences, labels)
    pairs = [pair for one in labels for pair in itertools.pairwise(one)]
    count = sum(pair == ("A", "B") for pair in pairs) + 0.5
    assert model.transition_[0, 1] == pytest.approx(count / (sum(one == "A" for one, _ in pairs) + 1.5))
    np.testing.assert_allclose(model.emission_.sum(axis=1), 1.0)
    symbol = {name: place for place, name in enumerate(model.vocabulary_.names)}

    def joint(way, tokens):
        places = [CLASSES.index(label) for label in way]
        steps = math.prod(model.transition_[one, two] for one, two in itertools.pairwise(places))
        seen = math.prod(model.emission_[y, symbol[token]] for y, token in zip(places, tokens, strict=True))
        return model.initial_[places[0]] * steps * seen

    tokens, ways = sequences[3][:3], list(itertools.product(CLASSES, repeat=3))
    total = sum(joint(way, tokens) for way in ways)
    frame = model.predict_marginals([tokens])[0]
    for t, label in itertools.product(range(3), CLASSES):
        expected = sum(joint(way, tokens) for way in ways if way[t] == label) / total
        assert frame.loc[t, label] == pytest.approx(expected, abs=1e-12)
    assert model.log_likelihood([tokens], [ways[5]]) == pytest.approx(math.log(joint(ways[5], tokens) / total))
    unseen = model.predict_marginals([["new"]])[0].loc[0]
    np.testing.assert_allclose(unseen, model.initial_)


@pytest.mark.parametrize("kind", ["HiddenMarkovLabeller", "MaximumEntropyMarkovModel"])
def test_explanations_of_local_models_add_up_too(kind):
    """What follows for later labels is said by the labels after; of the first one there is a start."""
    sequences, labels = words(4)
    model = getattr(pb.learn, kind)().fit(sequences, labels)
    for position, tokens in ((0, sequences[1]), (2, sequences[1]), (4, sequences[1]), (0, ["a"])):
        told, beliefs = model.explain(tokens, position), model.predict_marginals([tokens])[0].loc[position]
        assert told.log_odds == pytest.approx(math.log(beliefs[told.label] / beliefs[told.against]), abs=1e-9)


def test_a_hidden_markov_model_wants_one_symbol_and_all_labels():
    """Refused by name and place."""
    model = pb.learn.HiddenMarkovLabeller()
    with pytest.raises(InvalidArgument, match="sequence 1, position 0 has 2 symbols"):
        model.fit([["x"], [["x", "y"]]], [["A"], ["B"]])
    with pytest.raises(InvalidArgument, match="symbols, not numbers"):
        model.fit([[{"x": 2.0}]], [["A"]])
    with pytest.raises(InvalidArgument, match="needs the label of each token"):
        model.fit([["x", "y"]], [["A", None]])
    certain = pb.learn.HiddenMarkovLabeller(pseudo_counts=0).fit([["x", "y"]], [["A", "B"]])
    assert certain.predict([["x", "y"]]) == [["A", "B"]]
    with pytest.raises(pb.PlausibleError, match="Sequence 0 has no possible labelling"):
        certain.predict([["y", "x"]])


def test_counts_survive_a_file(tmp_path):
    """A hidden Markov labeller answers as before; files that are damaged, or not there, are refused."""
    sequences, labels = words(4)
    model = pb.learn.HiddenMarkovLabeller(pseudo_counts=0.5).fit(sequences, labels)
    path = tmp_path / "model.json"
    model.save(path)
    again = pb.learn.HiddenMarkovLabeller.load(path)
    assert again.get_params() == model.get_params()
    assert again.predict(sequences) == model.predict(sequences)
    assert again.log_likelihood(sequences, labels) == model.log_likelihood(sequences, labels)
    for change in ({"first": [0.5, 0.5]}, {"next": [[2.0] * 3] * 3}, {"kind": "ChainCRF"}):
        path.write_text(json.dumps(model.to_dict() | change))
        with pytest.raises(pb.errors.FormatError):
            pb.learn.HiddenMarkovLabeller.load(path)
    with pytest.raises(pb.errors.MissingFile, match=r"Did you mean 'model\.json'"):
        pb.learn.HiddenMarkovLabeller.load(tmp_path / "modle.json")
    with pytest.raises(pb.errors.MissingFile, match="can't be written"):
        model.save(tmp_path / "nowhere" / "model.json")
