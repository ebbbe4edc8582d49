"""What pages are told of findings: whether they agree, what each did, and what explains them."""

from __future__ import annotations

import math
from itertools import product

import pytest

import plausible as pb

ASIA = pb.examples.load("asia")
ILL = pb.BayesianNetwork(
    pb.TableCPD("ill", [0.9, 0.1], states=["no", "yes"]),
    pb.TableCPD("test", [[0.95, 0.05], [0.1, 0.9]], parents=["ill"], states=["negative", "positive"]),
    pb.TableCPD("cough", [[0.7, 0.3], [0.4, 0.6]], parents=["ill"], states=["no", "yes"]),
)


def probability(**states: int) -> float:
    """Of some states of the small network, by a sum over all."""
    prior, test, cough = [0.9, 0.1], [[0.95, 0.05], [0.1, 0.9]], [[0.7, 0.3], [0.4, 0.6]]
    total = 0.0
    for ill, first, second in product(range(2), repeat=3):
        case = {"ill": ill, "test": first, "cough": second}
        if all(case[name] == place for name, place in states.items()):
            total += prior[ill] * test[ill][first] * cough[ill][second]
    return total


def test_findings_that_are_rarer_together_disagree(studio):
    """A cough and a negative test: the logarithm of the product over the joint, by sums over all cases."""
    model = studio.open(ILL)
    for evidence in ({"test": 0, "cough": 1}, {"test": 1, "cough": 1}):
        told = studio.ask("agreement", model=model, evidence={name: [place] for name, place in evidence.items()})
        alone = math.prod(probability(**{name: place}) for name, place in evidence.items())
        value = math.log(alone / probability(**evidence))
        assert told["agreement"]["value"] == pytest.approx(value)
        assert told["agreement"]["manner"] == ("slight" if abs(value) < math.log(1.5) else "agree")
        assert float(told["agreement"]["times"]) == pytest.approx(math.exp(abs(value)), abs=0.05)


def test_a_rare_state_that_explains_a_conflict_is_named(studio):
    """Two instruments that always agree do not, unless one is broken."""
    table = [[[0.99, 0.01], [0.1, 0.9]], [[0.01, 0.99], [0.9, 0.1]]]
    model = pb.BayesianNetwork(
        pb.TableCPD("broken", [0.99, 0.01], states=["no", "yes"]),
        pb.TableCPD("A", [0.5, 0.5]),
        pb.TableCPD("B", table, parents=["A", "broken"]),
    )
    told = studio.ask("agreement", model=studio.open(model), evidence={"A": [0], "B": [1]})["agreement"]
    assert told["manner"] == "disagree"
    assert told["reasons"] == [{"name": "broken", "text": "broken = yes"}]


def test_agreement_is_not_told_where_there_is_none_to_tell(studio):
    """Of one finding, of what can't be, and of beliefs to establish."""
    model = studio.open(ASIA)
    soft = {"kind": "jeffrey", "weights": [0.5, 0.5]}
    for evidence in ({}, {"xray": [0]}, {"tub": [0], "either": [1]}, {"xray": [0], "dysp": soft}):
        assert studio.ask("agreement", model=model, evidence=evidence) == {"agreement": None}


def test_the_impact_of_a_finding_is_what_would_be_believed_without_it(studio):
    """The decisive finding first; each belief is a ratio of sums over all cases."""
    model = studio.open(ILL)
    told = studio.ask("impact", model=model, target="ill", evidence={"cough": [1], "test": [1]})
    assert [one["text"] for one in told["findings"]] == ["test = positive", "cough = yes"]
    assert told["prior"] == pytest.approx([0.9, 0.1])
    assert told["posterior"][1] == pytest.approx(probability(ill=1, test=1, cough=1) / probability(test=1, cough=1))
    for one, other in (("test", "cough"), ("cough", "test")):
        found = next(finding for finding in told["findings"] if finding["name"] == one)
        without = probability(ill=1, **{other: 1}) / probability(**{other: 1})
        assert found["without"][1] == pytest.approx(without)
        assert found["change"][1] == pytest.approx(told["posterior"][1] - without)
        assert found["alone"][1] == pytest.approx(probability(ill=1, **{one: 1}) / probability(**{one: 1}))
    assert "'xyz'" in studio.refusal("impact", model=model, target="xyz", evidence={"test": [1]})["message"]
    assert "one finding" in studio.refusal("impact", model=model, target="ill", evidence={})["message"]


def test_explanations_are_the_likeliest_cases(studio):
    """All of them, by enumeration, in their order."""
    model = studio.open(ILL)
    told = studio.ask("explanations", model=model, evidence={"cough": [1]}, number=10)["explanations"]
    total = probability(cough=1)
    cases = sorted(
        ((probability(ill=ill, test=test, cough=1) / total, ill, test) for ill, test in product(range(2), repeat=2)),
        reverse=True,
    )
    assert [one["states"] for one in told] == [{"ill": ill, "test": test, "cough": 1} for _, ill, test in cases]
    assert [one["probability"] for one in told] == [f"{100 * share:.1f}%" for share, _, _ in cases]
    assert [one["share"] for one in told] == pytest.approx([share / cases[0][0] for share, _, _ in cases])
    assert told[0]["differs"] == []
    assert told[1]["differs"] == ["ill = yes", "test = positive"]


def test_explanations_heed_what_is_set(studio):
    """What an intervention cuts explains nothing."""
    model = studio.open(ASIA)
    for fields in ({"evidence": {"dysp": [0]}, "do": {"bronc": [0]}}, {"evidence": {"dysp": [0], "bronc": [0]}}):
        told = studio.ask("explanations", model=model, number=1, **fields)["explanations"]
        named = {
            which: {name: ASIA.variables[name].states[place] for name, (place,) in findings.items()}
            for which, findings in fields.items()
        }
        best = ASIA.mpe(**named)
        assert told[0]["states"] == {name: ASIA.variables[name].index(state) for name, state in best.items()}


def test_what_can_not_be_explained_is_refused_in_words(studio):
    """Too many, none, and a belief to establish."""
    model = studio.open(ASIA)
    assert "explanations are listed" in studio.refusal("explanations", model=model, number=1000)["message"]
    assert "whole number" in studio.refusal("explanations", model=model, number=1.5)["message"]
    soft = {"xray": {"kind": "jeffrey", "weights": [0.5, 0.5]}}
    assert "jeffrey" in studio.refusal("explanations", model=model, evidence=soft)["message"]
    assert (
        studio.refusal("explanations", model=model, evidence={"tub": [0], "either": [1]})["kind"]
        == "ImpossibleEvidence"
    )


@pytest.mark.browser
def test_the_best_explanation_is_marked_and_others_can_be(show):
    """One state in each node; what differs is told in the list."""
    page = show(ASIA, "asia")
    page.state("dysp", 0).click()
    page.settle()
    panel = page.panel("Explanations")
    panel.get_by_role("button").nth(4).wait_for()
    chosen = page.page.get_by_role("option", name="in the explanation")
    best = ASIA.mpe({"dysp": "yes"})
    assert chosen.count() == len(best)
    for name, state in best.items():
        place = ASIA.variables[name].index(state)
        assert "in the explanation" in page.state(name, place).get_attribute("aria-label")
    second = panel.get_by_role("button").nth(1)
    changed = second.locator("small").inner_text().split(" · ")[0].split(", ")
    second.click()
    for finding in changed:
        name, state = finding.split(" = ")
        place = ASIA.variables[name].index(state)
        page.page.get_by_role("listbox", name=name, exact=True).get_by_role("option").nth(place).locator(
            ".chosen"
        ).wait_for(state="attached")
    page.panel("Explanations")  # a second click closes it
    page.page.locator(".chosen").first.wait_for(state="detached")


@pytest.mark.browser
def test_what_each_finding_did_is_told_of_the_variable_that_is_selected(show):
    """The bar and the numbers follow the findings."""
    page = show(ILL, "ill")
    panel = page.panel("Impact")
    panel.get_by_text("Nothing is known yet").wait_for()
    page.state("cough", 1).click()
    page.settle()
    page.state("test", 0).click()
    page.settle()
    page.select("ill")
    panel.get_by_role("button", name="cough = yes").wait_for()
    without = probability(ill=1, test=0) / probability(test=0)
    alone = probability(ill=1, cough=1) / probability(cough=1)
    told = panel.get_by_role("button", name="cough = yes").locator("small")
    panel.get_by_label("state").select_option("yes")
    assert told.inner_text() == f"without it {100 * without:.1f}% · alone {100 * alone:.1f}%"
    page.page.locator(".agreement").get_by_text("about as often").wait_for()
    page.state("test", 1).click()
    page.settle()
    page.page.locator(".agreement").get_by_text("as probable as if").wait_for()
