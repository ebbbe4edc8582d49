"""Relational models against the joint of all attributes of all objects, enumerated in plain dictionaries."""

import itertools
import math
import pickle
from collections import Counter

import numpy as np
import pytest

import plausible as pb
from plausible.errors import CyclicGraph, ImpossibleEvidence, InvalidArgument, InvalidModel, NotRepresentable
from plausible.models.relations.families import open_cycle

KEYS = {"registration.student": "student", "registration.course": "course", "course.teacher": "teacher"}
STATES = {
    "teacher.skill": ["poor", "good"],
    "course.difficulty": ["easy", "hard"],
    "student.wits": ["low", "high"],
    "registration.grade": ["A", "B", "C"],
    "student.honours": ["no", "yes"],
    "course.rating": ["bad", "good"],
}


def median(values, upper=False):
    ranked = sorted(values)
    return ranked[len(ranked) // 2 if upper else (len(ranked) - 1) // 2]


def mode(values, last=False):
    counts = Counter(values)
    return (max if last else min)(value for value, number in counts.items() if number == max(counts.values()))


def mean(values, up=False):
    """The nearest position to the mean of positions; halves go down, or up."""
    twice = 2 * sum(values)
    return min(range(3), key=lambda state: (abs(2 * state * len(values) - twice), -state if up else state))


#: Text -> (the class it starts from, which attributes of which objects it is of, what it makes of them, its states).
TERMS = {
    "course.teacher.skill": ("course", lambda t, i: [("teacher.skill", t["course"]["teacher"][i])], lambda v: v[0], 2),
    "registration.student.wits": (
        "registration", lambda t, i: [("student.wits", t["registration"]["student"][i])], lambda v: v[0], 2,
    ),
    "registration.course.difficulty": (
        "registration", lambda t, i: [("course.difficulty", t["registration"]["course"][i])], lambda v: v[0], 2,
    ),
    "registration.course.teacher.skill": (
        "registration",
        lambda t, i: [("teacher.skill", t["course"]["teacher"][t["registration"]["course"][i]])],
        lambda v: v[0],
        2,
    ),
}  # fmt: skip


def grades(owner):
    return lambda t, i: [("registration.grade", r) for r, x in enumerate(t["registration"][owner]) if x == i]


def wits_of_course(t, i):
    registration = t["registration"]
    return [("student.wits", s) for s, c in zip(registration["student"], registration["course"], strict=True) if c == i]


for owner in ("student", "course"):
    chain = f"{owner}.registration.grade"
    TERMS |= {
        f"mode({chain}, empty=none)": (owner, grades(owner), lambda v: mode(v) if v else 3, 4),
        f"mode({chain}, ties=upper, empty=C)": (owner, grades(owner), lambda v: mode(v, last=True) if v else 2, 3),
        f"median({chain}, empty=A)": (owner, grades(owner), lambda v: median(v) if v else 0, 3),
        f"median({chain}, ties=upper, empty=A)": (owner, grades(owner), lambda v: median(v, True) if v else 0, 3),
        f"mean({chain}, empty=none)": (owner, grades(owner), lambda v: mean(v) if v else 3, 4),
        f"mean({chain}, ties=upper, empty=B)": (owner, grades(owner), lambda v: mean(v, True) if v else 1, 3),
        f"max({chain}, empty=none)": (owner, grades(owner), lambda v: max(v) if v else 3, 4),
        f"min({chain}, empty=C)": (owner, grades(owner), lambda v: min(v) if v else 2, 3),
        f"count({chain} = A, cap=2)": (owner, grades(owner), lambda v: min(v.count(0), 2), 3),
        f"count({chain} in A | C, cap=1)": (owner, grades(owner), lambda v: min(v.count(0) + v.count(2), 1), 2),
        f"count({owner}.registration, cap=3)": (owner, grades(owner), lambda v: min(len(v), 3), 4),
        f"exists({chain} = B)": (owner, grades(owner), lambda v: int(1 in v), 2),
        f"exists({owner}.registration)": (owner, grades(owner), lambda v: int(bool(v)), 2),
    }
TERMS["max(course.registration.student.wits, empty=low)"] = (
    "course", wits_of_course, lambda v: max(v) if v else 0, 2,
)  # fmt: skip
TERMS["count(course.registration.student.wits = high, cap=2)"] = (
    "course", wits_of_course, lambda v: min(v.count(1), 2), 3,
)  # fmt: skip


def random_tables(rng, sizes=(1, 2, 2, 4)):
    """Tables whose keys are numbers of rows, which the oracle reads; values as positions, None where missing."""
    teachers, courses, students, registrations = sizes
    return {
        "teacher": {"id": list(range(teachers))},
        "course": {"id": list(range(courses)), "teacher": rng.integers(teachers, size=courses).tolist()},
        "student": {"id": list(range(students))},
        "registration": {
            "id": list(range(registrations)),
            "student": rng.integers(students, size=registrations).tolist(),
            "course": rng.integers(courses, size=registrations).tolist(),
        },
    }


def random_parents(rng):
    """Class attribute -> its parents, of no more than two."""
    own = {owner: [text for text, term in TERMS.items() if term[0] == owner] for owner in ("student", "course")}
    student = list(rng.choice(own["student"], rng.integers(1, 3), replace=False))
    course = list(
        rng.choice([text for text in own["course"] if "skill" not in text], rng.integers(1, 3), replace=False)
    )
    single = ["registration.student.wits", "registration.course.difficulty", "registration.course.teacher.skill"]
    return {
        "teacher.skill": [],
        "course.difficulty": ["course.teacher.skill"] if rng.random() < 0.5 else [],
        "student.wits": [],
        "registration.grade": list(rng.choice(single, rng.integers(1, 3), replace=False)),
        "student.honours": student,
        "course.rating": course,
    }


def random_model(rng, parents):
    schema = pb.Schema({name: {} for name in ("teacher", "course", "student", "registration")}, keys=KEYS,
                       variables=STATES)  # fmt: skip
    cpds, tables = [], {}
    for name, texts in parents.items():
        shape = [TERMS[text][3] for text in texts] + [len(STATES[name])]
        table = rng.dirichlet(np.ones(shape[-1]), size=shape[:-1])
        if rng.random() < 0.3:  # zeros
            table = np.where(rng.random(table.shape) < 0.2, 0.0, table) + 1e-300
            table /= table.sum(axis=-1, keepdims=True)
            table[table < 1e-200] = 0.0
        tables[name] = table
        cpds.append(pb.TableCPD(name, table, parents=texts, states=STATES[name]))
    return pb.RelationalModel(schema, cpds), tables


def attributes_of(tables):
    return [(name, place) for name in STATES for place in range(len(tables[name.split(".")[0]]["id"]))]


def joint_of(tables, parents, cpds):
    """{assignment as a tuple: probability}, over `attributes_of(tables)`."""
    nodes = attributes_of(tables)
    joint = {}
    for states in itertools.product(*(range(len(STATES[name])) for name, _ in nodes)):
        world = dict(zip(nodes, states, strict=True))
        probability = 1.0
        for (name, place), state in world.items():
            row = cpds[name]
            for text in parents[name]:
                _, inputs, function, _ = TERMS[text]
                row = row[function([world[node] for node in inputs(tables, place)])]
            probability *= row[state]
        if probability:
            joint[states] = probability
    return nodes, joint


def with_values(tables, nodes, states, known):
    """The tables with columns for the attributes, None where not known."""
    filled = {name: {column: list(cells) for column, cells in table.items()} for name, table in tables.items()}
    for (name, place), state, is_known in zip(nodes, states, known, strict=True):
        owner, attribute = name.split(".")
        column = filled[owner].setdefault(attribute, [None] * len(filled[owner]["id"]))
        column[place] = STATES[name][state] if is_known else None
    return filled


def ground_name(node):
    owner, attribute = node[0].split(".")
    return f"{owner}[{node[1]}].{attribute}"


@pytest.mark.parametrize("seed", range(25))
def test_all_answers_equal_enumeration(seed):
    """Posteriors, joints, P(tables) and the best completion are those of the enumerated joint."""
    rng = np.random.default_rng(seed)
    tables, parents = random_tables(rng, (1, 2, 2, 3)), random_parents(rng)
    model, cpds = random_model(rng, parents)
    nodes, joint = joint_of(tables, parents, cpds)
    drawn = list(joint)[rng.choice(len(joint), p=np.array(list(joint.values())) / sum(joint.values()))]
    known = rng.random(len(nodes)) < rng.choice([0.0, 0.4, 0.8])
    filled = with_values(tables, nodes, drawn, known)
    kept = {
        states: p
        for states, p in joint.items()
        if all(a == b for a, b, k in zip(states, drawn, known, strict=True) if k)
    }
    total = sum(kept.values())

    assert float(model.log_likelihood(filled)) == pytest.approx(math.log(total), abs=1e-9)
    network, evidence = model.ground(filled), model.evidence(filled)
    assert network.log_probability(evidence) == pytest.approx(math.log(total), abs=1e-9)
    assert len(evidence) == known.sum()

    for name, states in STATES.items():
        beliefs = model.predict_proba(filled, name)
        for place, node in enumerate(node for node in nodes if node[0] == name):
            at = nodes.index(node)
            expected = [sum(p for s, p in kept.items() if s[at] == state) / total for state in range(len(states))]
            np.testing.assert_allclose(beliefs.iloc[place], expected, atol=1e-9)
            answer = model.query(ground_name(node), tables=filled)
            np.testing.assert_allclose(answer.values, expected, atol=1e-9)
            assert answer.info.exact
            np.testing.assert_allclose(network.query(ground_name(node), evidence).values, expected, atol=1e-9)

    hidden = [at for at, is_known in enumerate(known) if not is_known][:2]
    if len(hidden) == 2:
        answer = model.query([ground_name(nodes[at]) for at in hidden], tables=filled)
        expected = np.zeros(answer.values.shape)
        for states, p in kept.items():
            expected[tuple(states[at] for at in hidden)] += p / total
        np.testing.assert_allclose(answer.values, expected, atol=1e-9)

    best = model.mpe(tables=filled)
    assert best.log_probability == pytest.approx(math.log(max(kept.values())), abs=1e-9)
    assert list(best) == [ground_name(node) for node in sorted(nodes, key=lambda node: list(STATES).index(node[0]))]


@pytest.mark.parametrize("seed", range(6))
def test_an_intervention_cuts_an_object_from_its_parents(seed):
    """P(X | do, tables) is that of the joint in which the attribute of one object has no distribution."""
    rng = np.random.default_rng(100 + seed)
    tables, parents = random_tables(rng, (1, 1, 2, 3)), random_parents(rng)
    model, _ = random_model(rng, parents)
    network = model.ground(tables)
    nodes = attributes_of(tables)
    cut, target = (ground_name(nodes[at]) for at in rng.choice(len(nodes), 2, replace=False))
    state = network.variables[cut].states[0]
    answer = model.query(target, do={cut: state}, tables=tables)
    np.testing.assert_allclose(answer.values, network.query(target, do={cut: state}).values, atol=1e-12)


def test_soft_evidence_counts_as_in_the_ground_network():
    """A likelihood on one object, and several evidence kinds at once, give what the ground network gives."""
    rng = np.random.default_rng(5)
    tables, parents = random_tables(rng), random_parents(rng)
    model, _ = random_model(rng, parents)
    network = model.ground(tables)
    evidence = {"registration[0].grade": pb.likelihood([0.2, 0.5, 0.3]), "registration[1].grade": ["A", "B"]}
    for target in ("student[0].wits", "course[1].rating", "registration[0].grade"):
        answer = model.query(target, evidence, tables=tables)
        np.testing.assert_allclose(answer.values, network.query(target, evidence).values, atol=1e-12)


def test_complete_tables_have_the_probability_of_their_completion():
    """Without missing values log P is a sum over rows: the product that enumeration has for that assignment."""
    rng = np.random.default_rng(3)
    tables, parents = random_tables(rng), random_parents(rng)
    model, cpds = random_model(rng, parents)
    nodes = attributes_of(tables)
    drawn = model.sample(tables, seed=1)
    filled = {name: frame.to_dict("list") for name, frame in drawn.items()}
    world = {
        (name, place): STATES[name].index(filled[name.split(".")[0]][name.split(".")[1]][place])
        for name, place in nodes
    }
    logs = 0.0
    for (name, place), state in world.items():
        row = cpds[name]
        for text in parents[name]:
            row = row[TERMS[text][2]([world[node] for node in TERMS[text][1](tables, place)])]
        logs += math.log(row[state])
    assert model.log_likelihood(drawn) == pytest.approx(logs, abs=1e-9)


def test_files_and_pickles_keep_the_model(tmp_path):
    """Schema, names of ways back, slots that never lead back and distributions of any kind come back as they were."""
    schema = pb.Schema(
        {"person": {}, "club": {}, "membership": {}},
        keys={"person.mother": "person", "membership.person": "person", "membership.club": "club"},
        variables={"person.gene": ["aa", ("a", 1)], "person.age": None, "club.kind": 3},
        inverse={"membership.person": "memberships"},
        acyclic=["person.mother"],
    )
    model = pb.RelationalModel(
        schema,
        [
            pb.TableCPD("person.gene", np.eye(2), ["person.mother.gene"], states=["aa", ("a", 1)]),
            pb.TableCPD("person.gene", [0.5, 0.5], states=["aa", ("a", 1)]),
            pb.LinearGaussianCPD("person.age", 40.0, variance=100.0),
            pb.TableCPD("club.kind", [0.2, 0.3, 0.5]),
            pb.NoisyOr("person.joins", ["exists(person.memberships.club.kind = 2)"], [0.4]),
        ],
    )
    pb.save(model, tmp_path / "model.json")
    for again in (pb.load(tmp_path / "model.json"), pickle.loads(pickle.dumps(model))):
        assert again == model
        assert again.schema == model.schema
        assert again.schema.slots("person").keys() == model.schema.slots("person").keys()
        assert again.is_stratified
    with pytest.raises(NotRepresentable, match=r"RelationalModel as \.json"):
        pb.save(model, tmp_path / "model.bif")


def test_a_cycle_among_objects_is_told_by_their_names():
    """Where no slot is declared acyclic, tables that close a circle are refused, and others are not."""
    model = pb.RelationalModel(
        pb.Schema({"person": {}}, keys={"person.boss": "person"}),
        [
            pb.TableCPD("person.mood", [[0.9, 0.1], [0.2, 0.8]], ["person.boss.mood"], states=["good", "bad"]),
            pb.TableCPD("person.mood", [0.5, 0.5], states=["good", "bad"]),
        ],
    )
    assert not model.is_stratified
    assert open_cycle(model.dependencies) == ["person.mood", "person.mood"]
    line = {"person": {"id": ["ann", "bo", "cy"], "boss": [None, "ann", "bo"]}}
    step = np.array([[0.9, 0.1], [0.2, 0.8]])
    np.testing.assert_allclose(model.ground(line).query("person[cy].mood").values, [0.5, 0.5] @ step @ step)
    drawn = model.sample(line, seed=0)["person"]
    assert drawn["mood"].notna().all()


@pytest.mark.parametrize("acyclic", [(), ("person.boss",)])
def test_tables_that_close_a_circle_are_refused_by_every_question(acyclic):
    """Products of distributions in a circle are no probability, whatever the schema says of its slots."""
    circle = {"person": {"id": ["ann", "bo", "cy"], "boss": ["bo", "ann", "ann"], "mood": ["good", "bad", None]}}
    schema = pb.Schema(circle, keys={"person.boss": "person"}, acyclic=acyclic)
    step = pb.TableCPD("person.mood", [[0.9, 0.1], [0.2, 0.8]], ["person.boss.mood"], states=["good", "bad"])
    model = pb.RelationalModel(schema, [step])
    complete = {"person": {**circle["person"], "mood": ["good", "bad", "bad"]}}
    told = r"(person\[(ann|bo)\]\.mood) -> person\[(ann|bo)\]\.mood -> \1\."
    for ask in (
        lambda: model.ground(circle),
        lambda: model.predict_proba(circle, "person.mood"),
        lambda: model.log_likelihood(circle),
        lambda: model.log_likelihood(complete),
        lambda: model.sample(circle, seed=0),
        lambda: pb.learn.relational(schema, complete, {"person.mood": ["person.boss.mood"]}),
    ):
        with pytest.raises(CyclicGraph, match=told):
            ask()


def test_objects_that_are_called_alike_are_refused():
    """Names of ground variables tell objects apart: neither 1 and "1", nor the pairs a,b + c and a + b,c."""
    with pytest.raises(InvalidArgument, match=r"'coin\[1\]'"):
        one_coin([1, "1"])
    assert one_coin([1, "2"]).num_objects("coin") == 2
    papers = {"id": ["a", "a,b", "c", "b,c"]}
    schema = pb.Schema(
        paper=papers, cites={"by": [], "of": []}, keys={"cites.by": "paper", "cites.of": "paper"}, existence=["cites"]
    )
    model = pb.RelationalModel(schema, [pb.TableCPD("cites.exists", [0.5, 0.5], states=[False, True])])
    with pytest.raises(InvalidArgument, match=r"'cites\[a,b,c\]'"):
        model.read({"paper": papers, "cites": {"by": [], "of": []}})


def one_coin(ids):
    tables = {"coin": {"id": ids}}
    return pb.RelationalModel(pb.Schema(tables), [pb.TableCPD("coin.side", [0.5, 0.5], states=["h", "t"])]).read(tables)


def test_ids_may_be_tuples():
    """A compound key is one id, in tables and in references."""
    tables = {"seat": {"id": [("A", 1), ("A", 2)]}, "guest": {"seat": [("A", 2), None], "mood": ["s", "t"]}}
    schema = pb.Schema(tables, keys={"guest.seat": "seat"})
    assert pb.RelationalModel(schema, []).read(tables).references["guest.seat"].tolist() == [1, -1]


def test_means_of_decimals_are_exact_and_as_in_the_ground_network():
    """0.1 and 0.3 are as far from 0.2 as they print, and large sums of them don't overflow."""
    levels, rng = [0.1, 0.2, 100.1], np.random.default_rng(0)
    schema = pb.Schema({"box": {"id": [0]}, "ball": {"box": []}}, keys={"ball.box": "box"})
    table = [[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]]
    model = pb.RelationalModel(schema, [
        pb.TableCPD("ball.weight", [0.2, 0.3, 0.5], states=levels),
        pb.TableCPD("box.heavy", table, parents=["mean(box.ball.weight)"], states=["n", "y"]),
    ])  # fmt: skip
    draws = [rng.choice(3, size=number) for number in rng.integers(1, 60, size=20)] + [np.array([0, 1])]
    for drawn in draws:
        tables = {"box": {"id": [0]}, "ball": {"box": [0] * len(drawn), "weight": [levels[at] for at in drawn]}}
        tenths = [(1, 2, 1001)[at] for at in drawn]
        nearest = min(range(3), key=lambda at: abs((1, 2, 1001)[at] * len(tenths) - sum(tenths)))
        np.testing.assert_allclose(model.query("box[0].heavy", tables=tables).values, table[nearest])
        np.testing.assert_allclose(model.predict_proba(tables, "box.heavy").to_numpy()[0], table[nearest])


def test_whether_there_are_any_objects_needs_no_values():
    """`exists` and `count` without a state are of the objects alone: nothing depends on their attributes."""
    tables = {"box": {"id": [0, 1]}, "ball": {"box": [0], "weight": [None]}}
    schema = pb.Schema(tables, keys={"ball.box": "box"}, variables={"ball.weight": ["low", "high"]})
    for text in ("exists(box.ball.weight)", "count(box.ball.weight, cap=1)"):
        model = pb.RelationalModel(
            schema, [pb.TableCPD("box.full", [[1, 0], [0, 1]], parents=[text], states=["no", "yes"])]
        )
        assert model.dependencies == ()
        assert model.predict(tables, "box.full").tolist() == ["yes", "no"]


def test_equal_schemas_have_one_hash():
    """The order of classes is no part of a schema's value."""
    tables = {"student": {"id": ["anna"]}, "course": {"id": ["logic"]}}
    turned = dict(reversed(tables.items()))
    assert pb.Schema(tables) == pb.Schema(turned)
    assert hash(pb.Schema(tables)) == hash(pb.Schema(turned))


def test_a_distribution_that_no_object_can_have_is_refused():
    """Objects take the first distribution whose parents they have: a second one with the same parents is a slip."""
    coin = pb.TableCPD("coin.side", [0.5, 0.5], states=["h", "t"])
    schema = pb.Schema(coin={"id": [1]})
    with pytest.raises(InvalidModel, match=r"Two distributions of 'coin\.side'"):
        pb.RelationalModel(schema, [coin, pb.TableCPD("coin.side", [0.1, 0.9], states=["h", "t"])])


def test_evidence_that_the_tables_contradict_is_refused():
    """What the tables have stands: no question overrides it without a word."""
    tables = {"coin": {"id": [1, 2], "side": ["h", None]}}
    schema = pb.Schema(tables, variables={"coin.side": ["h", "t"]})
    model = pb.RelationalModel(schema, [pb.TableCPD("coin.side", [0.75, 0.25], states=["h", "t"])])
    for ask in (
        lambda given: model.query("coin[2].side", given, tables=tables),
        lambda given: model.mpe(given, tables=tables),
    ):
        with pytest.raises(InvalidModel, match=r"'coin\[1\]\.side' is 't', but the tables say 'h'"):
            ask({"coin[1].side": "t"})
    with pytest.raises(ImpossibleEvidence, match=r"contradicts do="):
        model.query("coin[1].side", {"coin[2].side": "t"}, do={"coin[2].side": "h"}, tables=tables)
    assert model.mpe({"coin[1].side": "h"}, tables=tables) == {"coin[1].side": "h", "coin[2].side": "h"}


def test_only_some_objects_are_of_a_subclass():
    """The way to what an object may also be can lead nowhere: its distribution comes before that of all others."""
    tables = {"person": {"id": [0, 1]}, "star": {"id": [1], "fame": ["big"]}}
    schema = pb.Schema(tables, keys={"star.id": "person"}, variables={"star.fame": ["big", "small"]})
    others = pb.TableCPD("person.mood", [0.5, 0.5], states=["good", "bad"])
    stars = pb.TableCPD(
        "person.mood", [[0.9, 0.1], [0.2, 0.8]], parents=["mode(person.star.fame)"], states=["good", "bad"]
    )
    for cpds in ([others, stars], [stars, others]):
        beliefs = pb.RelationalModel(schema, cpds).predict_proba(tables, "person.mood")
        np.testing.assert_allclose(beliefs.to_numpy(), [[0.5, 0.5], [0.9, 0.1]])


def test_a_question_about_one_of_very_many_objects_is_answered_with_all_others(monkeypatch):
    """Where no network is made the answers are the same, with evidence too."""
    rng = np.random.default_rng(8)
    tables, parents = random_tables(rng), random_parents(rng)
    model, _ = random_model(rng, parents)
    evidence = {"registration[0].grade": "A", "student[0].honours": "yes"}
    for target in ("student[0].wits", "course[1].difficulty", "registration[0].grade", "teacher[0].skill"):
        plain = model.query(target, evidence, tables=tables)
        with monkeypatch.context() as patch:
            patch.setattr("plausible.models.relations.relational_model._MANY", 0)
            together = model.query(target, evidence, tables=tables)
        np.testing.assert_allclose(together.values, plain.values, atol=1e-9)
        assert together.info.exact
