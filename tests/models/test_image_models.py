"""Pictures as random fields: the observed pixels are inputs, the answer is the most probable picture."""

from __future__ import annotations

from itertools import product as cartesian
from math import exp

import numpy as np
import pytest

from plausible.factors import Factor
from plausible.models import ConditionalRandomField, grid
from plausible.variables import Variable

LABELS = (0, 1, 2)


def _denoiser(rows, columns, smoothing, truncation):
    """Hidden pixels x, observed pixels y: truncated-linear energies between neighbours and to the observation."""
    graph = grid(rows, columns)
    hidden = {node: Variable(f"x {node}", LABELS) for node in graph.nodes}
    seen = {node: Variable(f"y {node}", LABELS) for node in graph.nodes}
    energy = np.minimum(np.abs(np.subtract.outer(LABELS, LABELS)), truncation)
    factors = [Factor([hidden[node], seen[node]], np.exp(-energy)) for node in graph.nodes]
    factors += [Factor([hidden[a], hidden[b]], np.exp(-smoothing * energy)) for a, b in graph.edges]
    return graph, ConditionalRandomField(factors, inputs=[variable.name for variable in seen.values()])


def _energy(graph, picture, observed, smoothing, truncation):
    """The energy of a picture, edge by edge and pixel by pixel."""
    between = sum(min(abs(picture[a] - picture[b]), truncation) for a, b in graph.edges)
    return smoothing * between + sum(min(abs(picture[n] - observed[n]), truncation) for n in graph.nodes)


@pytest.mark.parametrize("seed", range(2))
def test_denoising_by_the_most_probable_image(seed):
    """The answer has the least energy of all 6,561 pictures of 2 x 4 pixels (overview, item 70)."""
    graph, field = _denoiser(2, 4, smoothing=0.7, truncation=1.5)
    rng = np.random.default_rng(seed)
    observed = {node: int(rng.integers(3)) for node in graph.nodes}
    best = field.given({f"y {node}": value for node, value in observed.items()}).mpe()
    picture = {node: best[f"x {node}"] for node in graph.nodes}
    energies = [
        _energy(graph, dict(zip(graph.nodes, values, strict=True)), observed, 0.7, 1.5)
        for values in cartesian(LABELS, repeat=len(graph))
    ]
    assert _energy(graph, picture, observed, 0.7, 1.5) == pytest.approx(min(energies))
    assert best.log_probability == pytest.approx(np.log(exp(-min(energies)) / sum(map(exp, np.negative(energies)))))


def test_a_lonely_wrong_pixel_is_mended():
    """One dark pixel in a bright picture is noise."""
    graph, field = _denoiser(4, 4, smoothing=0.7, truncation=1.5)
    observed = {f"y {node}": 2 for node in graph.nodes}
    observed[f"y {graph.nodes[5]}"] = 0
    best = field.given(observed).mpe()
    assert {best[f"x {node}"] for node in graph.nodes} == {2}


def test_segmentation_is_coherent_where_the_classifier_doubts():
    """Classifier scores are unary factors of the field; doubtful ones follow their neighbours (overview 71)."""
    graph = grid(3, 5)
    regions = {node: Variable(f"region {node}", ["sky", "sea"]) for node in graph.nodes}
    features = {node: Variable(f"feature {node}", ["blue", "bright", "dark"]) for node in graph.nodes}
    classifier = np.array([[0.5, 0.9, 0.2], [0.5, 0.1, 0.8]])  # P(region | feature) up to a constant
    agree = np.array([[2.0, 1.0], [1.0, 2.0]])
    factors = [Factor([regions[node], features[node]], classifier) for node in graph.nodes]
    factors += [Factor([regions[a], regions[b]], agree) for a, b in graph.edges]
    field = ConditionalRandomField(factors, inputs=[variable.name for variable in features.values()])
    seen = dict.fromkeys(graph.nodes, "bright")
    seen |= dict.fromkeys(graph.nodes[10:], "dark") | {graph.nodes[2]: "blue", graph.nodes[12]: "blue"}
    best = field.given({f"feature {node}": value for node, value in seen.items()}).mpe()
    labels = [best[f"region {node}"] for node in graph.nodes]
    assert labels == ["sky"] * 10 + ["sea"] * 5
