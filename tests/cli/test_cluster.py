"""`plausible cluster`."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible.learn.mixtures.clustering import MixtureClustering


@pytest.fixture
def source(tmp_path):
    """Two clusters far apart, with empty cells."""
    rng = np.random.default_rng(0)
    hidden = np.arange(60) % 2
    frame = pd.DataFrame({"x": hidden * 9 + rng.normal(size=60), "d": np.where(hidden, "up", "down")})
    frame.loc[4, "x"] = None
    frame.loc[7, "d"] = None
    frame.to_csv(tmp_path / "data.csv", index=False)
    return frame


def test_clusters_are_those_of_the_library_and_the_network_agrees(plausible, source, tmp_path):
    """Assignments in a file, a network that gives the same posteriors, facts as JSON."""
    out, net = tmp_path / "out.csv", tmp_path / "net.json"
    code, text, errors = plausible(
        "cluster", str(tmp_path / "data.csv"), "-k", "2", "-o", str(out), "--network", str(net), "--json"
    )
    assert (code, errors) == (0, "")
    found = MixtureClustering(2).fit(source)
    written = pd.read_csv(out)
    assert written["cluster"].tolist() == found.labels_.tolist()
    posterior = pb.load(net).compile().predict_proba(source, "cluster").to_numpy()
    assert posterior.max(axis=1) == pytest.approx(written["probability"].to_numpy())
    assert json.loads(text)["log_likelihood"] == pytest.approx(found.log_likelihood_)


def test_the_number_is_chosen_and_told(plausible, source, tmp_path):
    """A table of figures with the best marked, then the clusters."""
    code, text, _ = plausible("cluster", str(tmp_path / "data.csv"), "--choose", "1:3", "--covariance", "diagonal")
    assert code == 0
    assert [line.split()[0] for line in text.splitlines() if line.endswith("best")] == ["2"]
    assert "2 clusters of 60 rows" in text
    facts = json.loads(plausible("cluster", str(tmp_path / "data.csv"), "--choose", "1:2", "--json")[1])
    assert facts["best"] == 2
    assert len(facts["scores"]) == 2


@pytest.mark.parametrize("arguments", [(), ("-k", "2", "--choose", "1:3"), ("--choose", "3:1"), ("--choose", "a:b")])
def test_a_wrong_number_is_told_in_one_line(plausible, source, tmp_path, arguments):
    """Exit code 2, nothing on standard output."""
    code, text, errors = plausible("cluster", str(tmp_path / "data.csv"), *arguments)
    assert (code, text) == (2, "")
    assert errors.count("\n") == 1


def test_the_source_is_not_overwritten(plausible, source, tmp_path):
    """The file to read stays."""
    path = str(tmp_path / "data.csv")
    assert plausible("cluster", path, "-k", "2", "-o", path)[0] == 2
    assert pd.read_csv(path).shape == (60, 2)
