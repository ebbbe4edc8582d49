"""Methods that look at all graphs, through the door of structure learning."""

import math

import pytest

import plausible as pb

EXACT = ["exact", "a-star"]


@pytest.fixture(scope="module")
def frame():
    return pb.examples.load("asia").sample(1000, seed=3)


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
    with pytest.raises(pb.PlausibleError, match="equivalence classes"):
        pb.learn.structure(frame, "ges", "bic", start="tree")


@pytest.mark.parametrize("method", ["exact", "orders", "ges"])
def test_all_methods_tell_of_progress_and_can_be_stopped(frame, method):
    told = []
    found = pb.learn.structure(frame, method, progress=lambda state: told.append(state.steps) or True)
    assert told
    assert found.stopped == "interrupted"
    assert found.score <= pb.learn.structure(frame, "exact").score + 1e-6
