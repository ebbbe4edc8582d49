"""Formulas on constants: the ground network is the distribution of worlds, counted one by one."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import formula_oracle as oracle
import plausible as pb
from refusals import refuses

SMOKERS = {"Smokes": ["person"], "Friends": ["person", "person"]}
INFLUENCE = "Smokes(x) & Friends(x, y) => Smokes(y)"


def mentioned(one):
    """The predicates of a formula."""
    text = oracle.written(one)
    return tuple(name for name in oracle.TYPES if f"{name}(" in text)


def log_measures(net, worlds, known=()):
    """Σ log φ of each world, its known atoms left out."""
    variables = net.variables
    columns = {
        oracle.called(atom): np.array([variables[oracle.called(atom)].index(world[atom]) for world in worlds])
        for atom in worlds[0]
        if atom not in known
    }
    assert set(columns) == set(variables)
    return net.log_measures(columns) if columns else np.zeros(len(worlds))


def differ_by_a_constant(first, second):
    """Whether two lists of logarithms are the same but for a normalisation."""
    difference = np.asarray(first) - np.asarray(second)
    return np.ptp(difference) == pytest.approx(0, abs=1e-9)


@given(pair=st.lists(oracle.formulas(), min_size=1, max_size=2), data=st.data())
@settings(max_examples=120, deadline=None)
@pytest.mark.filterwarnings("ignore::plausible.models.relations.relational_markov_network.AlwaysCertain")
def test_worlds_are_as_probable_as_their_true_groundings_say(pair, data):
    """P(world | evidence) ∝ exp Σ w_i n_i(world), whatever the evidence, by a count of all groundings in all worlds."""
    names = tuple(dict.fromkeys(name for one in pair for name in mentioned(one)))
    assume(len(names) <= 4)
    weights = [0.7, -1.3][: len(pair)]
    worlds = list(oracle.worlds(names))
    seen = data.draw(st.sampled_from(worlds))
    known = [atom for atom in seen if data.draw(st.booleans())] if data.draw(st.booleans()) else []
    formulas = [
        pb.Formula(oracle.written(one), w, name=str(n)) for n, (one, w) in enumerate(zip(pair, weights, strict=True))
    ]
    model = pb.RelationalMarkovNetwork(formulas, {name: oracle.PREDICATES[name] for name in names})
    kinds = {kind for name in names for kind in oracle.TYPES[name]}
    constants = {kind: oracle.CONSTANTS[kind] for kind in kinds}
    net = model.ground(constants, {oracle.called(atom): seen[atom] for atom in known})
    worlds = [world for world in worlds if all(world[atom] == seen[atom] for atom in known)]
    counts = [sum(w * oracle.num_true(one, world) for one, w in zip(pair, weights, strict=True)) for world in worlds]
    assert differ_by_a_constant(log_measures(net, worlds, known), counts)


@given(one=oracle.formulas(), data=st.data())
@settings(max_examples=60, deadline=None)
def test_true_groundings_are_counted(one, data):
    """n(world) is that of going through all of them."""
    names = mentioned(one)
    world = data.draw(st.sampled_from(list(oracle.worlds(names))) if len(names) < 4 else st.nothing())
    model = pb.RelationalMarkovNetwork([oracle.written(one)], {name: oracle.PREDICATES[name] for name in names})
    kinds = {kind for name in names for kind in oracle.TYPES[name]}
    told = {oracle.called(atom): state for atom, state in world.items()}
    counts = model.count({kind: oracle.CONSTANTS[kind] for kind in kinds}, told)
    assert list(counts.values()) == [oracle.num_true(one, world)]


def test_each_pair_of_a_student_and_a_professor_is_a_clause():
    """Famous(p) & StudentOf(s, p) => Successful(s): three students and three professors make nine factors."""
    predicates = {"Famous": ["professor"], "StudentOf": ["student", "professor"], "Successful": ["student"]}
    model = pb.RelationalMarkovNetwork(
        [pb.Formula("Famous(p) & StudentOf(s, p) => Successful(s)", weight=2.0)], predicates
    )
    constants = {"student": ["s1", "s2", "s3"], "professor": ["p1", "p2", "p3"]}
    net = model.ground(constants)
    assert len(net.factors) == 9
    assert len(net.variables) == 15
    scopes = {frozenset(factor.names) for factor in net.factors}
    assert scopes == {
        frozenset({f"Famous({p})", f"StudentOf({s}, {p})", f"Successful({s})"})
        for s, p in itertools.product(constants["student"], constants["professor"])
    }
    factor = net.factors[0]
    assert sorted(factor.values.ravel().round(6)) == pytest.approx([1.0, *[math.exp(2.0)] * 7], abs=1e-6)


def test_a_closed_world_has_no_other_friends():
    """Closing a predicate is to tell all of its atoms."""
    model = pb.RelationalMarkovNetwork([pb.Formula(INFLUENCE, 1.5), pb.Formula("Smokes(x)", -1.0)], SMOKERS)
    people = {"person": ["ann", "bob", "carl"]}
    friends = [("ann", "bob"), ("bob", "carl")]
    told = {pair: pair in friends for pair in itertools.product(people["person"], repeat=2)}
    closed = model.ground(people, {"Friends": friends}, closed=["Friends"])
    assert closed == model.ground(people, {"Friends": told})
    assert list(closed.variables) == ["Smokes(ann)", "Smokes(bob)", "Smokes(carl)"]
    assert sorted(len(factor.scope) for factor in closed.factors) == [1, 1, 1, 2, 2]
    assert len(model.ground(people, {"Friends": friends}).variables) == 3 + 7


def test_atoms_told_to_be_missing_stay_open_in_a_closed_world():
    """None and NaN say that nobody knows."""
    model = pb.RelationalMarkovNetwork([pb.Formula(INFLUENCE, 1.5)], SMOKERS)
    told = pd.DataFrame({"who": ["ann", "bob"], "whom": ["bob", "ann"], "so": [True, None]})
    for friends in ({"Friends": told}, {"Friends(ann, bob)": True, "Friends(bob, ann)": None}):
        net = model.ground({"person": ["ann", "bob"]}, friends, closed=["Friends", "Smokes"])
        assert list(net.variables) == ["Friends(bob, ann)"]


@pytest.mark.parametrize(
    "friends",
    [
        pd.DataFrame({"who": ["ann", "bob"], "whom": ["bob", "ann"]}),
        pd.DataFrame({"who": ["ann", "bob", "bob"], "whom": ["bob", "ann", "bob"], "so": [True, True, False]}),
        {"who": ["ann", "bob"], "whom": ["bob", "ann"]},
        [("ann", "bob"), ("bob", "ann")],
        {("ann", "bob"), ("bob", "ann")},
        {("ann", "bob"): True, ("bob", "ann"): True, ("ann", "ann"): False},
    ],
    ids=["frame", "frame with states", "columns", "list", "set", "mapping"],
)
def test_what_is_known_is_told_in_any_form(friends):
    """Frames, columns, lists and mappings tell the same, and so do atoms as they are written."""
    model = pb.RelationalMarkovNetwork([pb.Formula(INFLUENCE, 1.5)], SMOKERS)
    people = {"person": ["ann", "bob"]}
    written = {"Friends(ann,bob)": True, "Friends('bob', ann)": True}
    net = model.ground(people, {"Friends": friends, "Smokes": {"ann": True}}, closed=["Friends"])
    assert net == model.ground(people, {**written, "Smokes( ann )": True}, closed=["Friends"])
    assert [factor.names for factor in net.factors] == [("Smokes(bob)",)]


def test_functions_and_predicates_without_arguments():
    """States of functions, and what speaks of nobody."""
    predicates = {"Rain": [], "Mood": (["person"], 3), "Cheerful": ["person"]}
    formulas = [pb.Formula("Rain() => Mood(x) = 0", 1.0), pb.Formula("Mood(x) = 2 <=> Cheerful(x)", weight=math.inf)]
    model = pb.RelationalMarkovNetwork(formulas, predicates)
    people = {"person": ["ann"]}
    net = model.ground(people)
    assert net.variables["Mood(ann)"].states == (0, 1, 2)
    e = math.exp(1.0)  # with rain: moods 0, 1 and 2 weigh e, 1 and 1, without e each
    assert net.query("Rain()")[True] == pytest.approx((e + 2) / (4 * e + 2))
    assert net.query("Cheerful(ann)", evidence={"Mood(ann)": 2})[True] == pytest.approx(1.0)
    given_rain = model.ground(people, {"Rain": True, "Mood": pd.DataFrame({"who": ["ann"], "mood": [2]})})
    assert given_rain.query("Cheerful(ann)")[True] == pytest.approx(1.0)


def test_atoms_that_become_one_are_one():
    """Friends(x, y) <=> Friends(y, x) says nothing of ann and herself, and one thing of ann and bob, twice."""
    model = pb.RelationalMarkovNetwork([pb.Formula("Friends(x, y) <=> Friends(y, x)", 0.5)], SMOKERS)
    features = model.features({"person": ["ann", "bob"]})
    assert (features.counts[0].groundings, features.counts[0].true, features.counts[0].open) == (4, 2, 2)
    net = features.network()
    assert [factor.names for factor in net.factors] == [("Friends(ann, bob)", "Friends(bob, ann)")]
    assert net.factors[0].values == pytest.approx(np.exp([[1.0, 0.0], [0.0, 1.0]]))


def test_hard_formulas_rule_worlds_out():
    """An infinite weight is a zero where the formula does not hold."""
    formulas = [pb.Formula("exists y: Friends(x, y)", math.inf), pb.Formula("Friends(x, x)", -math.inf)]
    net = pb.RelationalMarkovNetwork(formulas, SMOKERS).ground({"person": ["ann", "bob", "carl"]})
    assert net.query("Friends(ann, ann)")[True] == 0
    assert net.query("Friends(ann, bob)")[True] == pytest.approx(2 / 3)
    assert math.exp(net.log_partition()) == pytest.approx(3**3 * 2**3)


def test_a_hard_formula_holds_at_all_of_its_groundings_over_the_same_atoms():
    """Friends(x, y) => Friends(y, x), there and back: friends of each other, or not."""
    model = pb.RelationalMarkovNetwork([pb.Formula("Friends(x, y) => Friends(y, x)", math.inf)], SMOKERS)
    net = model.ground({"person": ["ann", "bob"]}, {"Smokes": {"ann": True, "bob": True}})
    assert math.exp(net.log_partition()) == pytest.approx(2 * 2 * 2)


def test_an_atom_that_matters_in_one_place_of_a_formula_matters():
    """Though what is known makes it matter no more in another one."""
    for text in ("Smokes(x) | (Friends(x, x) & Smokes(x))", "(Friends(x, x) & Smokes(x)) | Smokes(x)"):
        model = pb.RelationalMarkovNetwork([pb.Formula(text, 1.0)], SMOKERS)
        net = model.ground({"person": ["ann"]}, closed=["Friends"])
        assert net.query("Smokes(ann)")[True] == pytest.approx(1 / (1 + math.exp(-1.0)))


def test_what_cannot_hold_is_told():
    """At once where a grounding, or the atoms of one, rule it out; by the question where it takes all of them."""
    always = pb.Formula("Smokes(x)", math.inf)
    never = pb.Formula("!Smokes(x)", math.inf)
    people = {"person": ["ann", "bob"]}
    model = pb.RelationalMarkovNetwork([always], SMOKERS)
    refuses(
        pb.errors.ImpossibleEvidence, "is false at x=bob whatever", model.ground, people, {"Smokes": {"bob": False}}
    )
    model = pb.RelationalMarkovNetwork([always, never], SMOKERS)
    refuses(pb.errors.ImpossibleEvidence, r"No states of Smokes\(ann\) make Smokes\(x\) and !Smokes\(x\)", model.ground,
            people)  # fmt: skip
    circle = [pb.Formula("Smokes(x) & x != y => !Smokes(y)", math.inf), pb.Formula("forall x: Smokes(x)", math.inf)]
    net = pb.RelationalMarkovNetwork(circle, SMOKERS).ground({"person": ["ann", "bob", "carl"]})
    refuses(pb.errors.InvalidModel, "rule out every assignment", net.query, "Smokes(ann)")


@pytest.mark.parametrize(("text", "what"), [("Smokes(x) | !Smokes(x)", "true"), ("x != x & Smokes(x)", "false")])
def test_a_formula_that_is_certain_is_told(text, what):
    """Its weight changes nothing."""
    model = pb.RelationalMarkovNetwork([pb.Formula(text, 2.0)], {"Smokes": ["person"]})
    with pytest.warns(pb.PlausibleWarning, match=f"is {what} in every world"):
        net = model.ground({"person": ["ann", "bob"]})
    assert net.factors == ()
    assert list(net.variables) == ["Smokes(ann)", "Smokes(bob)"]


@pytest.mark.parametrize(
    ("constants", "match"),
    [
        ({}, "no 'person', a type"),
        ({"person": []}, "the type 'person' has none"),
        ({"person": "ann"}, "is a text, not a list"),
        ({"person": ["ann", "bob", "ann"]}, "has the constant 'ann' twice"),
        ({"person": [1, "1"]}, "has the constant '1' twice"),
        ({"person": ["ann"], "persons": ["bob"]}, "'persons', which no predicate has. Did you mean 'person'"),
        (["ann"], "type -> constants"),
    ],
)
def test_constants_that_do_not_fit_are_refused(constants, match):
    """Missing types, none of a type, and two of one name."""
    model = pb.RelationalMarkovNetwork([INFLUENCE], SMOKERS)
    refuses(pb.errors.InvalidArgument, match, model.ground, constants)


@pytest.mark.parametrize(
    ("evidence", "error", "match"),
    [
        ({"Smoke(ann)": True}, pb.errors.UnknownVariable, "Did you mean 'Smokes'"),
        ({"Smokes(ana)": True}, pb.errors.InvalidModel, "'ana' in Smokes\\(ana\\) is no person. Did you mean 'ann'"),
        ({"Smokes(ann, bob)": True}, pb.errors.InvalidEvidence, "no atom of Smokes\\(person\\), such as 'Smokes\\(ann"),
        ({"Smokes(ann)": "yes"}, pb.errors.UnknownState, "'yes' is not a state of 'Smokes'"),
        ({"Smokes(ann)": True, "Smokes": {"ann": False}}, pb.errors.InvalidEvidence, "told to be False and to be True"),
        (
            {"Friends": [("ann", "bob", True), ("ann", "bob", False)]},
            pb.errors.InvalidEvidence,
            "an atom has one state",
        ),
        ({"Friends": [("ann", "bbo")]}, pb.errors.UnknownState, "'bbo' is not a state of 'person of Friends'"),
        ({"Friends": [("ann",)]}, pb.errors.InvalidEvidence, "has 1 parts; it takes 2, or 3 with the state"),
        ({"Friends": pd.DataFrame({"a": ["ann"]})}, pb.errors.InvalidEvidence, "has 1 columns; it takes 2"),
        ({"Topic": [("p1",)]}, pb.errors.InvalidEvidence, "it takes 2, the last the state"),
        ([("ann", "bob")], pb.errors.InvalidArgument, "What is known of atoms is a mapping"),
    ],
)
def test_evidence_that_does_not_fit_is_refused(evidence, error, match):
    """Atoms, constants and states that are none, and two states for one atom."""
    model = pb.RelationalMarkovNetwork([INFLUENCE], {**SMOKERS, "Topic": (["paper"], ["AI", "DB"])})
    refuses(error, match, model.ground, {"person": ["ann", "bob"], "paper": ["p1"]}, evidence)


def test_closed_predicates_are_true_or_false():
    """Functions have no state for what nobody tells."""
    model = pb.RelationalMarkovNetwork(["Topic(p) = AI"], {"Topic": (["paper"], ["AI", "DB"])})
    refuses(pb.errors.NotSupported, "can't be closed", model.ground, {"paper": ["p1"]}, closed=["Topic"])
    refuses(pb.errors.UnknownVariable, "Did you mean 'Topic'", model.ground, {"paper": ["p1"]}, closed=["Topics"])
    refuses(pb.errors.InvalidEvidence, r"does not tell Topic\(p1\): give all", model.count, {"paper": ["p1"]}, {})


def test_tables_over_too_many_atoms_are_refused_by_name():
    """A quantifier over many unknown atoms; a few of them, the others told, are taken."""
    people = {"person": [f"q{n}" for n in range(40)]}
    model = pb.RelationalMarkovNetwork([pb.Formula("exists y: Friends(x, y) & Smokes(y)", 1.0)], SMOKERS)
    refuses(pb.errors.TooLarge, r"at x=q0 hangs on 80 atoms at once \(Smokes\(q0\)", model.ground, people)
    net = model.ground(people, {"Friends": [("q0", "q1"), ("q0", "q2"), ("q7", "q3")]}, closed=["Friends"])
    assert [factor.names for factor in net.factors] == [("Smokes(q3)",), ("Smokes(q1)", "Smokes(q2)")]
    wide = {"Near": ["place"] * 5}
    model = pb.RelationalMarkovNetwork(["Near(a, b, c, d, e)"], wide)
    refuses(pb.errors.TooLarge, "ground atoms", model.ground, {"place": list(range(100))})


@pytest.mark.parametrize("block", [1, 7, 64])
def test_blocks_of_substitutions_change_nothing(block, monkeypatch):
    """The same network, however many substitutions are looked at at a time."""
    formulas = [pb.Formula(INFLUENCE, 1.5), pb.Formula("Friends(x, y) & Friends(y, z) & x != z => Friends(x, z)", 0.5)]
    model = pb.RelationalMarkovNetwork(formulas, SMOKERS)
    people, known = {"person": ["ann", "bob", "carl", "dora"]}, {"Friends(ann, bob)": True, "Smokes(dora)": False}
    whole = model.features(people, known)
    monkeypatch.setattr("plausible.models.relations.formula_grounding._BLOCK", block)
    parts = model.features(people, known)
    assert parts.counts == whole.counts
    assert {factor.names: factor for factor in parts.network().factors} == {
        factor.names: factor for factor in whole.network().factors
    }


def test_many_groundings_of_which_few_are_left_are_told_by_number():
    """A million groundings: what the friends that are known leave of them, and how many the others are."""
    people = {"person": [f"q{n}" for n in range(1000)]}
    friends = pd.DataFrame({"who": people["person"][:-1], "whom": people["person"][1:]})
    model = pb.RelationalMarkovNetwork([pb.Formula(INFLUENCE, 1.5)], SMOKERS)
    features = model.features(people, {"Friends": friends}, closed=["Friends"])
    assert [(one.groundings, one.true, one.false, one.open) for one in features.counts] == [
        (10**6, 10**6 - 999, 0, 999)
    ]
    assert features.num_factors == 999
    assert features.to_frame()["open"].tolist() == [999]
    assert "1,000,000 | 999,001 |     0 |  999" in str(features)
    assert features.network().query("Smokes(q1)", evidence={"Smokes(q0)": True, "Smokes(q2)": False})[True] == (
        pytest.approx(0.5)
    )
