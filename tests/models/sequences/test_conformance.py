"""What holds for every kind of model in time, whatever it is made of."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible.errors import UnknownVariable
from plausible.models import SwitchingLinearDynamicalSystem
from plausible.models.sequences.kinds import SEQUENCE_KINDS
from plausible.models.sequences.sequence_model import SequenceModel

RAIN = pb.TableCPD("rain", [[0.7, 0.3], [0.3, 0.7]], parents=["rain[-1]"], states=["yes", "no"])
MODELS: list[SequenceModel] = [
    pb.HiddenMarkovModel([0.6, 0.4], [[0.7, 0.3], [0.2, 0.8]], [[0.9, 0.1], [0.2, 0.8]], symbols=["up", "down"]),
    pb.HiddenMarkovModel([0.6, 0.4], [[0.7, 0.3], [0.2, 0.8]], pb.GaussianEmission([0.0, 2.0], [1.0, 0.5])),
    pb.DynamicBayesianNetwork(
        [pb.TableCPD("rain", [0.5, 0.5], states=["yes", "no"])],
        [RAIN, pb.TableCPD("umbrella", [[0.9, 0.1], [0.2, 0.8]], parents=["rain"], states=["up", "down"])],
    ),
    pb.LinearDynamicalSystem([[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0]], np.eye(2) / 9, [[1.0]], [0.0, 0.0], np.eye(2)),
    SwitchingLinearDynamicalSystem(
        [0.5, 0.5],
        [[0.9, 0.1], [0.2, 0.8]],
        [pb.LinearDynamicalSystem(1.0, 1.0, noise, 1.0, 0.0, 1.0) for noise in (0.1, 9.0)],
    ),
]
KINDS = [f"{model.kind} {place}" for place, model in enumerate(MODELS)]


def rows_of(model: SequenceModel, length: int, seed: int) -> pd.DataFrame:
    """What is seen of a model: its columns but those of hidden variables, with two cells missing."""
    hidden = {"state", "rain", "x0", "x1"}
    drawn = model.sample(length, seed=seed)
    seen = drawn[[name for name in drawn.columns if name in model.variables and name not in hidden]].astype(object)
    seen.iloc[[1, length - 2]] = None
    return seen.infer_objects()


def values(answer: object) -> np.ndarray:
    """The numbers of an answer, whatever its form."""
    if isinstance(answer, pd.DataFrame):
        return answer.to_numpy(dtype=float)
    if isinstance(answer, dict):
        return np.hstack([values(table) for table in answer.values()])
    return answer.to_frame().to_numpy(dtype=float)


def test_every_kind_is_tried_here() -> None:
    """A new kind of model gets its case."""
    tried = {model.kind for model in MODELS}
    assert tried <= set(SEQUENCE_KINDS)
    assert {
        "hidden-markov-model",
        "dynamic-bayesian-network",
        "linear-dynamical-system",
        "switching-linear-dynamical-system",
    } <= tried


@pytest.mark.parametrize("model", MODELS, ids=KINDS)
def test_files_pickles_and_records_give_the_model_back(model: SequenceModel, tmp_path) -> None:
    """What was saved is equal, and answers alike to the last digit."""
    pb.save(model, tmp_path / "model.json")
    copies = [
        pb.load(tmp_path / "model.json"),
        pickle.loads(pickle.dumps(model)),
        type(model).from_record(model.to_record()),
    ]
    rows = rows_of(model, 8, 1)
    for copy in copies:
        assert copy == model
        assert copy.log_likelihood(rows) == model.log_likelihood(rows)


@pytest.mark.parametrize("model", MODELS, ids=KINDS)
def test_the_likelihood_is_the_sum_of_its_steps_and_of_its_sequences(model: SequenceModel) -> None:
    """log P(rows) = Σ log P(row | rows before) = Σ log P(sequence)."""
    rows = pd.concat([rows_of(model, 7, 1).assign(id="a"), rows_of(model, 5, 2).assign(id="b")], ignore_index=True)
    total = model.log_likelihood(rows, sequence="id")
    assert model.step_log_likelihoods(rows, sequence="id").sum() == pytest.approx(total, rel=1e-12)
    each = model.log_likelihoods(rows, sequence="id")
    assert list(each.index) == ["a", "b"]
    assert each["a"] == pytest.approx(model.log_likelihood(rows[rows["id"] == "a"].drop(columns="id")), rel=1e-12)
    assert each.sum() == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("question", ["filter", "smooth"])
@pytest.mark.parametrize("model", MODELS, ids=KINDS)
def test_answers_do_not_depend_on_the_order_of_rows(model: SequenceModel, question: str) -> None:
    """Shuffled rows with times get the same answers, each at its row."""
    rows = pd.concat([rows_of(model, 6, 3).assign(id=1), rows_of(model, 4, 4).assign(id=2)], ignore_index=True)
    rows["t"] = [*range(6), *range(4)]
    order = np.random.default_rng(0).permutation(len(rows))
    ask = getattr(model, question)
    straight = values(ask(rows, sequence="id", time="t"))
    shuffled = values(ask(rows.iloc[order], sequence="id", time="t"))
    np.testing.assert_allclose(shuffled, straight[order], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("model", MODELS, ids=KINDS)
def test_the_last_step_is_known_alike_from_both_sides(model: SequenceModel) -> None:
    """At the end nothing is to come: filter = smooth; a sequence of one step is filtered as it is smoothed."""
    rows = rows_of(model, 6, 5)
    filtered, smoothed = values(model.filter(rows)), values(model.smooth(rows))
    np.testing.assert_allclose(filtered[-1], smoothed[-1], rtol=1e-9, atol=1e-12)
    one = rows.iloc[:1]
    np.testing.assert_allclose(values(model.filter(one)), values(model.smooth(one)), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("model", MODELS, ids=KINDS)
def test_prediction_is_filtering_steps_at_which_nothing_is_seen(model: SequenceModel) -> None:
    """P(x_T+k | rows) is the filtered belief of k further rows with nothing in them; forecasts have these places."""
    rows = rows_of(model, 6, 6)
    longer = pd.concat([rows, pd.DataFrame(None, index=range(2), columns=rows.columns)], ignore_index=True)
    longer = longer.astype({name: float for name, v in model.variables.items() if v.is_continuous and name in rows})
    np.testing.assert_allclose(values(model.predict(rows, 2)), values(model.filter(longer))[-2:], rtol=1e-9, atol=1e-12)
    forecast = model.forecast(rows, 2)
    assert list(forecast) == list(rows.columns)
    assert all(len(table) == 2 for table in forecast.values())


ONLINE = [model for model in MODELS if hasattr(model, "online")]


@pytest.mark.parametrize("model", ONLINE, ids=[model.kind for model in ONLINE])
def test_filters_fed_row_by_row_know_and_predict_what_the_model_does(model: SequenceModel) -> None:
    """After the rows one by one: the likelihood, the steps to come and what will be seen in them, before rows too."""
    rows = rows_of(model, 5, 9)
    for length in (0, 5):
        now = model.online()
        for _, row in rows.iloc[:length].iterrows():
            now = now.update({name: None if pd.isna(cell) else cell for name, cell in row.items()})
        seen = rows.iloc[:length]
        assert now.log_likelihood == pytest.approx(model.log_likelihood(seen), abs=1e-12)
        empty = seen if length else {name: [] for name in rows}
        expected = values(model.predict(empty, 3))
        np.testing.assert_allclose(values(now.predict(3)), expected, rtol=1e-9, atol=1e-12)
        if hasattr(now, "forecast"):
            told, wanted = now.forecast(3, level=0.8), model.forecast(empty, 3, level=0.8)
            assert list(told) == list(wanted)
            np.testing.assert_allclose(values(told), values(wanted), rtol=1e-9, atol=1e-12)


DRAWING = [model for model in MODELS if hasattr(model, "sample_posterior")]


@pytest.mark.parametrize("model", DRAWING, ids=[model.kind for model in DRAWING])
def test_paths_drawn_have_one_form(model: SequenceModel) -> None:
    """A table a path, with the index of the rows; the same seed draws the same; frequencies near the beliefs."""
    rows = rows_of(model, 6, 10)
    rows.index = pd.Index(list("abcdef"))
    paths, again = (model.sample_posterior(rows, 400, seed=3) for _ in range(2))
    assert len(paths) == 400
    assert list(paths[0].index) == list("abcdef")
    assert paths.to_frame().equals(again.to_frame())
    assert paths.to_frame().columns.names == ["path", "variable"]
    smoothed = model.smooth(rows)
    for name, drawn in paths.values.items():
        if isinstance(smoothed, (dict, pd.DataFrame)):
            beliefs = smoothed[name] if isinstance(smoothed, dict) else smoothed
            shares = np.stack([(drawn == state).mean(axis=0) for state in beliefs.columns], axis=1)
            np.testing.assert_allclose(shares, beliefs, rtol=0, atol=0.11)  # four standard errors and more
        else:
            place = list(smoothed.states).index(name)
            errors = smoothed.deviation[:, place] / np.sqrt(400)
            assert (np.abs(drawn.mean(axis=0) - smoothed.mean[:, place]) < 5 * errors).all()


@pytest.mark.parametrize("model", MODELS, ids=KINDS)
def test_models_show_their_parameters(model: SequenceModel) -> None:
    """What is printed begins with the kind, goes on with a table, and a notebook shows the same."""
    first, _, tables = str(model).partition("\n\n")
    assert first.startswith(type(model).__name__)
    assert " | " in tables
    assert "<table>" in model._repr_html_()
    assert first.partition(":")[0] in model._repr_html_()


@pytest.mark.parametrize("model", MODELS, ids=KINDS)
def test_wrong_rows_are_refused_with_a_name(model: SequenceModel) -> None:
    """A column that is no variable, and one that an option names and is not there."""
    rows = rows_of(model, 4, 7)
    with pytest.raises(UnknownVariable, match="'colour'"):
        model.filter(rows.assign(colour=1, shade=2))
    with pytest.raises(UnknownVariable, match="time= names it"):
        model.smooth(rows, time="when")


@pytest.mark.parametrize("model", MODELS, ids=KINDS)
def test_no_rows_have_no_beliefs_and_a_likelihood_of_one(model: SequenceModel) -> None:
    """The empty table is a sequence without steps."""
    empty = rows_of(model, 4, 8).iloc[:0]
    assert model.log_likelihood(empty) == 0.0
    assert len(model.forecast(empty.assign(id=1), 2, sequence="id")[empty.columns[0]]) == 0
    assert len(values(model.filter(empty))) == 0
