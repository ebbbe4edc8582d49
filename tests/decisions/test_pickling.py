"""The values of the room travel: pickles and copies say what the originals say."""

from __future__ import annotations

import copy
import doctest
import functools
import importlib
import math
import pickle
import pkgutil
import re
from collections import defaultdict

import numpy as np
import pytest

import plausible as pb
from plausible import decisions, utilities
from plausible.decisions import SequentialDiagram, SequentialSolution
from plausible.decisions.coordination.graph import JointAction
from plausible.utilities.elicitation.questions import SimulatedRespondent, gamble_question
from plausible.utilities.lotteries.axioms import AxiomReport
from plausible.utilities.lotteries.countable import CountableLottery, saint_petersburg
from plausible.utilities.lotteries.curves import FunctionCurve
from plausible.utilities.lotteries.preferences import PreferenceRelation
from plausible.utilities.populations.population import fit_population_mixture

#: These are as good at travelling as the functions that people put in them.
HOLD_FUNCTIONS = (
    *(pb.Utility, CountableLottery, FunctionCurve, PreferenceRelation, SimulatedRespondent),
    *(SequentialDiagram, SequentialSolution),
)


ROOMS = (decisions, utilities)
PUBLIC = {name for room in ROOMS for name in room.__all__}


def _modules():
    for room in ROOMS:
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            yield importlib.import_module(module.name)


def _classes(modules):
    for module in modules:
        for name, kind in vars(module).items():
            is_own = isinstance(kind, type) and kind.__module__ == module.__name__ and name in PUBLIC
            if is_own and not issubclass(kind, (tuple, *HOLD_FUNCTIONS)):
                yield kind


def _recording(kind, seen):
    initialise = kind.__init__

    @functools.wraps(initialise)
    def noted(self, *given, **named):
        initialise(self, *given, **named)
        if type(self) is kind and len(seen[kind]) < 4:
            seen[kind].append(self)

    return noted


def _run_examples(module):
    runner = doctest.DocTestRunner(verbose=False)
    for example in doctest.DocTestFinder().find(module, module.__name__):
        runner.run(example, out=lambda text: None)


def _text(value):
    return re.sub(r" at 0x[0-9a-f]+", "", f"{value!r}\n{value}")


@pytest.mark.slow
def test_every_kind_of_value_that_the_examples_make_is_pickled_and_copied():
    """All examples of the two rooms are run, and the public values that they make are sent there and back."""
    modules, seen = list(_modules()), defaultdict(list)
    with pytest.MonkeyPatch.context() as patch:
        for kind in set(_classes(modules)):
            patch.setattr(kind, "__init__", _recording(kind, seen))
        for module in modules:
            _run_examples(module)
    assert len(seen) > 100
    assert {pb.InfluenceDiagram, JointAction, AxiomReport} <= seen.keys()
    stuck = set()
    for kind, values in seen.items():
        for value in values:
            try:
                ways = [pickle.loads(pickle.dumps(value)), copy.deepcopy(value)]
            except (TypeError, AttributeError, pickle.PicklingError) as error:
                stuck.add(f"{kind.__qualname__}: {error}")
                continue
            assert [_text(way) for way in ways] == [_text(value)] * 2
    assert not stuck


def test_a_diagram_whose_utility_is_a_function_is_pickled_with_its_solution():
    """The function stays behind; its table goes."""
    diagram = pb.InfluenceDiagram(
        chance=[pb.TableCPD("market", [0.6, 0.4], states=["bad", "good"])],
        decisions=[pb.Decision("found", ["no", "yes"], sees=["market"])],
        utilities=[pb.Utility(["market", "found"], lambda market, found: (market == "good") * (found == "yes") * 5.0)],
    )
    for again in (pickle.loads(pickle.dumps(diagram)), copy.deepcopy(diagram)):
        assert again == diagram
        assert again.solve().expected_utility == diagram.solve().expected_utility == pytest.approx(2.0)
    solution = diagram.solve()
    assert str(pickle.loads(pickle.dumps(solution))) == str(solution)


def test_people_and_preferences_are_pickled_where_their_functions_can_be():
    """Statements, expected utilities by tables or by functions of modules, respondents, endless lotteries, curves."""
    stated = PreferenceRelation.from_statements([("tea", ">", "coffee")])
    assert pickle.loads(pickle.dumps(stated)).compare("coffee", "tea") == -1
    for utility in ({2.0: 1.0, 8.0: 3.0}, math.log2):
        asked = PreferenceRelation.from_utility(utility)
        assert pickle.loads(pickle.dumps(asked)).compare(8.0, 2.0) == 1
    question = gamble_question("blind", "dead", "well", 0.5)
    asked = SimulatedRespondent({"dead": 0.0, "blind": 0.4, "well": 1.0})
    assert pickle.loads(pickle.dumps(asked))(question) == asked(question)
    game = pickle.loads(pickle.dumps(saint_petersburg()))
    assert game.expected_utility(math.log2).value == pytest.approx(2.0)
    assert pickle.loads(pickle.dumps(FunctionCurve(math.sqrt)))(4.0) == 2.0


def test_a_mixture_of_people_and_one_of_them_are_pickled():
    """Populations, weights, and what is known of a person."""
    asked = {"A": [0, 0, 1, 1], "B": [0, 1, 0, 1]}
    answers = np.random.default_rng(0).normal(size=(20, 4))
    people = fit_population_mixture(asked, answers, [["A", "B"], [["A", "B"]]], {"A": 2, "B": 2}, restarts=0)
    user = people.predict(asked, answers[0])
    again, same = pickle.loads(pickle.dumps((people, user)))
    assert str(again) == str(people)
    assert same.at({"A": 1, "B": 1}) == user.at({"A": 1, "B": 1})
