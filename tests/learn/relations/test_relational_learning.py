"""Learned relational models against counts by hand, enumeration, and the models that drew the tables."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

import plausible as pb
from plausible.errors import InvalidArgument, NotSupported, PlausibleWarning, UnknownVariable
from plausible.learn.estimation.families import UnidentifiedParameters

KEYS = {"registration.student": "student", "registration.course": "course"}
VARIABLES = {
    "student.wits": ["low", "high"],
    "course.difficulty": ["easy", "hard"],
    "registration.grade": ["A", "B", "C"],
    "student.honours": ["no", "yes"],
}
PARENTS = {
    "registration.grade": ["registration.student.wits", "registration.course.difficulty"],
    "student.honours": ["mode(student.registration.grade, empty=none)"],
}


def skeleton(rng, students, courses, registrations):
    return {
        "student": {"id": list(range(students))},
        "course": {"id": list(range(courses))},
        "registration": {
            "id": list(range(registrations)),
            "student": rng.integers(students, size=registrations).tolist(),
            "course": rng.integers(courses, size=registrations).tolist(),
        },
    }


def schema():
    return pb.Schema({name: {} for name in ("student", "course", "registration")}, keys=KEYS, variables=VARIABLES)


def university():
    return pb.RelationalModel(
        schema(),
        [
            pb.TableCPD("student.wits", [0.6, 0.4], states=["low", "high"]),
            pb.TableCPD("course.difficulty", [0.5, 0.5], states=["easy", "hard"]),
            pb.TableCPD(
                "registration.grade",
                [[[0.3, 0.4, 0.3], [0.1, 0.3, 0.6]], [[0.8, 0.15, 0.05], [0.5, 0.3, 0.2]]],
                parents=PARENTS["registration.grade"],
                states=["A", "B", "C"],
            ),
            pb.TableCPD(
                "student.honours",
                [[0.2, 0.8], [0.6, 0.4], [0.9, 0.1], [0.95, 0.05]],
                parents=PARENTS["student.honours"],
                states=["no", "yes"],
            ),
        ],
    )


def test_parameters_are_pooled_counts():
    """θ of a class attribute are counts over all objects, with the prior's, for each joint state of the parents."""
    tables = university().sample(skeleton(np.random.default_rng(0), 30, 5, 200), seed=1)
    fit = pb.learn.relational(schema(), tables, PARENTS, prior=pb.Dirichlet(0.5))
    student, course, registration = (tables[name].to_dict("list") for name in ("student", "course", "registration"))
    counts = Counter(
        (student["wits"][s], course["difficulty"][c], grade)
        for s, c, grade in zip(registration["student"], registration["course"], registration["grade"], strict=True)
    )
    grade = next(cpd for cpd in fit.model.cpds if cpd.variable.name == "registration.grade")
    for place in itertools.product(range(2), range(2)):
        wits, difficulty = (parent.states[i] for parent, i in zip(grade.parents, place, strict=True))
        row = [counts[wits, difficulty, state] + 0.5 for state in grade.variable.states]
        np.testing.assert_allclose(grade.values[place], np.array(row) / sum(row), atol=1e-12)
    modes = Counter()
    for s in range(30):
        own = Counter(g for x, g in zip(registration["student"], registration["grade"], strict=True) if x == s)
        mode = min((g for g in own if own[g] == max(own.values())), default="none")
        modes[mode, student["honours"][s]] += 1
    honours = next(cpd for cpd in fit.model.cpds if cpd.variable.name == "student.honours")
    for i, state in enumerate(honours.parents[0].states):
        row = [modes[state, value] + 0.5 for value in ("no", "yes")]
        np.testing.assert_allclose(honours.values[i], np.array(row) / sum(row), atol=1e-12)
    assert fit.log_likelihood == pytest.approx(fit.model.log_likelihood(tables))


def test_rows_without_objects_are_told():
    """A joint state of parents that no object has makes a warning, and a uniform row."""
    tables = {"student": {"id": [0], "wits": ["low"]}, "course": {"id": [0], "difficulty": ["easy"]},
              "registration": {"student": [0], "course": [0], "grade": ["A"]}}  # fmt: skip
    with pytest.warns(UnidentifiedParameters, match=r"3 rows of 'registration\.grade'"):
        pb.learn.relational(schema(), tables, {"registration.grade": PARENTS["registration.grade"]},
                            inputs=["student.honours"])  # fmt: skip


def enumerated_step(model, tables, hidden):
    """One step of EM by listing all completions: {attribute: expected counts by joint state}, and log P(known)."""
    completions, weights = [], []
    cells = [
        (name, attribute, row)
        for name, attribute in hidden
        for row, value in enumerate(tables[name][attribute])
        if value is None
    ]
    options = [VARIABLES[f"{name}.{attribute}"] for name, attribute, _ in cells]
    for values in itertools.product(*options):
        full = {name: {column: list(cell) for column, cell in table.items()} for name, table in tables.items()}
        for (name, attribute, row), value in zip(cells, values, strict=True):
            full[name][attribute][row] = value
        completions.append(full)
        weights.append(math.exp(model.log_likelihood(full)))
    return completions, np.array(weights)


@pytest.mark.parametrize("seed", range(4))
def test_a_step_of_em_is_that_of_all_completions(seed):
    """Tables after one step are expected counts over all completions of the tables, weighted by their probability."""
    rng = np.random.default_rng(seed)
    drawn = university().sample(skeleton(rng, 3, 2, 5), seed=seed)
    tables = {name: frame.astype(object).to_dict("list") for name, frame in drawn.items()}
    hidden = [("student", "wits"), ("registration", "grade"), ("course", "difficulty")]
    for name, attribute in hidden:
        rows = np.flatnonzero(rng.random(len(tables[name]["id"])) < (0.9 if attribute == "wits" else 0.3))
        for row in rows:
            tables[name][attribute][row] = None
    tables["student"]["wits"][0] = None
    start = university()
    completions, weights = enumerated_step(start, tables, hidden)
    fit = pb.learn.relational(start, tables, prior=pb.Dirichlet(0.1), max_steps=1)
    assert fit.trace[0] - sum_log_prior(start) == pytest.approx(math.log(weights.sum()), abs=1e-9)
    expected = {cpd.variable.name: np.full(cpd.values.shape, 0.1) for cpd in start.cpds}
    for full, weight in zip(completions, weights / weights.sum(), strict=True):
        counted = pb.learn.relational(start.schema, full, PARENTS, prior=pb.Dirichlet(1.0))
        for cpd in counted.model.cpds:
            expected[cpd.variable.name] += weight * counts_of(full, cpd)
    for cpd in fit.model.cpds:
        rows = expected[cpd.variable.name]
        np.testing.assert_allclose(cpd.values, rows / rows.sum(axis=-1, keepdims=True), atol=1e-9)


def sum_log_prior(model):
    return sum(0.1 * np.log(cpd.values).sum() for cpd in model.cpds)


def counts_of(full, cpd):
    """Counts of a family in complete tables, by plain loops."""
    counts = np.zeros(cpd.values.shape)
    name = cpd.variable.name
    owner, attribute = name.split(".")
    for row, value in enumerate(full[owner][attribute]):
        place = []
        if name == "registration.grade":
            student, course = full["registration"]["student"][row], full["registration"]["course"][row]
            by_name = {"registration.student.wits": full["student"]["wits"][student],
                       "registration.course.difficulty": full["course"]["difficulty"][course]}  # fmt: skip
            place = [parent.states.index(by_name[parent.name]) for parent in cpd.parents]
        if name == "student.honours":
            own = Counter(
                g
                for s, g in zip(full["registration"]["student"], full["registration"]["grade"], strict=True)
                if s == row
            )
            place = [cpd.parents[0].states.index(min((g for g in own if own[g] == max(own.values())), default="none"))]
        counts[(*place, cpd.variable.states.index(value))] += 1
    return counts


def test_em_never_lowers_its_objective_and_finds_a_hidden_attribute():
    """With an attribute that no table has, the objective grows; the tables are near those that drew the data."""
    tables = university().sample(skeleton(np.random.default_rng(2), 400, 40, 4000), seed=5)
    tables["student"] = tables["student"].drop(columns=["wits"])
    fit = pb.learn.relational(schema(), tables, PARENTS, prior=pb.Dirichlet(1.0), seed=1)
    assert fit.converged
    assert fit.info.exact
    assert np.diff(fit.trace).min() > -1e-8 * abs(fit.trace[0])
    grade = next(cpd for cpd in fit.model.cpds if cpd.variable.name == "registration.grade").values
    found = grade if grade[1, 0, 0] > grade[0, 0, 0] else grade[::-1]  # hidden states have no names of their own
    np.testing.assert_allclose(found, university().cpds[2].values, atol=0.06)


def test_loops_are_taken_by_a_tree_where_one_fits():
    """Hidden attributes that hang together in cycles: exact by a clique tree, and told."""
    tables = university().sample(skeleton(np.random.default_rng(3), 4, 3, 12), seed=5)
    hidden = {**tables, "student": tables["student"].drop(columns=["wits"]),
              "course": tables["course"].drop(columns=["difficulty"])}  # fmt: skip
    fit = pb.learn.relational(schema(), hidden, PARENTS, prior=pb.Dirichlet(1.0), max_steps=5)
    assert fit.info.engine == "clique tree"
    assert fit.info.exact
    assert np.diff(fit.trace).min() > -1e-9


def test_the_structure_that_drew_the_tables_is_found():
    """Phased search finds the dependencies of the university, and no table could turn them into a cycle."""
    tables = university().sample(skeleton(np.random.default_rng(4), 2000, 100, 12000), seed=6)
    fit = pb.learn.relational(schema(), tables)
    assert set(fit.parents["registration.grade"][0]) == set(PARENTS["registration.grade"])
    assert [text for own in fit.parents["student.honours"] for text in own] == PARENTS["student.honours"]
    assert fit.parents["student.wits"] == ((),)
    assert fit.model.is_stratified
    true = pb.learn.relational(schema(), tables, PARENTS)
    assert fit.log_likelihood >= true.log_likelihood - 1e-6


def test_a_second_list_of_parents_is_for_objects_that_lack_the_first():
    """Founders of a pedigree have no parents: their distribution is learned from them alone."""
    people = {
        "id": list("abcdef"),
        "mother": [None, None, "a", "a", "c", None],
        "father": [None, None, "b", "b", "f", None],
        "gene": ["x", "y", "x", "y", "x", "x"],
    }
    family = pb.Schema(
        person=people, keys={"person.mother": "person", "person.father": "person"},
        acyclic=["person.mother", "person.father"],
    )  # fmt: skip
    parents = {"person.gene": [["person.mother.gene", "person.father.gene"], []]}
    fit = pb.learn.relational(family, {"person": people}, parents, prior=pb.K2())
    child, founder = fit.model.cpds
    np.testing.assert_allclose(founder.values, [3 / 5, 2 / 5])  # x, y, x and one of each
    np.testing.assert_allclose(child.values[0, 1], [1 / 2, 1 / 2])
    np.testing.assert_allclose(child.values[0, 0], [2 / 3, 1 / 3])
    assert fit.model.is_stratified


def test_what_cannot_be_learned_is_refused_by_name():
    """Numbers with gaps, attributes both given and told, no objects."""
    tables = university().sample(skeleton(np.random.default_rng(4), 5, 2, 10), seed=6)
    with pytest.raises(InvalidArgument, match="among inputs="):
        pb.learn.relational(schema(), tables, PARENTS, inputs=["student.honours"])
    with pytest.raises(InvalidArgument, match="no objects"):
        pb.learn.relational(schema(), {name: {"id": []} for name in tables}, {})
    ages = {"student": {"id": [0, 1], "age": [20.5, None]}}
    with pytest.raises(NotSupported, match=r"'student\.age' is a number"):
        pb.learn.relational(pb.Schema(student={"id": [0], "age": [20.5]}), ages, {})


def test_a_search_says_what_no_table_tells():
    """A hidden attribute has no place in a search, which is told; what is known of some objects has."""
    tables = {"student": {"id": [0, 1]}, "registration": {"student": [0, 1, 1], "grade": ["A", "B", "A"]}}
    schema = pb.Schema(tables, keys={"registration.student": "student"})
    with pytest.warns(PlausibleWarning, match=r"No table has a value of 'student\.wits'"):
        fit = pb.learn.relational(schema, tables, hidden={"student.wits": 2}, prior=pb.K2())
    assert fit.parents["student.wits"] == ((),)


def test_gaps_leave_a_search_what_is_known():
    """With a tenth of the grades missing the dependencies are still found, on the objects that know a family."""
    tables = university().sample(skeleton(np.random.default_rng(4), 1500, 100, 9000), seed=6)
    grades = tables["registration"]["grade"].astype(object)
    grades[np.random.default_rng(5).random(len(grades)) < 0.1] = None
    tables["registration"] = tables["registration"].assign(grade=grades)
    fit = pb.learn.relational(schema(), tables, max_steps=2, prior=pb.K2())
    assert set(fit.parents["registration.grade"][0]) == set(PARENTS["registration.grade"])


def test_a_search_turns_dependencies_round():
    """Taken first the wrong way, a dependency that bars better ones is turned, not kept."""
    rng = np.random.default_rng(0)
    customers, orders = 300, 3000
    city = rng.integers(3, size=customers)
    segment = np.where(rng.random(customers) < 0.8, city % 2, rng.integers(2, size=customers))
    customer = rng.integers(customers, size=orders)
    returned = rng.random(orders) < np.where(segment[customer] == 1, 0.4, 0.1)
    rating = np.where(rng.random(orders) < 0.75, returned, rng.random(orders) < 0.5).astype(int)
    tables = {
        "customer": {"id": list(range(customers)), "city": city.tolist(), "segment": segment.tolist()},
        "order": {"customer": customer, "returned": returned.astype(int), "rating": rating},
    }
    store = pb.Schema(tables, keys={"order.customer": "customer"})
    found = pb.learn.relational(store, tables, prior=pb.BDeu(1))
    true = {"customer.segment": ["customer.city"], "order.returned": ["order.customer.segment"],
            "order.rating": ["order.returned"]}  # fmt: skip
    only = {name: true.get(name, []) for name in store.variables}
    limited = pb.learn.relational(store, tables, prior=pb.BDeu(1), candidates=only)
    assert found.score >= limited.score - 1e-6


def test_parents_that_a_score_refuses_are_no_candidates():
    """Under a score of mixed data states depend on no numbers: the search ends, and finds what else there is."""
    rng = np.random.default_rng(0)
    owner, level = rng.integers(50, size=600), rng.normal(size=50)
    tables = {
        "student": {"id": range(50), "level": level, "hard": np.where(level > 0, "y", "n")},
        "registration": {"student": owner, "grade": np.where(level[owner] > 0, "A", "B")},
    }
    schema = pb.Schema(tables, keys={"registration.student": "student"})
    fit = pb.learn.relational(schema, tables, score="conditional-gaussian-bic")
    assert "registration.student.level" not in fit.parents["registration.grade"][0]
    assert "student.hard" in fit.parents["student.level"][0]


@pytest.mark.parametrize("option", [{"prior": {"coin.sid": pb.K2()}}, {"kinds": {"coin.sid": "tree"}}])
def test_priors_and_kinds_of_no_attribute_are_refused(option):
    """A name that is not there is told, and not passed over."""
    tables = {"coin": {"id": [1, 2], "side": ["h", "t"]}}
    with pytest.raises(UnknownVariable, match=r"coin\.side"):
        pb.learn.relational(pb.Schema(tables), tables, {}, **option)
