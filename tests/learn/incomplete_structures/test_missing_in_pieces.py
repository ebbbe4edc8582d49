"""Graphs learned from incomplete rows in pieces are those learned from the same rows in memory."""

import numpy as np
import pandas as pd
import pytest

from incomplete_rows import holes
from plausible.data import stream_statistics
from plausible.data.partitions import LocalPartitions
from plausible.data.stream_statistics import StreamStatistics
from plausible.errors import InvalidArgument, NotSupported
from plausible.learn.incomplete import cases_in_pieces
from plausible.learn.incomplete_structures import completed_statistics
from plausible.learn.incomplete_structures.rescoring import learn_by_rescoring
from plausible.learn.incomplete_structures.structural_em import SEMRules, learn_structural_em
from plausible.learn.learned_structure import learn_structure

FRAME = pd.DataFrame(holes(0, 600)).astype("Int64")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two files of several pieces, completed some rows at a time."""
    monkeypatch.setattr(cases_in_pieces, "_CELLS_AT_ONCE", 4 * 80)
    FRAME.iloc[:350].to_parquet(tmp_path / "0.parquet", row_group_size=120)
    FRAME.iloc[350:].to_parquet(tmp_path / "1.parquet", row_group_size=120)
    return tmp_path


@pytest.mark.parametrize("max_bytes", [0, 1e9], ids=["read anew", "kept"])
@pytest.mark.parametrize("missing", ["sem", "available", "pairwise", "complete-rows"])
def test_every_treatment_finds_the_graph_that_it_finds_in_memory(folder, missing, max_bytes):
    expected = learn_structure(FRAME, missing=missing)
    found = learn_structure(StreamStatistics(folder, max_bytes=max_bytes), missing=missing)
    assert found.graph == expected.graph
    assert found.score == pytest.approx(expected.score, rel=1e-12)
    assert found.missing == missing
    assert found.assumption == expected.assumption
    for name, cpd in expected.network().cpds.items():
        np.testing.assert_allclose(found.network().cpd(name).values, cpd.values, rtol=1e-6)


@pytest.mark.parametrize("max_completions", [2**22, 0], ids=["listed", "by inference"])
def test_completions_are_counted_alike_listed_or_not(folder, monkeypatch, max_completions):
    monkeypatch.setattr(completed_statistics, "_FEW_ROWS", 0)
    rules = SEMRules(max_completions=max_completions, num_draws=0)
    expected, found = (learn_structural_em(rows, rules=rules) for rows in (FRAME, StreamStatistics(folder)))
    assert found.graph == expected.graph
    assert found.score == pytest.approx(expected.score, rel=1e-12)


def test_draws_of_what_is_not_listed_are_the_same_wherever_pieces_are(folder, monkeypatch):
    monkeypatch.setattr(completed_statistics, "_FEW_ROWS", 0)
    rules = SEMRules(max_completions=0, num_draws=3, max_steps=2)
    anew, kept = (learn_structural_em(StreamStatistics(folder, max_bytes=size), rules=rules) for size in (0, 1e9))
    assert anew.graph == kept.graph
    assert anew.trace == kept.trace


def test_hidden_variables_are_learned_with_structure_in_pieces(folder):
    options = {"hidden": {"H": 2}, "seed": 1, "rules": SEMRules(max_steps=2)}
    expected = learn_structural_em(FRAME, **options)
    found = learn_structural_em(StreamStatistics(folder, max_bytes=1e9), **options)
    assert found.hidden == ("H",)
    assert found.trace == pytest.approx(expected.trace, rel=1e-10)
    assert list(found.network.variables) == list(expected.network.variables)
    with pytest.raises(InvalidArgument, match="has values in the data"):
        learn_structural_em(StreamStatistics(folder), hidden={"p": 2})


def test_files_too_large_for_memory_are_treated_in_pieces(folder, monkeypatch):
    expected = learn_structure(folder)
    monkeypatch.setattr(stream_statistics, "table_limit", lambda: 10)
    found = learn_structure(folder)
    assert (found.graph, found.missing) == (expected.graph, "sem")


def test_a_step_of_a_search_goes_once_through_the_pieces(folder, monkeypatch):
    """Where each family is counted in rows of its own, too."""
    num_passes = 0
    through = LocalPartitions.map

    def counted(self, work):
        nonlocal num_passes
        num_passes += 1
        return through(self, work)

    monkeypatch.setattr(LocalPartitions, "map", counted)
    found = learn_structure(StreamStatistics(folder), missing="available", escapes=0)
    assert num_passes <= found.num_steps + 3


def test_numbers_with_gaps_ask_for_rows_unless_complete_rows_will_do(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    frame = pd.DataFrame({"x": x, "y": x + rng.normal(size=400), "z": rng.normal(size=400)})
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=150)
    statistics = StreamStatistics(tmp_path / "rows.parquet")
    for missing in ("sem", "available", "pairwise", SEMRules()):
        with pytest.raises(NotSupported, match="'x' is continuous"):
            learn_structure(statistics, missing=missing)
    expected, found = (learn_structure(data, missing="complete-rows") for data in (frame, statistics))
    assert found.graph == expected.graph
    assert found.score == pytest.approx(expected.score, rel=1e-12)


def test_no_complete_row_is_told(tmp_path):
    pd.DataFrame({"a": pd.array([0, None, 1, None]), "b": pd.array([None, 1, None, 0])}).to_parquet(
        tmp_path / "x.parquet"
    )
    with pytest.raises(InvalidArgument, match="None of 4 rows is complete"):
        learn_structure(StreamStatistics(tmp_path / "x.parquet"), missing="complete-rows")


def test_other_searches_over_incomplete_rows_ask_for_them(folder):
    with pytest.raises(NotSupported, match="in pieces"):
        learn_by_rescoring(StreamStatistics(folder))
