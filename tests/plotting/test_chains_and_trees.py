"""Pictures of chains of states, of linear systems and of decision trees."""

from __future__ import annotations

import numpy as np
import pytest

import plausible as pb
from drawing_oracle import loose, overlapping, under_foreign_boxes
from plausible.decisions import Chance, Choice, DecisionTree
from plausible.inference import MarkovChain
from plausible.models import HiddenSemiMarkovModel, SwitchingLinearDynamicalSystem
from plausible.plotting import Box, Path, Picture, Text

EYE = np.eye(1)
SYSTEM = pb.LinearDynamicalSystem(EYE, EYE, EYE, EYE, [0.0], EYE)
WEATHER = pb.HiddenMarkovModel(
    [0.25, 0.75], [[0.7, 0.3], [0.4, 0.6]], [[0.9, 0.1], [0.2, 0.8]], states=["rain", "dry"], symbols=["wet", "not"]
)


def chain(size: int) -> MarkovChain:
    """A chain in which all may follow all."""
    rng = np.random.default_rng(size)
    return MarkovChain(rng.dirichlet(np.ones(size), size), states=[f"s{place}" for place in range(size)])


def labels(picture: Picture) -> dict[str, list[str]]:
    """Edge -> what stands beside it."""
    return {part.name: [item.text for item in part.items if isinstance(item, Text)] for part in picture.of_kind("edge")}


def test_states_show_what_they_let_us_see_and_where_they_lead():
    """Bars are the emission, a number beside each arrow, loops too, is the transition."""
    picture = WEATHER.picture()
    assert labels(picture) == {
        "rain -> rain": ["70.0%"],
        "rain -> dry": ["30.0%"],
        "dry -> rain": ["40.0%"],
        "dry -> dry": ["60.0%"],
    }
    assert [part.title for part in picture.of_kind("node")] == [
        "rain: wet 90.0%, not 10.0%",
        "dry: wet 20.0%, not 80.0%",
    ]
    assert picture.of_kind("note")[0].title == "At first: dry 75.0%, rain 25.0%."


def test_transitions_that_cannot_be_are_not_drawn():
    """A chain from left to right."""
    steps = MarkovChain([[0.9, 0.1, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]], states=list("abc"))
    assert set(labels(steps.picture())) == {"a -> a", "a -> b", "b -> b", "b -> c", "c -> c"}


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_boxes_labels_and_lines_of_a_row_keep_apart(size):
    """No text lies on another or on a box, no line under a box; arrows begin and end at boxes."""
    picture = chain(size).picture()
    assert overlapping(picture) == loose(picture) == under_foreign_boxes(picture) == []
    texts = [item for part in picture.of_kind("edge") for item in part.items if isinstance(item, Text)]
    boxes = [(t.x - 20, t.y - 10, t.x + 20, t.y + 2) for t in texts]
    boxes += [(b.x, b.y, b.x + b.width, b.y + b.height) for p in picture.of_kind("node") for b in p.items[:1]]
    assert len(boxes) == size * size + size
    for place, one in enumerate(boxes):
        for other in boxes[:place]:
            assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]


def test_of_many_states_the_most_probable_transitions_are_drawn():
    """As wide as they are probable; and of very many what depends on what."""
    picture = chain(9).picture()
    assert len(picture.of_kind("edge")) == 60
    assert "Left out: transitions from a state to itself, and 12 of the least probable ones." in str(picture)
    matrix = chain(9).transition
    widths = {
        part.name: next(item.thickness for item in part.items if isinstance(item, Path))
        for part in picture.of_kind("edge")
    }
    drawn = {name: matrix[int(name[1]), int(name[-1])] for name in widths}
    assert sorted(widths, key=widths.get)[-5:] == sorted(drawn, key=drawn.get)[-5:]
    hidden = sorted(matrix[~np.eye(9, dtype=bool)])[:12]
    assert min(drawn.values()) >= max(hidden)
    assert [part.name for part in chain(30).picture().of_kind("node")] == ["state[-1]", "state"]


def test_numbers_and_several_columns_are_told_in_rows():
    """A mean with an interval; the likeliest symbol."""
    gaussian = pb.HiddenMarkovModel([1, 0], [[0.5, 0.5], [0, 1]], pb.GaussianEmission([2, 3], [1, 4], columns="x"))
    assert "x 3 (-0.29 to 6.29)" in gaussian.picture().of_kind("node")[1].title
    both = pb.HiddenMarkovModel(
        [1, 0], [[0.5, 0.5], [0, 1]], {"x": pb.GaussianEmission([2, 3], [1, 4]), "s": [[0.9, 0.1], [0.2, 0.8]]}
    )
    assert both.picture().of_kind("node")[1].title == "1: x 3 (-0.29 to 6.29); s 1 80.0%"


@pytest.mark.parametrize(
    "model",
    [
        WEATHER,
        SYSTEM,
        SwitchingLinearDynamicalSystem([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [SYSTEM, SYSTEM]),
        HiddenSemiMarkovModel([1, 0], [[0, 1], [1, 0]], [[0.5, 0.5], [0.1, 0.9]], [[0.9, 0.1], [0.2, 0.8]]),
        pb.HiddenMarkovModel(
            [0.5, 0.5], [[[0.7, 0.3], [0.3, 0.7]]] * 2, [[0.9, 0.1], [0.2, 0.8]], transition_input=pb.Variable("u", 2)
        ),
        pb.HiddenMarkovModel(np.full(40, 1 / 40), np.full((40, 40), 1 / 40), np.full((40, 2), 0.5)),
        chain(2),
        DecisionTree(Choice("D", {"a": 1, "b": 2})),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_in_time_and_trees_show_themselves_in_notebooks(model):
    """With whatever emission, and with inputs."""
    assert model._repr_svg_().startswith("<svg")
    assert isinstance(model.picture(), Picture)


def test_a_linear_system_shows_what_numbers_are_made_of():
    """Zeros of the matrices are no arrows."""
    system = pb.LinearDynamicalSystem([[1, 1], [0, 1]], [[1, 0]], np.eye(2), EYE, [0, 0], np.eye(2))
    found = {part.name for part in system.picture().of_kind("edge")}
    assert found == {"x1[-1] -> x1", "x2[-1] -> x1", "x2[-1] -> x2", "x1 -> y1"}


TREE = DecisionTree(Choice("found", {"no": 0, "yes": Chance("market", {"poor": (0.5, -7), "good": (0.5, 11)})}))


def test_a_tree_goes_from_choices_to_outcomes():
    """To the right; branches have their names and probabilities, choices and chances their shapes."""
    picture = TREE.picture()
    assert labels(picture) == {
        "found -> 0": ["no"],
        "found -> market": ["yes"],
        "market -> -7": ["poor 50.0%"],
        "market -> 11": ["good 50.0%"],
    }
    left = {part.name: part.items[0] for part in picture.of_kind("node")}
    assert left["found"].x < left["market"].x < left["11"].x
    assert (left["found"].shape, left["market"].shape) == ("rectangle", "oval")
    assert overlapping(picture) == loose(picture) == under_foreign_boxes(picture) == []


def test_a_solved_tree_shows_what_to_do_and_what_it_is_worth():
    """The branch that is taken stands out."""
    picture = TREE.solve().picture()
    taken = {part.name for part in picture.of_kind("edge") if "what to do" in part.title}
    assert taken == {"found -> market"}
    worth = {part.name: part.items[-1].text for part in picture.of_kind("node")}
    assert (worth["found"], worth["market"]) == ("2", "2")


def test_of_a_large_tree_the_beginning_is_drawn():
    """And what is hidden is counted."""
    deep: Choice | int = 1
    for place in range(50):
        deep = Choice(f"D{place}", {"stop": 0, "go": deep})
    picture = DecisionTree(deep).picture()
    assert len(picture.of_kind("node")) == 60
    assert "60 of 101 nodes" in str(picture)
    assert "+1" in {item.text for part in picture.of_kind("node") for item in part.items if isinstance(item, Text)}
    assert all(isinstance(part.items[0], Box) for part in picture.of_kind("node"))
