"""EM for hidden Markov models: it climbs, agrees with counting and enumeration, and keeps what it is told to keep."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible.errors import ImpossibleEvidence, InvalidArgument
from plausible.learn import HMMPrior, hmm
from sequence_oracle import PathOracle, normal_density

WORDS = ["a", "b", "c"]


def rows_of(rng, shape):
    return rng.dirichlet(np.ones(shape[-1]), size=shape[:-1])


def word_model(rng, num_states=2):
    tables = rows_of(rng, (num_states,)), rows_of(rng, (num_states, num_states)), rows_of(rng, (num_states, 3))
    return pb.HiddenMarkovModel(*tables, symbols=WORDS)


@pytest.mark.parametrize("seed", range(6))
def test_one_step_is_expected_counts_by_enumeration(seed):
    """The M-step of counts that all paths of several short sequences add up to, with gaps, soft cells and a prior."""
    rng = np.random.default_rng(seed)
    start, table_of = word_model(rng), {None: np.ones(3), **{word: np.eye(3)[n] for n, word in enumerate(WORDS)}}
    table_of["soft"] = np.array([0.2, 0.7, 0.0])
    sequences = [[rng.choice([None, "soft", *WORDS]) for _ in range(rng.integers(1, 5))] for _ in range(3)]
    rows = [{"observation": [pb.likelihood([0.2, 0.7, 0.0]) if w == "soft" else w for w in s]} for s in sequences]
    prior = HMMPrior(initial=0.5, transitions=0.3, symbols=0.1)
    fit = hmm(rows, start=start, prior=prior, max_steps=1)
    firsts, pairs, counts = np.full(2, 0.5), np.full((2, 2), 0.3), np.full((2, 3), 0.1)
    for words in sequences:
        likelihoods = [start.emission.table @ table_of[word] for word in words]
        oracle = PathOracle(start.initial, [start.transition] * len(words), likelihoods)
        beliefs = oracle.smoothed()
        firsts += beliefs[0]
        pairs += oracle.pairs().sum(axis=0)
        for t, word in enumerate(words):
            if word is not None:
                joint = start.emission.table * table_of[word]
                counts += beliefs[t][:, None] * joint / joint.sum(axis=1, keepdims=True)
    model = fit.model
    np.testing.assert_allclose(model.initial, firsts / firsts.sum(), atol=1e-12)
    np.testing.assert_allclose(model.transition, pairs / pairs.sum(axis=1, keepdims=True), atol=1e-12)
    np.testing.assert_allclose(model.emission.table, counts / counts.sum(axis=1, keepdims=True), atol=1e-12)
    assert fit.log_likelihood == pytest.approx(model.log_likelihood(rows), abs=1e-10)


def climbs(fit):
    steps = np.diff(fit.trace)
    assert len(steps) > 1
    assert (steps >= -1e-9 * np.abs(fit.trace[:-1])).all()


PRIORS = [HMMPrior(), HMMPrior(1.0, 0.5, 0.3, 0.2, 0.7, 1.5)]


@pytest.mark.parametrize("prior", PRIORS, ids=["likelihood", "posterior"])
@pytest.mark.parametrize("covariance", ["full", "diagonal", "spherical", "tied"])
@pytest.mark.parametrize("num_components", [1, 2])
def test_em_never_lowers_its_objective(covariance, prior, num_components):
    """Words and vectors side by side, with missing components, for every kind of covariance."""
    rng = np.random.default_rng(3)
    means = [[0, 0], [3, 1], [0, 4]]
    model = pb.HiddenMarkovModel(
        rows_of(rng, (3,)),
        0.8 * np.eye(3) + 0.2 / 3,
        {"word": rows_of(rng, (3, 3)), ("x", "y"): pb.GaussianEmission(means, np.ones(3))},
        symbols={"word": WORDS},
    )
    rows = model.sample(60, seed=1, sequences=3).drop(columns="state")
    rows = rows.mask(rng.random(rows.shape) < [0, 0, 0.2, 0.2, 0.2])
    fit = hmm(
        rows, 3, covariance=covariance, num_components=num_components, prior=prior, sequence="sequence", time="time",
        max_steps=25, tolerance=1e-9,
    )  # fmt: skip
    climbs(fit)
    assert fit.log_likelihood == pytest.approx(
        fit.model.log_likelihood(rows, sequence="sequence", time="time"), abs=1e-8
    )
    again = hmm(
        rows, 3, covariance=covariance, num_components=num_components, prior=prior, sequence="sequence", time="time",
        max_steps=25, tolerance=1e-9,
    )  # fmt: skip
    assert again.model == fit.model


@pytest.mark.parametrize("seed", range(3))
def test_one_step_of_numbers_is_the_weighted_mean_and_covariance(seed):
    """Moments with the beliefs of enumeration as weights; the prior adds cases that spread as the columns do."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(5, 2))
    start = pb.HiddenMarkovModel(
        [0.5, 0.5], [[0.8, 0.2], [0.3, 0.7]], pb.GaussianEmission(rng.normal(size=(2, 2)), [np.eye(2), 2 * np.eye(2)])
    )
    likelihoods = [
        [normal_density(row, start.emission.means[k], start.emission.covariances[k]) for k in range(2)]
        for row in numbers
    ]
    beliefs = PathOracle(start.initial, [start.transition] * 5, likelihoods).smoothed()
    fit = hmm(numbers, start=start, prior=HMMPrior(means=0.5, variances=2.0), max_steps=1)
    center, spread = numbers.mean(axis=0), np.diag(numbers.var(axis=0))
    for k, share in enumerate(beliefs.T):
        mean = (share @ numbers + 0.5 * center) / (share.sum() + 0.5)
        gaps = numbers - mean
        scatter = (gaps * share[:, None]).T @ gaps + 0.5 * np.outer(mean - center, mean - center) + 2.0 * spread
        np.testing.assert_allclose(fit.model.emission.means[k], mean, atol=1e-10)
        np.testing.assert_allclose(fit.model.emission.covariances[k], scatter / (share.sum() + 2.0), atol=1e-10)


def test_known_states_are_counted():
    """Where every state is told, learning is counting: ratios of counts."""
    rows = word_model(np.random.default_rng(0)).sample(300, seed=1, sequences=2)
    fit = hmm(rows, [0, 1], sequence="sequence", time="time")
    expected = pd.crosstab(rows["state"], rows["observation"], normalize="index")
    np.testing.assert_allclose(fit.model.emission.table, expected, atol=1e-12)
    one = rows["state"].to_numpy().reshape(2, -1)
    pairs = pd.crosstab(one[:, :-1].ravel(), one[:, 1:].ravel(), normalize="index")
    np.testing.assert_allclose(fit.model.transition, pairs, atol=1e-12)
    assert fit.converged


def test_states_known_in_part_lead_the_way():
    """A tenth of the states told: states keep their names, and the truth is found."""
    rng = np.random.default_rng(5)
    model = pb.HiddenMarkovModel(
        [0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], pb.GaussianEmission([0.0, 2.0], [1.0, 1.0]), states=["low", "high"]
    )
    rows = model.sample(3000, seed=2)
    rows.loc[rng.random(3000) > 0.1, "state"] = None
    fit = hmm(rows, ["high", "low"], tolerance=1e-7)
    climbs(fit)
    np.testing.assert_allclose(fit.model.emission.means.ravel(), [2.0, 0.0], atol=0.15)


def test_zeros_of_a_start_stay():
    """A left-to-right chain stays one, with a prior too."""
    start = pb.HiddenMarkovModel(
        [1, 0, 0], [[0.5, 0.5, 0], [0, 0.5, 0.5], [0, 0, 1]], rows_of(np.random.default_rng(0), (3, 3)), symbols=WORDS
    )
    rows = start.sample(8, seed=0, sequences=30).drop(columns="state")
    fit = hmm(rows, start=start, prior=HMMPrior(transitions=1.0), sequence="sequence", time="time", max_steps=10)
    climbs(fit)
    assert ((fit.model.transition == 0) == (start.transition == 0)).all()
    assert fit.model.initial.tolist() == [1, 0, 0]


def test_tied_states_share_their_rows():
    """Emissions and transitions of a group are the same ones, and EM still climbs."""
    rng = np.random.default_rng(1)
    rows = word_model(rng, 3).sample(200, seed=1)[["observation"]]
    start = word_model(rng, 3)
    emission = start.emission.table[[0, 0, 2]]
    transition = start.transition[[0, 1, 1]]
    begin = pb.HiddenMarkovModel(start.initial, transition, emission, symbols=WORDS)
    fit = hmm(rows, start=begin, tied=[[0, 1]], tied_transitions=[[1, 2]], max_steps=30, tolerance=1e-9)
    climbs(fit)
    np.testing.assert_array_equal(fit.model.emission.table[0], fit.model.emission.table[1])
    np.testing.assert_array_equal(fit.model.transition[1], fit.model.transition[2])
    with pytest.raises(InvalidArgument, match="two groups"):
        hmm(rows, start=begin, tied=[[0, 1], [1, 2]])


def test_shrinkage_draws_sparse_states_to_their_group():
    """Rows are counts and so many rows of what the group shares."""
    rows = word_model(np.random.default_rng(4), 3).sample(100, seed=1)
    fit = hmm(rows, [0, 1, 2])
    counts = pd.crosstab(rows["state"], rows["observation"]).to_numpy().astype(float)
    shared = counts[:2].sum(axis=0) / counts[:2].sum()
    expected = (counts[:2] + 5 * shared) / (counts[:2].sum(axis=1, keepdims=True) + 5)
    shrunk = fit.shrunk([[0, 1]], strength=5.0)
    np.testing.assert_allclose(shrunk.emission.table[:2], expected, atol=1e-10)
    np.testing.assert_allclose(shrunk.emission.table[2], fit.model.emission.table[2], atol=1e-10)


def test_a_state_with_a_single_point_is_held_at_the_floor_and_told():
    """Without a floor the likelihood has no bound; with a prior on variances nothing is degenerate."""
    numbers = [0.0, 0.1, -0.1, 0.05, 100.0, 0.0, -0.05, 0.1] * 2
    numbers[12] = -0.07
    start = pb.HiddenMarkovModel([0.5, 0.5], [[0.9, 0.1], [0.9, 0.1]], pb.GaussianEmission([0.0, 100.0], [1.0, 1.0]))
    with pytest.warns(pb.learn.DegenerateStates, match="variances of 1 stand at their floor"):
        fit = hmm(numbers, start=start)
    assert fit.degenerate == (1,)
    assert not hmm(numbers, start=start, prior=HMMPrior(variances=1.0)).degenerate


def test_a_run_can_be_interrupted_and_gone_on_with():
    """Three steps and the rest are all of them."""
    rows = word_model(np.random.default_rng(0)).sample(300, seed=1)[["observation"]]
    whole = hmm(rows, 2, seed=3, max_steps=40, tolerance=0)
    steps = []
    first = hmm(
        rows, 2, seed=3, max_steps=40, tolerance=0, progress=lambda state: steps.append(state) or len(steps) == 3
    )
    assert (first.stopped_by, first.num_steps) == ("interrupted", 3)
    rest = hmm(rows, start=first, max_steps=40, tolerance=0)
    assert rest.num_steps == whole.num_steps
    assert rest.model == whole.model
    assert rest.trace == whole.trace


def test_restarts_only_help_and_the_truth_is_found():
    """The best of several runs, by its objective; two well-parted states are recovered."""
    model = pb.HiddenMarkovModel([0.5, 0.5], [[0.95, 0.05], [0.1, 0.9]], pb.GaussianEmission([0.0, 4.0], [1.0, 2.0]))
    rows = model.sample(4000, seed=0)[["observation"]]
    one, several = hmm(rows, 2, seed=1), hmm(rows, 2, seed=1, restarts=3)
    assert several.trace[-1] >= one.trace[-1]
    order = np.argsort(several.model.emission.means.ravel())
    np.testing.assert_allclose(several.model.emission.means.ravel()[order], [0, 4], atol=0.15)
    np.testing.assert_allclose(several.model.transition[order][:, order], model.transition, atol=0.03)


def test_the_number_of_states_is_found():
    """By BIC and by rows held out."""
    model = pb.HiddenMarkovModel([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], pb.GaussianEmission([0, 5], [1.0, 1.0]))
    rows, others = model.sample(500, seed=0)[["observation"]], model.sample(500, seed=1)[["observation"]]
    choice = pb.learn.choose_hmm_states(rows, [1, 2, 3])
    assert choice.num_states == 2
    assert [score.num_states for score in choice.scores] == [1, 2, 3]
    held_out = pb.learn.choose_hmm_states(rows, [1, 2], criterion="held-out", held_out=others)
    assert held_out.num_states == 2
    with pytest.raises(InvalidArgument, match="go together"):
        pb.learn.choose_hmm_states(rows, [1], criterion="held-out")


def test_what_cannot_be_learned_is_said():
    """Missing numbers of states, unknown starts, rows that a start rules out, kinds of emission."""
    rows = {"observation": ["a", "b"]}
    with pytest.raises(InvalidArgument, match="states= is missing"):
        hmm(rows)
    with pytest.raises(InvalidArgument, match="start='mixtur'"):
        hmm(rows, 2, start="mixtur")
    with pytest.raises(InvalidArgument, match="a number of cases"):
        HMMPrior(symbols=-1)
    start = pb.HiddenMarkovModel([1, 0], np.eye(2), np.eye(2), symbols=["a", "b"])
    with pytest.raises(ImpossibleEvidence, match="row 1"):
        hmm(rows, start=start)


def test_whole_numbers_have_gaussian_emissions_where_that_is_said():
    """Counts that look like ids are numbers with `emission="gaussian"`: the answer is that of the same floats."""
    counts = np.concatenate([np.arange(100, 160), np.arange(1000, 1060)])
    frame = pd.DataFrame({"count": counts})
    fit = pb.learn.hmm(frame, 2, emission="gaussian", seed=0)
    same = pb.learn.hmm(frame.astype(float), 2, emission="gaussian", seed=0)
    assert fit.log_likelihood == same.log_likelihood


def test_each_column_has_the_kind_that_is_said():
    """By name, or by group of names; whole numbers as numbers, what is given as it was given at the start."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "count": rng.poisson(5, 80), "word": rng.choice(WORDS, 80), "x": rng.normal(size=80), "y": rng.normal(size=80),
    })  # fmt: skip
    kinds = {"count": "gaussian", "word": "categorical", ("x", "y"): "gaussian-mixture"}
    fit = hmm(frame, 2, emission=kinds, covariance="full", num_components=2, max_steps=3)
    parts = {type(part).__name__: [v.name for v in part.variables] for part in fit.model.emission.parts}
    assert parts == {
        "GaussianEmission": ["count"], "CategoricalEmission": ["word"], "GaussianMixtureEmission": ["x", "y"],
    }  # fmt: skip
    climbs(fit)
    table = pb.models.CategoricalEmission([[0.6, 0.2, 0.2], [0.1, 0.1, 0.8]], pb.Variable("word", WORDS))
    begun = hmm(frame[["word", "x"]], 2, emission={"word": table, "x": "gaussian"}, max_steps=0).model.emission
    assert next(part for part in begun.parts if part.variables[0].name == "word") == table
    told = pb.TableCPD("word", [[0.6, 0.2, 0.2], [0.1, 0.1, 0.8]], ["state"], states=WORDS)
    assert hmm(frame[["word"]], 2, emission=told, max_steps=0).model.emission.table.tolist() == table.table.tolist()
    with pytest.raises(InvalidArgument, match="says nothing of the column 'x'"):
        hmm(frame[["word", "x"]], 2, emission={"word": "categorical"})
    with pytest.raises(InvalidArgument, match=r"names 'wrd', which is no column. Did you mean 'word'"):
        hmm(frame[["word"]], 2, emission={"wrd": "categorical"})
    with pytest.raises(InvalidArgument, match="'x' holds numbers"):
        hmm(frame[["x"]], 2, emission="categorical")
    with pytest.raises(InvalidArgument, match=r"emission='gausian'.*Did you mean 'gaussian'"):
        hmm(frame[["x"]], 2, emission={"x": "gausian"})


def test_the_order_of_sequences_changes_nothing():
    """Also where there are many maxima: starts are drawn for sequences in an order of their own."""
    rng = np.random.default_rng(2)
    sequences = [word_model(rng, 3).sample(int(rng.integers(3, 15)), seed=rng)[["observation"]] for _ in range(8)]
    one = hmm(sequences, 3, seed=4, max_steps=60)
    for _ in range(3):
        rng.shuffle(sequences)
        other = hmm(sequences, 3, seed=4, max_steps=60)
        assert other.model == one.model
        assert other.log_likelihood == one.log_likelihood


def test_no_rows_and_rows_that_tell_nothing():
    """Without a row there is an error; rows of gaps leave what was drawn, and a state or a step alone will do."""
    for empty in ({"x": []}, [], pd.DataFrame({"x": pd.Series(dtype=float)})):
        with pytest.raises(pb.PlausibleError, match=r"no rows|no column"):
            hmm(empty, 2)
    start = word_model(np.random.default_rng(0))
    with pytest.raises(InvalidArgument, match="no rows"):
        hmm({"observation": []}, start=start)
    fit = hmm({"observation": [None, None, None]}, start=start)
    assert fit.log_likelihood == pytest.approx(0.0)
    np.testing.assert_allclose(fit.model.emission.table, start.emission.table)
    single = hmm(["a", "b", "a"], 1)
    np.testing.assert_allclose(single.model.emission.table, [[2 / 3, 1 / 3]])
    assert hmm([["a"], ["b"], []], 2, max_steps=5).log_likelihood <= 0
