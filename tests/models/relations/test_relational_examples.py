"""A university, a pedigree and a hierarchy of classes, against networks written by hand, enumeration and counts."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

import plausible as pb
from plausible.errors import CyclicGraph, InvalidModel, UnknownVariable

# --- a university ---

UNIVERSITY = {
    "course": {"id": ["logic", "poetry"], "difficulty": ["hard", None]},
    "student": {"id": ["anna", "bob", "cleo"], "honours": ["yes", None, None]},
    "registration": {
        "id": [1, 2, 3, 4],
        "student": ["anna", "anna", "bob", "bob"],
        "course": ["logic", "poetry", "logic", "poetry"],
        "grade": ["A", None, "B", "B"],
    },
}
GRADES = [[[0.6, 0.4], [0.2, 0.8]], [[0.95, 0.05], [0.7, 0.3]]]
HONOURS = [[0.9, 0.1], [0.4, 0.6], [0.1, 0.9]]


def university():
    schema = pb.Schema(UNIVERSITY, keys={"registration.student": "student", "registration.course": "course"})
    return pb.RelationalModel(
        schema,
        [
            pb.TableCPD("student.intelligence", [0.7, 0.3], states=["low", "high"]),
            pb.TableCPD("course.difficulty", [0.5, 0.5], states=["easy", "hard"]),
            pb.TableCPD("registration.grade", GRADES, states=["A", "B"],
                        parents=["registration.student.intelligence", "registration.course.difficulty"]),
            pb.TableCPD("student.honours", HONOURS, states=["no", "yes"],
                        parents=["count(student.registration.grade = A, cap=2)"]),
        ],
    )  # fmt: skip


def test_a_missing_grade_is_predicted_from_all_that_hangs_together():
    """P(a grade | other grades, honours) is the sum over all completions, with the count of A's as a parent."""
    low, high = [0.7, 0.3], [0, 1]
    totals = np.zeros(2)
    for anna, bob, poetry, grade in itertools.product(range(2), repeat=4):
        joint = low[anna] * low[bob] * 0.5 * 0.5
        joint *= GRADES[anna][1][0] * GRADES[anna][poetry][grade]
        joint *= GRADES[bob][1][1] * GRADES[bob][poetry][1]
        totals[grade] += joint * HONOURS[1 + (grade == 0)][high[1]]
    model = university()
    answer = model.query("registration[2].grade", tables=UNIVERSITY)
    np.testing.assert_allclose(answer.values, totals / totals.sum(), atol=1e-12)
    assert model.log_likelihood(UNIVERSITY) == pytest.approx(math.log(totals.sum()), abs=1e-12)
    frame = model.predict_proba(UNIVERSITY, "student.honours")
    np.testing.assert_allclose(frame.loc["anna"], [0, 1], atol=1e-12)
    np.testing.assert_allclose(frame.loc["bob"], HONOURS[0], atol=1e-12)
    np.testing.assert_allclose(frame.loc["cleo"], HONOURS[0], atol=1e-12)  # took nothing, so no A's


# --- a pedigree ---

PEOPLE = {
    "id": ["ada", "ben", "cy", "dot", "eve", "fay"],
    "mother": [None, None, "ada", None, "dot", "dot"],
    "father": [None, None, "ben", None, "cy", "cy"],
    "ill": [None, "no", None, None, "yes", None],
}
GENOTYPES = ["aa", "ab", "bb"]
FOUNDERS = [0.64, 0.32, 0.04]
PASSED = {"aa": 0.0, "ab": 0.5, "bb": 1.0}  # P(the allele b is passed on)
ILL = [[0.99, 0.01], [0.9, 0.1], [0.2, 0.8]]


def offspring(mother, father):
    m, f = PASSED[mother], PASSED[father]
    return [(1 - m) * (1 - f), m * (1 - f) + f * (1 - m), m * f]


CHILD = [[offspring(m, f) for f in GENOTYPES] for m in GENOTYPES]


def genetics(acyclic=("person.mother", "person.father")):
    schema = pb.Schema(person=PEOPLE, keys={"person.mother": "person", "person.father": "person"}, acyclic=acyclic)
    return pb.RelationalModel(
        schema,
        [
            pb.TableCPD("person.genotype", FOUNDERS, states=GENOTYPES),
            pb.TableCPD("person.genotype", CHILD, states=GENOTYPES,
                        parents=["person.mother.genotype", "person.father.genotype"]),
            pb.TableCPD("person.ill", ILL, parents=["person.genotype"], states=["no", "yes"]),
        ],
    )  # fmt: skip


def pedigree_by_hand():
    cpds = []
    for name, mother, father in zip(PEOPLE["id"], PEOPLE["mother"], PEOPLE["father"], strict=True):
        parents = [f"person[{mother}].genotype", f"person[{father}].genotype"] if mother else []
        cpds += [
            pb.TableCPD(f"person[{name}].genotype", CHILD if mother else FOUNDERS, parents=parents, states=GENOTYPES),
            pb.TableCPD(f"person[{name}].ill", ILL, parents=[f"person[{name}].genotype"], states=["no", "yes"]),
        ]
    return pb.BayesianNetwork(cpds)


def test_genotypes_follow_from_the_illnesses_of_relatives():
    """Founders take the distribution without parents, wherever it stands; beliefs are those of a network by hand."""
    model, network = genetics(), pedigree_by_hand()
    assert model.is_stratified
    assert model.ground({"person": PEOPLE}) == network
    evidence = {"person[ben].ill": "no", "person[eve].ill": "yes"}
    beliefs = model.predict_proba({"person": PEOPLE}, "person.genotype")
    for name in PEOPLE["id"]:
        expected = network.query(f"person[{name}].genotype", evidence).values
        np.testing.assert_allclose(beliefs.loc[name], expected, atol=1e-12)
        answer = model.query(f"person[{name}].genotype", tables={"person": PEOPLE})
        np.testing.assert_allclose(answer.values, expected, atol=1e-12)
    assert model.log_likelihood({"person": PEOPLE}) == pytest.approx(network.log_probability(evidence), abs=1e-12)


@pytest.mark.parametrize("acyclic", [(), ("person.mother", "person.father")])
def test_nobody_is_their_own_ancestor(acyclic):
    """A circle of people is told by their names, whether the slots were said never to lead back or not."""
    circle = {"id": ["ada", "ben", "cy"], "mother": ["cy", None, "ada"], "father": ["ben", None, "ben"]}
    with pytest.raises(CyclicGraph, match=r"(?=.*person\[ada\]\.genotype)(?=.*person\[cy\]\.genotype)"):
        genetics(acyclic).ground({"person": circle})


# --- a hierarchy of classes ---

SCHOOL = {
    "person": {"id": ["ann", "bob", "cat", "dan"], "age": ["young", "old", "young", None]},
    "student": {"id": ["bob", "cat", "dan"], "gpa": ["good", "poor", None]},
    "phd": {"id": ["dan", "cat"], "funded": ["yes", "no"]},
    "club": {"head": ["dan", "bob"], "active": ["yes", None]},
}
AGE, FUNDED = [0.75, 0.25], [0.5, 0.5]
GPA = {"young": [0.5, 0.5], "old": [0.25, 0.75]}
PHD = {("young", "no"): [0.4, 0.6], ("young", "yes"): [0.1, 0.9], ("old", "no"): [0.3, 0.7], ("old", "yes"): [0.2, 0.8]}
ACTIVE = {"poor": [0.8, 0.2], "good": [0.3, 0.7]}


def hierarchy(gpa=("poor", "good")):
    schema = pb.Schema(
        SCHOOL, keys={"phd.id": "student", "student.id": "person", "club.head": "student"},
        variables={"phd.funded": ["no", "yes"], "club.active": ["no", "yes"]},
    )  # fmt: skip
    return pb.RelationalModel(
        schema,
        [
            pb.TableCPD("person.age", AGE, states=["young", "old"]),
            pb.TableCPD("student.gpa", list(GPA.values()), parents=["student.age"], states=["poor", "good"]),
            pb.TableCPD("phd.funded", FUNDED, states=["no", "yes"]),
            pb.TableCPD("phd.gpa", np.reshape(list(PHD.values()), (2, 2, 2)), parents=["phd.age", "phd.funded"],
                        states=list(gpa)),
            pb.TableCPD("club.active", list(ACTIVE.values()), parents=["club.head.gpa"], states=["no", "yes"]),
        ],
    )  # fmt: skip


def school_joint():
    """{(age of dan, gpa of dan, whether bob's club is active): probability of it and of all that is told}."""
    joint = {}
    for age, gpa, active in itertools.product(("young", "old"), ("poor", "good"), ("no", "yes")):
        p = 0.75 * 0.25 * 0.75 * AGE[age == "old"]  # ann, bob, cat, dan
        p *= GPA["old"][1] * PHD["young", "no"][0] * PHD[age, "yes"][gpa == "good"]  # bob, cat, dan
        p *= FUNDED[1] * FUNDED[0]
        p *= ACTIVE[gpa][1] * ACTIVE["good"][active == "yes"]
        joint[age, gpa, active] = p
    return joint


def test_objects_of_a_subclass_have_its_distribution_and_all_attributes_of_the_classes_above():
    """A phd is a student and a person: three levels, whose answers are sums over the joint written by hand."""
    model, joint = hierarchy(), school_joint()
    total = sum(joint.values())
    assert model.log_likelihood(SCHOOL) == pytest.approx(math.log(total), abs=1e-12)
    gpa = [sum(p for (_, one, _), p in joint.items() if one == state) / total for state in ("poor", "good")]
    age = [sum(p for (one, _, _), p in joint.items() if one == state) / total for state in ("young", "old")]
    np.testing.assert_allclose(model.query("student[dan].gpa", tables=SCHOOL).values, gpa, atol=1e-12)
    np.testing.assert_allclose(model.query("person[dan].age", tables=SCHOOL).values, age, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(SCHOOL, "student.gpa").loc["dan"], gpa, atol=1e-12)
    np.testing.assert_allclose(model.query("club[1].active", tables=SCHOOL).values, ACTIVE["good"], atol=1e-12)
    network = model.ground(SCHOOL)
    assert network.cpd("student[dan].gpa").parent_names == ("person[dan].age", "phd[dan].funded")
    assert network.cpd("student[bob].gpa").parent_names == ("person[bob].age",)
    assert [name for name in network.variables if "gpa" in name] == [f"student[{n}].gpa" for n in ("bob", "cat", "dan")]


def test_what_a_subclass_inherits_is_asked_by_the_class_that_has_it():
    """`phd[dan].gpa` is called `student[dan].gpa`, and the errors say so; other states for a subclass are refused."""
    model = hierarchy()
    with pytest.raises(UnknownVariable, match=r"ask for 'student\[dan\]\.gpa'"):
        model.query("phd[dan].gpa", tables=SCHOOL)
    with pytest.raises(UnknownVariable, match=r"ask for 'student\.gpa'"):
        model.predict_proba(SCHOOL, "phd.gpa")
    with pytest.raises(InvalidModel, match=r"that of 'phd\.gpa' has \['good', 'poor'\]"):
        hierarchy(gpa=("good", "poor"))


def test_a_subclass_is_counted_for_its_own_distribution():
    """Learning: phds count for `phd.gpa`, all other students for `student.gpa`; the score is that of the model."""
    skeleton = {
        "person": {"id": list(range(60))},
        "student": {"id": list(range(0, 60, 2))},
        "phd": {"id": list(range(0, 60, 6))},
        "club": {"head": [0, 2, 4]},
    }
    tables = hierarchy().sample(skeleton, seed=3)
    parents = {"phd.gpa": ["phd.age", "phd.funded"], "student.gpa": ["student.age"], "club.active": ["club.head.gpa"]}
    fit = pb.learn.relational(hierarchy().schema, tables, parents, prior=pb.Dirichlet(1.0))
    age = tables["person"].set_index("id")["age"]
    funded = tables["phd"].set_index("id")["funded"]
    counts = Counter()
    for name, gpa in tables["student"].set_index("id")["gpa"].items():
        counts[("phd", age[name], funded[name], gpa) if name in funded.index else ("student", age[name], gpa)] += 1
    states = ["poor", "good"]
    learned = {name: fit.model.cpd(name) for name in ("phd.gpa", "student.gpa")}
    for i, one in enumerate(learned["student.gpa"].parents[0].states):
        row = np.array([counts["student", one, gpa] + 1 for gpa in states])
        np.testing.assert_allclose(learned["student.gpa"].values[i], row / row.sum(), atol=1e-12)
        for j, other in enumerate(learned["phd.gpa"].parents[1].states):
            row = np.array([counts["phd", one, other, gpa] + 1 for gpa in states])
            np.testing.assert_allclose(learned["phd.gpa"].values[i, j], row / row.sum(), atol=1e-12)
    assert fit.log_likelihood == pytest.approx(fit.model.log_likelihood(tables))
    assert sum(counts.values()) == 30
