"""What counts as a learner, folds that all share, rows without a finite density, and recovery by names of states."""

import pickle
import warnings
from contextlib import nullcontext

import numpy as np
import pytest

import plausible as pb
from plausible.models.comparison import kl_divergence_networks
from refusals import refuses


@pytest.fixture(scope="module")
def asia():
    return pb.examples.load("asia")


@pytest.fixture(scope="module")
def frame(asia):
    return asia.sample(300, seed=1)


def test_learners_are_compared_on_the_same_folds_with_a_generator_too(frame):
    empty = pb.DAG("", nodes=list(frame))
    found = pb.learn.compare_learners(frame, {"one": empty, "two": empty}, 3, seed=np.random.default_rng(0))
    assert np.array_equal(found.results["one"].folds, found.results["two"].folds)
    assert found.to_frame().excess.tolist() == [0.0, 0.0]


def test_a_row_that_one_family_rules_out_is_impossible_however_dense_another_is():
    """Copies of a Gaussian have no variance left: a density without bound, or none; no warning."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    rows = {"a": x, "b": 2 * x, "c": 1 - 3 * x, "d": rng.normal(size=60)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = pb.learn.cross_validate(rows, pb.DAG("a -> b; a -> c; d"), 3)
    assert not np.isnan(found.losses).any()
    assert found.loss == (np.inf if (found.losses == np.inf).any() else -np.inf)


def test_recovery_compares_states_by_name_whatever_their_order(asia, frame):
    """Texts read without variables= have sorted states; the distribution is the same as with the order of the truth."""
    sorted_states = pb.learn.parameters(asia.graph, frame.astype(object), prior=pb.BDeu(1))
    same_order = pb.learn.parameters(asia, frame, prior=pb.BDeu(1))
    assert sorted_states.variables["asia"].states != asia.variables["asia"].states
    expected, found = pb.learn.recovery(asia, same_order), pb.learn.recovery(asia, sorted_states)
    assert found.measures() == pytest.approx(expected.measures())
    assert kl_divergence_networks(sorted_states, same_order) == pytest.approx(0, abs=1e-12)
    whole = pb.learn.structure(frame)
    assert pb.learn.recovery(asia, whole).measures() == pytest.approx(
        pb.learn.recovery(asia, whole.network(prior=pb.BDeu(1))).measures()
    )


def test_a_missing_state_is_named_with_the_fix():
    truth = pb.BayesianNetwork(pb.TableCPD("x", [0.5, 0.5], states=["a", "b"]))
    with pytest.raises(pb.errors.InvalidModel, match=r"variables=reference\.variables"):
        pb.learn.recovery(truth, pb.learn.parameters(pb.DAG("x"), {"x": ["a", "a"]}))
    refuses(pb.errors.InvalidArgument, r"learn\.parameters", pb.learn.recovery, truth, truth.graph)


def test_a_method_its_result_and_its_network_are_the_same_learner(frame):
    """By name, by the result of a search, by its graph, and by its network."""
    learners = {
        "name": "chow-liu",
        "result": lambda rows: pb.learn.structure(rows, "chow-liu"),
        "graph": lambda rows: pb.learn.structure(rows, "chow-liu").graph,
        "network": lambda rows: pb.learn.structure(rows, "chow-liu").network(prior=pb.BDeu(1)),
        "fit": lambda rows: pb.learn.fit_parameters(pb.learn.structure(rows, "chow-liu").graph, rows, pb.BDeu(1)),
    }
    found = pb.learn.compare_learners(frame, learners, 3)
    assert np.ptp([result.loss for result in found.results.values()]) == pytest.approx(0, abs=1e-12)


def test_classes_and_known_networks_are_learners_too(asia, frame):
    """PC gives one graph of its class; a network whose states have another order is read by their names."""
    assert np.isfinite(pb.learn.cross_validate(frame, lambda rows: pb.learn.pc(rows, variant="majority"), 2).loss)
    known = pb.learn.cross_validate(frame, lambda rows: asia, 2)
    assert known.losses == pytest.approx(pb.learn.row_losses(asia, frame))


def test_what_is_no_learner_is_refused_with_help(frame):
    refuses(pb.errors.InvalidArgument, "expected a BayesianNetwork", pb.learn.cross_validate, frame, lambda rows: 3, 2)
    refuses(pb.errors.InvalidArgument, "Did you mean 'hill-climbing'", pb.learn.cross_validate, frame, "hill-climb", 2)


@pytest.mark.parametrize("name", ["structure", "parameters", "score"])
def test_public_functions_are_called_what_they_are_called_here(name):
    """In help(), and in a pickle."""
    function = getattr(pb.learn, name)
    assert (function.__module__, function.__qualname__) == ("plausible.learn", name)
    assert pickle.loads(pickle.dumps(function)) is function


def test_a_missing_arc_can_not_be_mended_by_parameters_and_an_extra_one_costs_parameters(asia):
    """Without smoke -> lung the divergence stays with endless data; with asia -> smoke it goes, at more parameters."""
    rows = pb.Table.read(asia.sample(20000, seed=2), asia.variables)
    graphs = {
        "true": asia.graph,
        "missing": asia.graph.without_edge("smoke", "lung"),
        "extra": asia.graph.with_edge("asia", "smoke"),
    }
    nets = {name: pb.learn.parameters(graph, rows, pb.BDeu(1)) for name, graph in graphs.items()}
    found = {name: pb.learn.recovery(asia, net) for name, net in nets.items()}
    assert found["missing"].divergence > 10 * found["true"].divergence
    assert found["extra"].divergence < 2 * found["true"].divergence
    assert nets["extra"].num_parameters > nets["true"].num_parameters
    assert found["missing"].networks.structure.shd == found["extra"].networks.structure.shd == 1


def test_partial_cases_are_held_and_each_column_says_how_much_is_missing():
    """Always observed: not named; sometimes missing: fewer than the rows; hidden: all rows."""
    variables = [pb.Variable(name, ["no", "yes"]) for name in "abh"]
    rows = {"a": ["no", "yes", "no"], "b": ["yes", None, "no"], "h": [None, None, None]}
    table = pb.Table.read(rows, variables)
    assert dict(table.missing) == {"b": 1, "h": 3}
    assert table.num_rows == 3


def test_losses_of_rows_with_gaps_name_what_to_do_and_it_works():
    """Complete rows have a loss; that of all rows is the likelihood of what was seen, here -log(0.25 · 0.75) / 2."""
    coin, rows = pb.BayesianNetwork(pb.TableCPD("coin", [0.25, 0.75])), {"coin": [0, None, 1, None]}
    remedies = r"learn\.complete_rows\(data\).*learn\.observed_log_likelihood.*compile\(\)\.log_likelihood\(data\)"
    refuses(pb.errors.InvalidArgument, remedies, pb.learn.mean_loss, coin, rows)
    refuses(pb.errors.InvalidArgument, remedies, pb.learn.cross_validate, rows, lambda table: coin, 2)
    refuses(pb.errors.InvalidArgument, remedies, pb.learn.compare_learners, rows, [lambda table: coin], 2)
    expected = np.log(0.25 * 0.75)
    assert pb.learn.mean_loss(coin, pb.learn.complete_rows(rows)) == pytest.approx(-expected / 2)
    assert pb.learn.observed_log_likelihood(coin, rows) == pytest.approx(expected)
    assert coin.compile().log_likelihood(rows).sum() == pytest.approx(expected)


def test_learners_need_no_names_of_their_own(asia, frame):
    """A list, or one alone; the same answers as with names."""
    found = pb.learn.compare_learners(frame, ["chow-liu", asia.graph, pb.learn.structure, "chow-liu"], 2)
    assert set(found.results) == {"chow-liu", "chow-liu (2)", "structure", repr(asia.graph)}
    assert found.results["chow-liu"].loss == pb.learn.cross_validate(frame, "chow-liu", 2).loss
    assert pb.learn.compare_learners(frame, "chow-liu", 2).best == "chow-liu"
    curve = pb.learn.learning_curve(frame, "chow-liu", [50], repeats=1)
    named = pb.learn.learning_curve(frame, {"tree": "chow-liu"}, [50], repeats=1)
    assert curve.held_out["chow-liu"] == pytest.approx(named.held_out["tree"])
    listed = pb.learn.learning_curve(frame, ("chow-liu", asia.graph), [50], repeats=1)
    assert list(listed.held_out) == ["chow-liu", repr(asia.graph)]


@pytest.mark.parametrize("holes", [False, True])
def test_no_prior_has_a_name(frame, holes):
    """As `None`: frequencies, for the missing cells of EM too; also of one variable among others."""
    rows = frame.assign(xray=frame["xray"].where(frame["smoke"] == "yes")) if holes else frame
    with pytest.warns(pb.learn.ExpectedCounts) if holes else nullcontext():
        none, named = (pb.learn.fit_parameters("smoke -> lung -> xray", rows, prior) for prior in (None, "none"))
    assert named.network == none.network
    some = pb.learn.fit_parameters("smoke -> lung", frame, {"smoke": "none", "lung": "k2"}).network
    assert some.query("smoke")["no"] == pytest.approx((frame["smoke"] == "no").mean())
    with pytest.raises(pb.errors.InvalidArgument, match="needs a prior"):
        pb.learn.fit_parameters("smoke -> lung", rows, "none", unseen="prior")
