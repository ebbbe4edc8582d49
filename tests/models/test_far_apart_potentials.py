"""Potentials whose products and quotients leave the range of floats, with zeros among them; logarithms by hand."""

import math

import numpy as np

import plausible as pb


def chain():
    """Once c is fixed by a zero, what is left of the other potentials is 1e400 times smaller than their peak."""
    return pb.MarkovNetwork(
        pb.Factor({"a": 2, "b": 2}, [[1e-201, 2e-201], [3e-201, 1e-201]]),
        pb.Factor({"b": 2, "c": 2}, [[1e-201, 1e-201], [0, 1e199]]),
        pb.Factor({"c": 2}, [1e-201, 1e-201]),
        pb.Factor({"c": 2, "d": 1}, [[1.0], [0.0]]),
    )


def star():
    return pb.MarkovNetwork(
        pb.Factor({"c": 2, "a": 2}, [[1e199] * 2, [1e-201] * 2]),
        pb.Factor({"c": 2, "b": 2}, [[0, 0], [0.5, 0.5]]),
        pb.Factor({"c": 2, "t": 2}, [[1e-201] * 2] * 2),
        pb.Factor({"c": 2}, [1e199, 1.0]),
    )


def test_what_is_far_below_a_peak_is_not_lost_when_messages_are_scaled():
    net = chain()
    engine, total = net.compile(), math.log(4) - 3 * 201 * math.log(10)
    assert abs(net.log_partition() - total) < 1e-9
    for belief in (net.marginals()["a"], engine.query("a"), engine.marginals()["a"], net.query("a")):
        np.testing.assert_allclose(belief.values, [0.25, 0.75])
    assert abs(engine.log_probability({"a": 0, "b": 0}) - math.log(0.25)) < 1e-9
    assert abs(engine.log_likelihood({"a": [0], "b": [0]})[0] - math.log(0.25)) < 1e-9
    assert abs(net.mpe().log_probability - math.log(0.75)) < 1e-9
    assert set(net.sample(20, seed=1)["b"]) == {0}


def test_rows_keep_it_too():
    engine = star().compile()
    for target in "tb":
        np.testing.assert_allclose(engine.predict_proba({"a": [0, None]}, target), [[0.5, 0.5]] * 2)
    np.testing.assert_allclose(engine.log_likelihood({"a": [0, None]}), [math.log(0.5), 0.0], atol=1e-12)
