"""Sequences in all their forms, what is refused and how, and the form of scikit-learn."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import plausible as pb
from plausible.errors import InvalidArgument, UnknownState
from plausible.learn import NotFitted

TEXTS = ["the cat sleeps", "a dog sees the cat", "dogs sleep"]
LABELS = [["D", "N", "V"], ["D", "N", "V", "D", "N"], ["N", "V"]]
AS_DICTIONARIES = [[{"word": word, "long": len(word) > 3} for word in text.split()] for text in TEXTS]
AS_TEXTS = [[[f"word={word}", *(["long"] if len(word) > 3 else [])] for word in text.split()] for text in TEXTS]
AS_FRAMES = [pd.DataFrame(tokens) for tokens in AS_DICTIONARIES]


def one_frame():
    rows = [
        {"text": f"t{s}", "t": -t, "tag": LABELS[s][t], **token}
        for s, tokens in enumerate(AS_DICTIONARIES)
        for t, token in reversed(list(enumerate(tokens)))
    ]
    return pd.DataFrame(rows).assign(t=lambda frame: -frame["t"])


def test_all_forms_of_sequences_are_one_model():
    """Dictionaries, lists of texts, frames of pandas and polars, and one frame whose rows are out of order."""
    crf = pb.learn.ChainCRF().fit(AS_DICTIONARIES, LABELS)
    for form in (AS_TEXTS, AS_FRAMES, [pl.from_pandas(frame) for frame in AS_FRAMES]):
        assert pb.learn.ChainCRF().fit(form, LABELS).weights_ == crf.weights_
        assert crf.predict(form) == LABELS
    for frame in (one_frame(), pl.from_pandas(one_frame())):
        whole = pb.learn.ChainCRF().fit(frame, "tag", sequence="text", time="t")
        assert whole.weights_ == pytest.approx(crf.weights_, abs=1e-6)
        features = frame.drop(columns="tag") if isinstance(frame, pd.DataFrame) else frame.drop("tag")
        assert whole.predict(features, sequence="text", time="t") == LABELS
        assert whole.score(frame, "tag", sequence="text", time="t") == 1.0
        expected = crf.log_likelihood(AS_DICTIONARIES, LABELS)
        assert whole.log_likelihood(frame, "tag", sequence="text", time="t") == pytest.approx(expected, abs=1e-6)
    with pytest.raises(InvalidArgument, match=r"sequence='txt' is no column of the frame. Did you mean 'text'"):
        whole.predict(frame, sequence="txt")
    with pytest.raises(InvalidArgument, match="time='t' orders rows of one frame"):
        whole.predict(AS_TEXTS, time="t")


def test_texts_alone_and_unknown_features():
    """A token may be a text; features that were not seen are ignored, missing cells are not there."""
    crf = pb.learn.ChainCRF().fit([text.split() for text in TEXTS], LABELS)
    assert list(crf.weights_)[0] == "D: the"  # noqa: RUF015
    assert crf.predict([["the", "unicorn"], []]) == [["D", "N"], []]
    frame = pd.DataFrame({"word": ["the", None], "size": [1.0, 2.0]})
    assert list(pb.learn.ChainCRF().fit([frame], [["D", "N"]]).weights_) == [
        "D: word=the",
        "D: size",
        "N: size",
        "D -> N",
    ]


def test_one_label_and_empty_sequences_are_legal():
    """There is nothing to choose, and nothing to say of nothing."""
    crf = pb.learn.ChainCRF().fit([["x", "y"], []], [["A", "A"], []])
    assert crf.predict([["z"], []]) == [["A"], []]
    assert crf.log_likelihood([["z"], []], [["A"], []]) == 0.0
    assert crf.explain(["x"], 0).log_odds == 0.0
    assert [frame.shape for frame in crf.predict_marginals([["z"], []])] == [(1, 1), (0, 1)]
    assert crf.predict([]) == []


REFUSED = {
    "sequence 0, position 1: the feature 'len' is nan": ([[{"len": 1.0}, {"len": float("nan")}]], [["A", "B"]]),
    "sequence 1, position 0: the feature 'len' is inf": ([[], [{"len": float("inf")}]], [[], ["A"]]),
    "sequence 0, position 0: the feature 'tags' is": ([[{"tags": ["a"]}]], [["A"]]),
    "Sequence 1 has 2 tokens, but 1 labels": ([["x"], ["x", "y"]], [["A"], ["B"]]),
    "There are 2 sequences, but labels for 1": ([["x"], ["x"]], [["A"]]),
    "Labels of sequence 0 are a list": ([["x"]], ["A"]),
    "sequence 0, position 1: the label .* can't be one": ([["x", "y"]], [["A", ["B"]]]),
    "No token has a label": ([["x"]], [[None]]),
    "no label is in the set": ([["x", "y"]], [["A", set()]]),
    "sequence 0 is 'abc'": (["abc"], [["A"]]),
    "sequences= is a list of sequences": ("abc", [["A"]]),
    "put one sequence into a list": (AS_FRAMES[0], LABELS[0]),
    "sequence 0, position 0: a token is a dictionary": ([[[1.5, 2.0]]], [["A"]]),
    "sequence 0, position 1: 'b' is no dictionary": ([[{"x": 1.0}, "b"]], [["A", "B"]]),
    "sequence 1 is a matrix, but others have": ([["x"], np.ones((1, 2))], [["A"], ["B"]]),
    "sequence 1 has names, but others are matrices": ([np.ones((1, 2)), ["x"]], [["A"], ["B"]]),
    "Labels are needed to fit": ([["x"]], None),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_read_is_refused_by_place(message):
    """Sequence and position are named, and what would do."""
    with pytest.raises(InvalidArgument, match=message):
        pb.learn.ChainCRF().fit(*REFUSED[message])


def test_weights_and_unknown_labels_are_refused_by_place():
    """Of sequences and in scores."""
    crf = pb.learn.ChainCRF()
    with pytest.raises(NotFitted):
        crf.predict([["x"]])
    with pytest.raises(InvalidArgument, match="sample_weight= has 1 numbers, but there are 2"):
        crf.fit([["x"], ["y"]], [["A"], ["B"]], sample_weight=[1.0])
    with pytest.raises(InvalidArgument, match=r"sample_weight=-1.0 of sequence 1"):
        crf.fit([["x"], ["y"]], [["A"], ["B"]], sample_weight=[1.0, -1.0])
    crf.fit([["x"], ["y"]], [["Ant"], ["Bee"]])
    with pytest.raises(
        UnknownState, match=r"sequence 1, position 0: 'Be' is no label that was learned. Did you mean 'Bee'"
    ):
        crf.score([["x"], ["y"]], [["Ant"], ["Be"]])
    with pytest.raises(InvalidArgument, match="nothing to score"):
        crf.score([["x"]], [[None]])
    with pytest.raises(InvalidArgument, match="position=1 is not in the sequence, which has 1"):
        crf.explain(["x"], 1)
    with pytest.raises(UnknownState, match="against='Be'"):
        crf.explain(["x"], 0, against="Be")


def test_scikit_learn_can_copy_validate_and_search():
    """Sequences are no arrays, so `check_estimator` does not apply; what takes lists does."""
    crf = pb.learn.ChainCRF(prior=pb.GaussianPrior(2.0), max_steps=7)
    copied = clone(crf)
    assert copied.get_params() == crf.get_params()
    assert repr(copied) == "ChainCRF(max_steps=7, prior=GaussianPrior(variance=2.0))"
    with pytest.raises(InvalidArgument, match="'priors' is no parameter of ChainCRF"):
        crf.set_params(priors=None)
    sequences, labels = AS_DICTIONARIES * 4, LABELS * 4
    assert cross_val_score(crf, sequences, labels, cv=3).min() == 1.0
    priors = {"prior": [pb.GaussianPrior(0.001), pb.GaussianPrior(1.0)]}
    search = GridSearchCV(pb.learn.ChainCRF(), priors, cv=3).fit(sequences, labels)
    assert search.best_estimator_.predict(AS_TEXTS[:1]) == LABELS[:1]


def test_training_tells_how_it_went():
    """As a record: steps, trace, and what was climbed."""
    training = pb.learn.ChainCRF(max_steps=2).fit(AS_TEXTS, LABELS).training_
    assert (training.num_steps, training.stopped_by, training.converged) == (2, "step limit", False)
    assert training.trace[-1] > training.trace[0]
    assert training.objective == pytest.approx(training.trace[-1] - 0.5 * training.num_weights * math.log(2 * math.pi))
    assert training.to_dict()["method"] == "l-bfgs"
    assert str(training).startswith("l-bfgs: log-likelihood -")


def test_rows_of_a_frame_without_a_sequence_or_a_time_are_refused():
    """A row that belongs nowhere, or comes at no time or twice at one, is named."""
    frame = pd.DataFrame({"word": ["a", "b"], "label": ["p", "q"], "text": [0, 0], "at": [1, 2]})
    for name, value, told in (
        ("text", None, "Row 1 belongs to no sequence"),
        ("at", None, "Row 1 has no time"),
        ("at", 1, "same time"),
    ):
        spoilt = frame.assign(**{name: [frame[name][0], value]})
        with pytest.raises(pb.errors.InvalidArgument, match=told):
            pb.learn.ChainCRF().fit(spoilt, "label", sequence="text", time="at")
