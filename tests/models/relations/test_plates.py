"""Plate models against networks written by hand, and against the joint enumerated in plain dictionaries."""

import itertools
import math
import pickle

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible.errors import CyclicGraph, InvalidArgument, InvalidModel, UnknownVariable

WITS = pb.TableCPD("wits[student]", [0.6, 0.4], states=["low", "high"])
DIFFICULTY = pb.TableCPD("difficulty[course]", [0.7, 0.3], states=["easy", "hard"])
POLICY = pb.TableCPD("policy", [0.8, 0.2], states=["old", "new"])
ROWS = np.array(
    [[[[0.6, 0.4], [0.5, 0.5]], [[0.2, 0.8], [0.1, 0.9]]], [[[0.9, 0.1], [0.8, 0.2]], [[0.7, 0.3], [0.45, 0.55]]]]
)
GRADE = pb.TableCPD(
    "grade[student,course]", ROWS, parents=["wits[student]", "difficulty[course]", "policy"], states=["A", "B"]
)
SCHOOL = [WITS, DIFFICULTY, POLICY, GRADE]
STUDENTS, COURSES = ["anna", "bob"], ["algebra", "logic"]


def school(pairs=None, cpds=SCHOOL, **plates):
    crossing = {} if pairs is None else {("student", "course"): pairs}
    return pb.PlateModel(cpds, {"student": STUDENTS, "course": COURSES, **plates, **crossing})


def by_hand(pairs, students=STUDENTS, courses=COURSES):
    return pb.BayesianNetwork(
        [pb.TableCPD(f"wits[{s}]", [0.6, 0.4], states=["low", "high"]) for s in students]
        + [pb.TableCPD(f"difficulty[{c}]", [0.7, 0.3], states=["easy", "hard"]) for c in courses]
        + [pb.TableCPD("policy", [0.8, 0.2], states=["old", "new"])]
        + [
            pb.TableCPD(
                f"grade[{s},{c}]", ROWS, parents=[f"wits[{s}]", f"difficulty[{c}]", "policy"], states=["A", "B"]
            )
            for s, c in pairs
        ]
    )


ALL = list(itertools.product(STUDENTS, COURSES))


@pytest.mark.parametrize(
    "pairs",
    [
        None,
        [("anna", "logic"), ("bob", "logic")],
        [],
        pd.DataFrame({"course": ["algebra", "logic"], "student": ["bob", "anna"]}),
    ],
    ids=["all pairs", "some pairs", "no pairs", "a frame in another order"],
)
def test_the_unrolled_network_is_that_written_by_hand(pairs):
    """Crossing plates give all pairs of members, or those that are told; names and distributions are as expected."""
    is_frame = isinstance(pairs, pd.DataFrame)
    listed = list(zip(pairs["student"], pairs["course"], strict=True)) if is_frame else ALL if pairs is None else pairs
    network = school(pairs).unroll()
    expected = by_hand(listed)
    assert set(network.variables) == set(expected.variables)
    for cpd in expected.cpds.values():
        assert network.cpd(cpd.variable.name) == cpd


def test_answers_are_those_of_the_enumerated_joint():
    """P(X | e) and P(e) sum products over all assignments of all instances."""
    pairs = [("anna", "algebra"), ("anna", "logic"), ("bob", "logic")]
    model = school(pairs)
    evidence = {"grade[anna,algebra]": "B", "grade[bob,logic]": "A"}
    sums = {"low": 0.0, "high": 0.0}
    for a, b, x, y, p, *grades in itertools.product(range(2), repeat=8):
        wits, difficulty = {"anna": a, "bob": b}, {"algebra": x, "logic": y}
        probability = math.prod([0.6, 0.4][w] for w in (a, b)) * math.prod([0.7, 0.3][d] for d in (x, y))
        probability *= [0.8, 0.2][p]
        for (s, c), g in zip(pairs, grades, strict=True):
            probability *= ROWS[wits[s]][difficulty[c]][p][g]
        if (grades[0], grades[2]) == (1, 0):
            sums["low" if a == 0 else "high"] += probability
    total = sum(sums.values())
    assert model.log_likelihood(evidence) == pytest.approx(math.log(total), abs=1e-12)
    answer = model.query("wits[anna]", evidence)
    np.testing.assert_allclose(answer.values, [sums["low"] / total, sums["high"] / total], atol=1e-12)
    assert [variable.name for variable in answer.scope] == ["wits[anna]"]
    marginals = model.marginals(["wits[anna]", "policy"], evidence)
    np.testing.assert_allclose(marginals["wits[anna]"].values, answer.values, atol=1e-12)
    network = model.unroll()
    do = {"difficulty[logic]": "hard"}
    np.testing.assert_allclose(
        model.query("policy", evidence, do).values, network.query("policy", evidence, do).values, atol=1e-12
    )
    best = model.mpe(evidence)
    assert best.log_probability == pytest.approx(network.mpe(evidence).log_probability)
    assert set(best) == set(network.variables)


def test_plates_in_plates_have_sections_of_courses_and_students_of_these():
    """Pairs of nested plates say what lies in what; names of members may come back in others."""
    model = pb.PlateModel(
        [
            DIFFICULTY,
            pb.TableCPD("mood[course,section]", [[0.5, 0.5], [0.1, 0.9]], parents=["difficulty[course]"]),
            pb.TableCPD(
                "note[course,section,student]", [[0.3, 0.7], [0.6, 0.4]], parents=["mood[section,course]"]
            ),
        ],
        plates={
            "course": COURSES,
            ("course", "section"): [("algebra", 1), ("logic", 1), ("logic", 2)],
            ("course", "section", "student"): {
                "section": [1, 2, 2], "course": ["algebra", "logic", "logic"], "student": ["anna", "anna", "bob"],
            },
        },
    )  # fmt: skip
    network = model.unroll()
    assert model.plates["section"] == ("1", "2")
    assert sorted(network.graph.edges) == sorted(
        [("difficulty[algebra]", "mood[algebra,1]"), ("difficulty[logic]", "mood[logic,1]"),
         ("difficulty[logic]", "mood[logic,2]"), ("mood[algebra,1]", "note[algebra,1,anna]"),
         ("mood[logic,2]", "note[logic,2,anna]"), ("mood[logic,2]", "note[logic,2,bob]")]
    )  # fmt: skip


def test_parents_and_names_keep_the_order_in_which_plates_are_written():
    """An attribute of the same plates in another order is of the same pairs, and is called as it was declared."""
    review = pb.TableCPD("review[course,student]", [[0.9, 0.1], [0.3, 0.7]], parents=["grade[ student, course ]"])
    model = school(cpds=[*SCHOOL, review])
    network = model.unroll()
    assert network.cpd("review[logic,anna]").parent_names == ("grade[anna,logic]",)
    np.testing.assert_allclose(
        model.query("review[logic,anna]", {"grade[anna,logic]": "B"}).values, [0.3, 0.7], atol=1e-12
    )


@pytest.mark.parametrize("members", [0, 1, 3])
def test_a_plate_may_have_any_number_of_members(members):
    """None, one, or several that are numbered; a course without students keeps its prior."""
    model = school(student=members)
    names = [str(number) for number in range(members)]
    assert model.unroll() == by_hand(itertools.product(names, COURSES), names)
    np.testing.assert_allclose(model.query("difficulty[logic]").values, [0.7, 0.3])


def test_other_members_can_be_unrolled():
    """`unroll(plates)` and `with_plates` take the distributions to other members."""
    model = school([("anna", "logic")])
    plates = {"student": {"id": ["eve"]}, "course": ["rhetoric", "logic"]}
    expected = by_hand([("eve", "rhetoric"), ("eve", "logic")], ["eve"], ["rhetoric", "logic"])
    assert model.unroll(plates) == expected
    assert model.with_plates(plates).unroll() == expected
    with pytest.raises(InvalidModel, match=r"lacks 'course'\. A plate without members is \{'course': \[\]\}"):
        model.unroll({"student": ["eve"]})


OWN = pb.TableCPD(
    "grade[anna,algebra]", [[0.95, 0.05], [0.15, 0.85]], parents=["grade[bob,algebra]"], states=["A", "B"]
)


def test_one_instance_may_have_a_distribution_of_its_own():
    """It stands in place of the shared one, and its parents are fewer, or other instances."""
    cpds = [cpd for cpd in by_hand(ALL).cpds.values() if cpd.variable.name != "grade[anna,algebra]"]
    expected = pb.BayesianNetwork([*cpds, OWN])
    model = school(cpds=[*SCHOOL, OWN])
    network = model.unroll()
    assert set(network.graph.edges) == set(expected.graph.edges)
    evidence = {"grade[anna,algebra]": "B", "grade[anna,logic]": "A"}
    for name in ("wits[bob]", "policy", "difficulty[algebra]"):
        np.testing.assert_allclose(
            model.query(name, evidence).values, expected.query(name, evidence).values, atol=1e-12
        )
    fewer = pb.TableCPD("grade[bob,logic]", [[0.5, 0.5], [0.3, 0.7]], parents=["wits[student]"], states=["A", "B"])
    assert school(cpds=[*SCHOOL, OWN, fewer]).unroll().cpd("grade[bob,logic]").parent_names == ("wits[bob]",)
    assert list(model.variables) == ["wits[student]", "difficulty[course]", "policy", "grade[student,course]"]
    assert model.with_plates({"student": ["bob"], "course": COURSES}).cpds == tuple(model.cpds[:4])


def test_what_tables_of_plates_tell_is_known():
    """Attributes in the table of a plate are findings, or parents without distribution; None is not known."""
    grades = {"student": ["bob", "anna", "anna"], "course": ["logic", "logic", "algebra"], "grade": ["A", "B", None]}
    cpds = [WITS, POLICY, GRADE]
    model = school(grades, cpds, course={"id": COURSES, "difficulty": ["hard", "easy"], "teacher": ["Ada", "Alan"]})
    network = by_hand([("bob", "logic"), ("anna", "logic"), ("anna", "algebra")])
    findings = {"grade[bob,logic]": "A", "grade[anna,logic]": "B",
                "difficulty[algebra]": "hard", "difficulty[logic]": "easy"}  # fmt: skip
    for name in ("grade[anna,algebra]", "wits[bob]", "policy"):
        expected = network.query(name, findings).values
        np.testing.assert_allclose(model.query(name).values, expected, atol=1e-12)
    assert model.log_likelihood() == pytest.approx(network.log_probability(findings) - math.log(0.7 * 0.3), abs=1e-12)
    with pytest.raises(UnknownVariable, match=r"'difficulty\[logic\]' has no distribution in this model"):
        model.query("difficulty[logic]")


def test_shared_parameters_are_counted_over_all_instances():
    """`learn.relational` learns from `relational_model` and `tables`; `with_distributions` brings it back."""
    rng = np.random.default_rng(0)
    students = {"id": list(range(50)), "wits": rng.choice(["low", "high"], 50).tolist()}
    courses = {"id": COURSES, "difficulty": ["easy", "hard"]}
    pairs = {"student": list(range(50)) * 2, "course": ["logic"] * 50 + ["algebra"] * 50,
             "grade": rng.choice(["A", "B"], 100).tolist()}  # fmt: skip
    cpds = [WITS, DIFFICULTY, pb.TableCPD("grade[student,course]", ROWS[:, :, 0], states=["A", "B"],
                                          parents=["wits[student]", "difficulty[course]"])]  # fmt: skip
    model = pb.PlateModel(cpds, {"student": students, "course": courses, ("student", "course"): pairs})
    fit = pb.learn.relational(model.relational_model, model.tables, prior=pb.Dirichlet(1.0))
    learned = model.with_distributions(fit.model)
    counts = np.ones((2, 2, 2))
    for student, course, grade in zip(*pairs.values(), strict=True):
        wits = ["low", "high"].index(students["wits"][student])
        counts[wits, {"algebra": 0, "logic": 1}[course], "AB".index(grade)] += 1
    np.testing.assert_allclose(learned.cpds[2].values, counts / counts.sum(axis=-1, keepdims=True), atol=1e-12)
    assert learned.log_likelihood() == pytest.approx(fit.log_likelihood)
    with pytest.raises(InvalidModel, match="it is learned from"):
        model.with_distributions(school().relational_model)


def test_numbers_lie_in_plates_too():
    """Distributions of any kind are shared."""
    model = pb.PlateModel(
        [
            pb.LinearGaussianCPD("level", intercept=0.0, variance=1.0),
            pb.LinearGaussianCPD(
                "height[person]", parents=["level"], coefficients={"level": 2.0}, intercept=1.0, variance=4.0
            ),
        ],
        {"person": 3},
    )
    network = model.unroll()
    assert list(network.variables) == ["level", "height[0]", "height[1]", "height[2]"]


def test_a_model_is_a_value(tmp_path):
    """It prints itself, equals its copies, and is kept in pickles, records and files."""
    model = school(
        [("anna", "logic"), ("bob", "logic")], cpds=[*SCHOOL], course={"id": COURSES, "difficulty": ["hard", None]}
    )
    assert str(model).splitlines()[0] == "PlateModel: 2 plates, 4 distributions, 11 parameters"
    assert "grade[student,course] | wits[student], difficulty[course], policy | table" in str(model)
    assert model == school([("anna", "logic"), ("bob", "logic")], course={"id": COURSES, "difficulty": ["hard", None]})
    assert model != school([("anna", "logic"), ("bob", "logic")])
    assert model != school()
    pb.save(model, tmp_path / "school.json")
    for copy in (pickle.loads(pickle.dumps(model)), pb.PlateModel.from_record(model.to_record()),
                 pb.load(tmp_path / "school.json")):  # fmt: skip
        assert copy == model
        assert hash(copy) == hash(model)
        assert copy.unroll() == model.unroll()
        assert copy.log_likelihood() == model.log_likelihood() == pytest.approx(math.log(0.3))


def test_what_makes_no_plate_model_is_refused_by_name():
    """Each error names attribute, plate or member, and what to do."""
    wider = pb.TableCPD("wits[student]", [[0.5, 0.5], [0.5, 0.5]], parents=["grade[student,course]"])
    refused = [
        ([pb.TableCPD("grade[student,course]", [0.5, 0.5]), wider], InvalidModel,
         r"'grade\[student,course\]' can't be a parent of 'wits\[student\]', which does not lie in the plate 'course'"),
        ([pb.TableCPD("wits[studnt]", [0.5, 0.5])], UnknownVariable, "'studnt', which is no plate.*mean 'student'"),
        ([WITS, pb.TableCPD("wits[studnt]", [0.5, 0.5])], UnknownVariable,
         r"'wits\[studnt\]': the plate 'student' has no member 'studnt'\. Did you mean 'student'"),
        ([WITS, pb.TableCPD("wits[ann]", [0.5, 0.5])], UnknownVariable, "no member 'ann'. Did you mean 'anna'"),
        ([WITS, WITS], InvalidModel, r"'wits\[student\]' has two distributions"),
        ([WITS, pb.TableCPD("wits[course]", [0.5, 0.5])], InvalidModel,
         r"stands as 'wits\[course\]' and as 'wits\[student\]'"),
        ([pb.TableCPD("trust[student,student]", [0.5, 0.5])], InvalidModel, "lies twice in one plate.*two slots"),
        ([WITS, pb.TableCPD("joy[student]", [[0.5, 0.5]] * 2, parents=["wit[student]"])], UnknownVariable,
         r"'wit\[student\]' is not a variable of this plate model, where it is a parent of 'joy\[student\]'\. Did you"),
        ([WITS, pb.TableCPD("joy[student]", [[0.5, 0.5]] * 2, parents=["wits[anna]"])], InvalidModel,
         "'wits.anna.' is one instance"),
        ([WITS, pb.TableCPD("student", [0.5, 0.5])], InvalidModel, "'student' is a plate"),
        ([pb.TableCPD("wits[", [0.5, 0.5])], InvalidModel, r"'wits\[' is no such name"),
        ([WITS, pb.TableCPD("wits[anna]", [0.5, 0.5], states=["high", "low"])], InvalidModel,
         "same ones in the same order"),
        ([pb.TableCPD("wits[anna]", [0.5, 0.5])], UnknownVariable, "'anna', which is no plate"),
    ]  # fmt: skip
    for cpds, error, text in refused:
        with pytest.raises(error, match=text):
            pb.PlateModel(cpds, {"student": STUDENTS, "course": COURSES})
    circle = [
        pb.TableCPD("a[student]", [[0.5, 0.5]] * 2, parents=["b[student]"]),
        pb.TableCPD("b[student]", [[0.5, 0.5]] * 2, parents=["a[student]"]),
    ]
    with pytest.raises(CyclicGraph, match=r"a\[student\] -> b\[student\]|b\[student\] -> a\[student\]"):
        pb.PlateModel(circle, {"student": 0})
    back = pb.TableCPD("grade[bob,algebra]", [[0.5, 0.5]] * 2, parents=["grade[anna,algebra]"], states=["A", "B"])
    with pytest.raises(CyclicGraph, match=r"grade\[anna,algebra\]"):
        school(cpds=[*SCHOOL, OWN, back])


def test_plates_that_do_not_hold_together_are_refused_by_name():
    """Members that stand twice or are missing, pairs of strangers, names that could not be read."""
    refused = [
        ({"student": ["anna", "anna"]}, InvalidArgument, "'student' has the member 'anna' twice"),
        ({"student": ["anna", None]}, InvalidArgument, "no member in row 1"),
        ({"student": ["Smith, J."]}, InvalidArgument, r"'Smith, J\.': as names are made of it"),
        ({"student": -1}, InvalidArgument, "whole number of at least 0"),
        ({"student": 2.5}, InvalidArgument, "a list of members, a table of them, or their number: 2.5"),
        ({"stu.dent": 2}, InvalidModel, "A plate is named by a text"),
        ({("student", "course"): [("eve", "logic")]}, UnknownVariable, "Row 0 .* 'eve', which is no member"),
        ({("student", "course"): [("anna", "logic")] * 2}, InvalidModel, r"\('anna', 'logic'\) twice"),
        ({("student", "course"): [("anna",)]}, InvalidArgument, r"Row 0 .* is \('anna',\), where a member of each"),
        ({("student", "course"): {"student": ["anna"], "curse": ["logic"]}}, InvalidArgument,
         "no column 'course'. Did you mean 'curse'"),
    ]  # fmt: skip
    for plates, error, text in refused:
        with pytest.raises(error, match=text):
            pb.PlateModel(SCHOOL, {"student": STUDENTS, "course": COURSES, **plates})
    with pytest.raises(InvalidArgument, match="plates= maps plates to their members"):
        pb.PlateModel(SCHOOL, ["student"])
    with pytest.raises(UnknownVariable, match=r"called as 'wits\[anna\]'.*Did you mean 'grade\[anna,algebra\]'"):
        school().query("grad[anna,algebra]")
    with pytest.raises(UnknownVariable, match=r"'ann,algebra'. Did you mean 'anna,algebra'"):
        school().query("grade[ann,algebra]")
    with pytest.raises(InvalidModel, match="does not have these members together"):
        school([("bob", "algebra")], cpds=[*SCHOOL, OWN])
    with pytest.raises(pb.PlausibleError, match=r"grade\[anna,logic\]"):
        school().query("policy", {"grade[anna,logic]": "F"})
    with pytest.raises(AttributeError, match=r"model\.unroll"):
        school().sample(3)
