"""Conditional random fields against their own formula."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from plausible.errors import ImpossibleEvidence, InvalidEvidence, InvalidModel, UnknownVariable
from plausible.factors import Factor
from plausible.graphs import UndirectedGraph
from plausible.models import ConditionalRandomField


def _chain(rng, length=3):
    """Labels in a chain, each with an observation; a table for each pair."""
    seen = [Factor({f"X{i}": 2, f"Y{i}": 3}, rng.random((2, 3)) + 0.1) for i in range(length)]
    steps = [Factor({f"Y{i}": 3, f"Y{i + 1}": 3}, rng.random((3, 3)) + 0.1) for i in range(length - 1)]
    return ConditionalRandomField(seen + steps, inputs=[f"X{i}" for i in range(length)])


def _measure(field, assignment):
    return math.prod(float(f.values[tuple(assignment[n] for n in f.names)]) for f in field.factors)


@pytest.mark.parametrize("seed", range(2))
def test_conditional_distribution_equals_enumeration(seed):
    """P(y | x) = Π φ / Z(x), with Z(x) = Σ_y Π φ."""
    field = _chain(np.random.default_rng(seed))
    for x in product(range(2), repeat=3):
        inputs = dict(zip(field.inputs, x, strict=True))
        weights = {
            y: _measure(field, inputs | dict(zip(field.outputs, y, strict=True))) for y in product(range(3), repeat=3)
        }
        z = math.fsum(weights.values())
        assert field.log_partition(inputs) == pytest.approx(math.log(z))
        answer = field.query(list(field.outputs), inputs)
        for y, weight in weights.items():
            assert answer[y] == pytest.approx(weight / z)
        y = (2, 0, 1)
        row = inputs | dict(zip(field.outputs, y, strict=True))
        assert field.log_probability(row) == pytest.approx(math.log(weights[y] / z))
        part = math.fsum(w for key, w in weights.items() if key[0] == 2)
        assert field.log_probability(inputs | {"Y0": 2}) == pytest.approx(math.log(part / z))


def test_log_likelihood_of_rows():
    """The same numbers, row by row."""
    rng = np.random.default_rng(1)
    field = _chain(rng)
    rows = {name: rng.integers(variable.num_states, size=50) for name, variable in field.variables.items()}
    expected = [field.log_probability({name: int(column[i]) for name, column in rows.items()}) for i in range(50)]
    np.testing.assert_allclose(field.log_likelihood(rows), expected)


def test_shape():
    """Inputs, outputs, graph; given inputs it is a Markov network of the outputs."""
    field = _chain(np.random.default_rng(0), length=2)
    assert field.inputs == ("X0", "X1")
    assert field.outputs == ("Y0", "Y1")
    assert field.graph == UndirectedGraph("X0 - Y0 - Y1 - X1")
    assert list(field.given({"X0": 0, "X1": 1}).variables) == ["Y0", "Y1"]
    assert repr(field) == "<ConditionalRandomField: 2 outputs, 2 inputs>"
    assert field == _chain(np.random.default_rng(0), length=2)
    assert hash(field) == hash(_chain(np.random.default_rng(0), length=2))
    assert field != _chain(np.random.default_rng(1), length=2)


def test_mistakes_are_named():
    """A factor of inputs alone, unknown inputs, no inputs, an input without a state, Z(x) = 0."""
    pair = Factor({"X": 2, "Y": 2}, [[1, 2], [0, 0]])
    with pytest.raises(InvalidModel, match=r"Factor 1 over \(X\) has no output"):
        ConditionalRandomField(pair, Factor({"X": 2}, [1, 2]), inputs=["X"])
    with pytest.raises(UnknownVariable, match="'Q' is not a variable"):
        ConditionalRandomField(pair, inputs=["Q"])
    with pytest.raises(InvalidModel, match="without any it is a MarkovNetwork"):
        ConditionalRandomField(pair, inputs=[])
    field = ConditionalRandomField(pair, inputs=["X"])
    with pytest.raises(InvalidModel, match="'X' is an input"):
        field.query("Y", {})
    with pytest.raises(InvalidModel, match="partition function is zero"):
        field.query("Y", {"X": 1})
    with pytest.raises(InvalidModel, match="partition function is zero"):
        field.log_partition({"X": 1})
    certain = ConditionalRandomField(Factor({"X": 2, "Y": 2}, [[1, 0], [1, 1]]), inputs=["X"])
    with pytest.raises(ImpossibleEvidence, match="Y=1"):
        certain.query("Y", {"X": 0, "Y": 1})


@pytest.mark.parametrize("evidence", [None, {}])
def test_a_question_without_inputs_names_one(evidence):
    """No evidence at all is evidence that lacks the inputs."""
    field = ConditionalRandomField(Factor({"X": 2, "Y": 2}, [[4, 1], [1, 4]]), inputs=["X"])
    for question in (lambda e: field.query("Y", e), field.log_probability, field.log_partition, field.given):
        with pytest.raises(InvalidModel, match="'X' is an input"):
            question(evidence)
    for wrong in (3, ["X"]):
        with pytest.raises(InvalidEvidence, match="a mapping"):
            field.query("Y", wrong)
