"""Questions about some variables: what several commands have in common, and the answers worked by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import plausible as pb
from plausible.cli import main

# X1 ~ N(1, 4), X2 = -3.5 + 0.5 X1 + N(0, 4), X3 = 1 - X2 + N(0, 3): the joint Gaussian of the example, written out.
MEAN = np.array([1.0, -3.0, 4.0])
COVARIANCE = np.array([[4.0, 2.0, -2.0], [2.0, 5.0, -5.0], [-2.0, -5.0, 8.0]])


def conditioned(seen, values, wanted):
    """Mean and covariance of some variables given others, by the formula for a joint Gaussian."""
    gain = COVARIANCE[np.ix_(wanted, seen)] @ np.linalg.inv(COVARIANCE[np.ix_(seen, seen)])
    mean = MEAN[wanted] + gain @ (np.array(values) - MEAN[seen])
    return mean, COVARIANCE[np.ix_(wanted, wanted)] - gain @ COVARIANCE[np.ix_(seen, wanted)]


@pytest.mark.parametrize(
    ("evidence", "seen", "values", "targets", "wanted"),
    [
        ("X3=2.5", [2], [2.5], "X1", [0]),
        ("X2=-1", [1], [-1.0], "X1,X3", [0, 2]),
        ("X1=0,X3=1e1", [0, 2], [0.0, 10.0], "X2", [1]),
        ("", [], [], "X3,X1,X2", [2, 0, 1]),
    ],
)
def test_moments_are_those_of_the_joint_gaussian(plausible, evidence, seen, values, targets, wanted):
    """Targets in the order given, as arguments or as an option."""
    mean, covariance = conditioned(seen, values, wanted)
    for asked in ([targets], ["--targets", targets], targets.split(",")):
        code, text, errors = plausible("moments", "gaussian-chain", *asked, "--evidence", evidence, "--json")
        assert (code, errors) == (0, "")
        found = json.loads(text)
        assert found["variables"] == targets.split(",")
        assert found["mean"] == pytest.approx(mean.tolist())
        np.testing.assert_allclose(found["covariance"], covariance, atol=1e-9)


def test_moments_after_an_intervention_forget_the_causes(plausible):
    """do(X2 = -1) leaves X1 as it was and moves X3 to 1 + 1."""
    _, text, _ = plausible("moments", "gaussian-chain", "X1,X3", "--do", "X2=-1", "--json")
    found = json.loads(text)
    assert found["mean"] == pytest.approx([1.0, 2.0])
    np.testing.assert_allclose(found["covariance"], [[4.0, 0.0], [0.0, 3.0]], atol=1e-12)


def test_moments_print_a_table(plausible):
    """A row for each target."""
    _, text, _ = plausible("moments", "gaussian-chain", "X1", "-e", "X3=2.5")
    assert [cell.strip() for cell in text.splitlines()[2].split("|")] == ["X1", "1.375", "3.5"]


@pytest.mark.parametrize("findings", [(), ("-e", "xray=yes"), ("--do", "smoke=no")])
def test_marginals_of_targets_are_those_of_the_joint(plausible, findings):
    """In the order given and no others; conditioned and cut by hand."""
    network = pb.examples.load("asia")
    if "--do" in findings:
        network = network.with_cpd(pb.TableCPD("smoke", [0.0, 1.0], states=["yes", "no"]))
    joint = network.joint()
    if "-e" in findings:
        joint = joint.reduce({"xray": "yes"}).normalize()
    _, text, _ = plausible("marginals", "asia", "--targets", "tub,lung", *findings, "--json")
    found = json.loads(text)
    assert list(found) == ["tub", "lung"]
    for name, document in found.items():
        assert document["values"] == pytest.approx(joint.marginal(name).values.tolist())


def test_marginals_of_a_markov_network_can_be_asked_of_some(plausible):
    """The others are left out."""
    _, text, _ = plausible("marginals", "misconception", "-t", "D,A", "--json")
    joint = pb.examples.load("misconception").joint()
    found = json.loads(text)
    assert list(found) == ["D", "A"]
    assert found["A"]["values"] == pytest.approx(joint.marginal("A").values.tolist())


def test_marginals_list_numbers_beside_states(plausible, tmp_path):
    """A mixture of N(0, 1) and N(4, 1), half each, has mean 2 and variance 1 + 4; an observed number has none."""
    network = pb.BayesianNetwork(
        pb.ConditionalGaussianCPD("size", [0.0, 4.0], {}, 1.0, ["kind"]),
        pb.TableCPD("kind", [0.5, 0.5], states=["a", "b"]),
    )
    pb.save(network, tmp_path / "mixed.json")
    model = str(tmp_path / "mixed.json")
    _, text, _ = plausible("marginals", model, "--json")
    found = json.loads(text)
    assert list(found) == list(network.variables)
    assert found["size"] == pytest.approx({"mean": 2.0, "variance": 5.0})
    assert found["kind"]["values"] == pytest.approx([0.5, 0.5])
    _, text, _ = plausible("marginals", model, "-t", "kind,size", "-e", "size=2")
    assert [line.split() for line in text.splitlines()] == [
        ["kind", "a=0.5000", "b=0.5000"],
        ["size", "mean=2", "variance=0"],
    ]


def test_a_plan_over_budget_says_so(plausible):
    """And one within it does not."""
    _, text, _ = plausible("explain", "alarm", "--budget-memory", "1e-9", "--json")
    assert json.loads(text)["fits"] is False
    _, text, _ = plausible("explain", "alarm", "--budget-memory", "1", "--budget-seconds", "60", "--json")
    assert json.loads(text)["fits"] is True


SIGNS = st.text(alphabet='=~:|,"\\ ayesnoxrub0.5-\n', max_size=14)


@given(SIGNS, SIGNS, st.sampled_from(["query", "marginals", "map", "moments", "explain"]))
@example("xray=yes", "", "query")
@example("xray:=", "smoke~", "marginals")
@settings(max_examples=20, deadline=None)
def test_no_text_ends_in_a_traceback(evidence, do, command):
    """An answer or one line about the mistake, whatever the findings look like."""
    with pytest.raises(SystemExit) as stop:
        main([command, "asia", "lung", f"--evidence={evidence}", f"--do={do}"])
    assert stop.value.code in (0, 2)


@given(
    st.lists(st.sampled_from(["xray", "lung", "=", "yes", "~", ":=", "|", "0.5", "1", ",", '"', "nan", "inf", "-1"]))
)
@settings(max_examples=20, deadline=None)
def test_no_finding_put_together_from_its_parts_ends_in_a_traceback(parts):
    """Numbers that are none, and numbers where states belong."""
    with pytest.raises(SystemExit) as stop:
        main(["query", "asia", "tub", f"--evidence={''.join(parts)}"])
    assert stop.value.code in (0, 2)
