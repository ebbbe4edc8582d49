"""Methods that look at all graphs, through the door of structure learning."""

import math
from itertools import count

import numpy as np
import pytest

import plausible as pb
from plausible.data.table import Table
from plausible.search import run
from refusals import refuses

EXACT = ["exact", "a-star"]


@pytest.fixture(scope="module")
def frame():
    return pb.examples.load("asia").sample(1000, seed=3)[["tub", "smoke", "lung", "bronc", "either", "dysp"]]


@pytest.mark.parametrize("score", ["bic", "aic", "bdeu", "k2"])
def test_exact_methods_prove_the_same_best_score_and_no_other_method_beats_it(frame, score):
    limit = pb.Knowledge(max_parents=3)
    first, second = (pb.learn.structure(frame, method, score, limit) for method in EXACT)
    assert first.score == pytest.approx(second.score)
    assert first.gap == pytest.approx(0.0, abs=1e-6)
    assert second.gap == pytest.approx(0.0, abs=1e-6)
    for method in ("hill-climbing", "orders"):
        assert pb.learn.structure(frame, method, score, limit).score <= first.score + 1e-6


def test_what_is_known_holds_and_a_bound_is_told_where_there_is_one(frame):
    known = pb.Knowledge(required="smoke -> lung", forbidden=[("smoke", "bronc")], max_parents=2)
    for method in (*EXACT, "orders"):
        found = pb.learn.structure(frame, method, "bic", known)
        assert ("smoke", "lung") in found.graph.edges
        assert ("smoke", "bronc") not in found.graph.edges
        assert found.score <= found.bound < math.inf
    climbed = pb.learn.structure(frame, knowledge=known)
    assert climbed.bound == math.inf


def test_equivalence_search_starts_where_it_is_told(frame):
    start = pb.learn.structure(frame, "chow-liu").graph
    found = pb.learn.structure(frame, "ges", "bic", start=start)
    assert found.score >= found.scores.graph(start) - 1e-9
    refuses(pb.PlausibleError, "equivalence classes", pb.learn.structure, frame, "ges", "bic", start="tree")


@pytest.mark.parametrize("method", ["exact", "orders", "ges"])
def test_all_methods_tell_of_progress_and_can_be_stopped(frame, method):
    told = []
    found = pb.learn.structure(frame, method, progress=lambda state: told.append(state.num_steps) or True)
    assert told
    assert found.stopped_by == "interrupted"
    assert found.score <= pb.learn.structure(frame, "exact").score + 1e-6


def test_equivalence_search_refuses_rows_with_interventions(frame):
    table = Table.read(frame, interventions={"smoke": [True, False] * (len(frame) // 2)})
    refuses(pb.errors.NotSupported, r"'smoke' was set from outside.*'hill-climbing'", pb.learn.structure, table, "ges")
    assert pb.learn.structure(table, "a-star").stopped_by == "optimal"


@pytest.mark.parametrize("method", ["exact", "a-star"])
@pytest.mark.parametrize("limit", [0.0, 0.02, 1.0])
def test_an_exact_method_out_of_time_is_no_worse_than_the_default_in_that_time(method, limit, monkeypatch):
    """A clock on which each look takes a millisecond gives both the same time on any machine."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3, (150, 11))
    for column in range(2, 11):
        rows[:, column] = (rows[:, column] // 2 + rows[:, rng.integers(column, size=2)].sum(axis=1)) % 3
    looks = count()
    monkeypatch.setattr(run, "monotonic", lambda: 1e-3 * next(looks))
    climbed, found = (pb.learn.structure(rows, way, "aic", time_limit=limit) for way in ("hill-climbing", method))
    assert climbed.score <= found.score + 1e-9 <= found.bound + 1e-9
    assert found.bound < math.inf
    assert found.score == pytest.approx(found.scores.graph(found.graph))


@pytest.mark.parametrize("method", EXACT)
@pytest.mark.parametrize("known", [pb.Knowledge(), pb.Knowledge(required="dysp -> tub", tiers=[["smoke"], ["lung"]])])
def test_what_a_time_limit_prunes_is_in_no_best_graph(frame, method, known):
    """The graph of the default, found first, leaves the proof and its score as they are."""
    found = pb.learn.structure(frame, method, "bic", known, time_limit=1000)
    assert (found.stopped_by, found.is_optimal) == ("optimal", True)
    assert found.score == pytest.approx(pb.learn.structure(frame, method, "bic", known).score)


def test_options_that_are_knowledge_are_told_where_to_go(frame):
    with pytest.raises(pb.errors.InvalidArgument, match=r"knowledge=Knowledge\(max_parents=2\)"):
        pb.learn.structure(frame, max_parents=2)


def test_a_result_prints_the_name_of_its_score(frame):
    assert f"BIC {pb.learn.structure(frame).score:.6g} (local maximum" in str(pb.learn.structure(frame))
    assert "log-likelihood -" in str(pb.learn.structure(frame, "chow-liu"))
    assert "after 0 steps" not in str(pb.learn.structure(frame, "a-star"))


def test_a_search_without_any_move_ends_at_a_local_maximum():
    assert pb.learn.structure({"a": [0, 1]}, "tabu").stopped_by == "local maximum"


@pytest.mark.parametrize("name", ["pc", "IAMB"])
def test_learners_of_classes_go_by_name_where_a_learner_is_asked_for(frame, name):
    assert "2 samples" in pb.learn.bootstrap(frame, name, 2).source
    assert pb.learn.cross_validate(frame, name, 3).loss > 0
