"""A row of a pandas frame is evidence for every question of every kind of model, as the dictionary of it is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible.errors import ImpossibleEvidence, InvalidEvidence

ASIA = pb.examples.load("asia")
MARKOV = ASIA.to_markov_network()
HYBRID = pb.BayesianNetwork(
    pb.TableCPD("kind", [0.4, 0.6], states=["a", "b"]),
    pb.ConditionalGaussianCPD("size", [1.0, 3.0], {}, 1.0, ["kind"]),
    pb.LinearGaussianCPD("read", 0.0, {"size": 1.0}, 0.5),
)
FINDINGS = {"xray": "yes", "dysp": "yes", "smoke": "no"}
NUMBERS = {"read": 2.5}

QUESTIONS = {
    "query": (ASIA, FINDINGS, lambda model, e: model.query(["lung", "tub"], e).values),
    "query after do": (ASIA, FINDINGS, lambda model, e: model.query("lung", e, do={"bronc": "no"}).values),
    "marginals": (ASIA, FINDINGS, lambda model, e: [f.values for f in model.marginals(e).values()]),
    "log_probability": (ASIA, FINDINGS, lambda model, e: model.log_probability(e)),
    "mpe": (ASIA, FINDINGS, lambda model, e: model.mpe(e)),
    "k_best": (ASIA, FINDINGS, lambda model, e: model.k_best(3, e)),
    "map": (ASIA, FINDINGS, lambda model, e: model.map(["lung", "tub"], e)),
    "sample": (ASIA, FINDINGS, lambda model, e: model.sample(5, seed=1, evidence=e).to_numpy()),
    "explain": (ASIA, FINDINGS, lambda model, e: str(model.explain("lung", e))),
    "expectation": (
        ASIA,
        FINDINGS,
        lambda model, e: model.expectation(pb.Factor([model.variables["lung"]], [1, 0]), e),
    ),
    "entropy": (ASIA, FINDINGS, lambda model, e: model.entropy("lung", e)),
    "mutual_information": (ASIA, FINDINGS, lambda model, e: model.mutual_information("lung", e).to_numpy()),
    "evidence_impact": (ASIA, FINDINGS, lambda model, e: repr(model.evidence_impact("lung", e))),
    "conflict": (ASIA, FINDINGS, lambda model, e: model.conflict(e)),
    "conflict_explanations": (ASIA, FINDINGS, lambda model, e: model.conflict_explanations(e)["conflict"].to_numpy()),
    "derivatives": (ASIA, FINDINGS, lambda model, e: model.derivatives(e)["lung"]),
    "sensitivities": (ASIA, FINDINGS, lambda model, e: repr(model.sensitivities("lung", "yes", e))),
    "engine": (ASIA.compile(), FINDINGS, lambda model, e: model.query("lung", e).values),
    "engine's samples": (ASIA.compile(), FINDINGS, lambda model, e: model.sample(5, seed=1, evidence=e).to_numpy()),
    "Markov query": (MARKOV, FINDINGS, lambda model, e: model.query("lung", e).values),
    "Markov partition": (MARKOV, FINDINGS, lambda model, e: model.log_partition(e)),
    "Markov reduction": (MARKOV, FINDINGS, lambda model, e: model.reduce(e).log_partition()),
    "moments": (HYBRID, NUMBERS, lambda model, e: model.moments("size", e).mean),
    "hybrid query": (HYBRID, NUMBERS, lambda model, e: model.query("kind", e).values),
    "hybrid samples": (HYBRID, NUMBERS, lambda model, e: model.sample(5, seed=1, evidence=e)["size"].to_numpy()),
    "hybrid mpe": (HYBRID, {"kind": "a", "read": 1.0}, lambda model, e: model.mpe(e)),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_series_gives_the_answer_of_its_dictionary(name):
    """To the bit: it is the same evidence."""
    model, findings, ask = QUESTIONS[name]
    series = pd.Series(list(findings.values()), index=list(findings), dtype=object)
    given, wanted = ask(model, series), ask(model, findings)
    if isinstance(wanted, list) and isinstance(wanted[0], np.ndarray):
        given, wanted = np.concatenate(given), np.concatenate(wanted)
    if isinstance(wanted, np.ndarray):
        np.testing.assert_array_equal(given, wanted)
    else:
        assert given == wanted


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_gap_in_the_series_is_refused_by_every_question(name):
    """No finding is left out unasked."""
    model, findings, ask = QUESTIONS[name]
    series = pd.Series([*list(findings.values())[:-1], None], index=list(findings), dtype=object)
    with pytest.raises(InvalidEvidence, match=r"evidence\.dropna\(\)"):
        ask(model, series)


@pytest.mark.parametrize("model", [ASIA, ASIA.compile(), MARKOV], ids=["network", "engine", "Markov network"])
def test_findings_of_a_series_that_contradict_each_other_are_named(model):
    """As those of a dictionary are."""
    series = pd.Series({"smoke": "yes", "either": "no", "lung": "yes"})
    with pytest.raises(ImpossibleEvidence, match=r"either.*lung") as raised:
        model.query("tub", series)
    assert "smoke" not in str(raised.value)


def test_interventions_may_be_series():
    """As evidence may be, in questions and samples."""
    net = pb.examples.load("asia")
    smokes = pd.Series({"smoke": "yes"})
    assert net.query("lung", do=smokes).is_close(net.query("lung", do={"smoke": "yes"}))
    assert set(net.sample(5, seed=0, do=smokes)["smoke"]) == {"yes"}
    assert net.explain("lung", do=smokes) == net.explain("lung", do={"smoke": "yes"})
