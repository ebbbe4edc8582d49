"""References that are chosen by attributes of their targets, against enumeration in plain Python."""

import itertools
import math
import pickle

import numpy as np
import pytest

import plausible as pb
from plausible.errors import CyclicGraph, InvalidCPD, InvalidModel, NotSupported, TooLarge
from plausible.learn.relations.references import Choice, ReferenceSearch
from plausible.models.relations.families import read_family, read_reference
from plausible.models.relations.instance import Instance
from plausible.models.relations.terms import read_term

KEYS = {"registration.student": "student", "registration.course": "course"}
LEVELS, WITS, RATINGS, GRADES = ["easy", "hard"], ["low", "high"], ["bad", "good"], ["A", "B"]
LEVEL, WIT = np.array([0.6, 0.4]), np.array([0.3, 0.7])
RATING = np.array([[0.3, 0.7], [0.8, 0.2]])  # difficulty, rating
COURSE = np.array([[0.9, 0.1], [0.35, 0.65]])  # wits, cell
GRADE = np.array([[[0.4, 0.6], [0.1, 0.9]], [[0.8, 0.2], [0.5, 0.5]]])  # wits, difficulty, grade
PRAISE = np.array([[0.9, 0.1], [0.25, 0.75]])  # rating of the course, praise


def university():
    schema = pb.Schema({"student": {}, "course": {}, "registration": {}}, keys=KEYS)
    return pb.RelationalModel(
        schema,
        [
            pb.TableCPD("course.difficulty", LEVEL, states=LEVELS),
            pb.TableCPD("course.rating", RATING, ["course.difficulty"], states=RATINGS),
            pb.TableCPD("student.wits", WIT, states=WITS),
            pb.ReferenceCPD("registration.course", COURSE, ["course.difficulty"], ["registration.student.wits"]),
            pb.TableCPD(
                "registration.grade", GRADE, ["registration.student.wits", "registration.course.difficulty"],
                states=GRADES,
            ),
            pb.TableCPD("registration.praise", PRAISE, ["registration.course.rating"], states=["no", "yes"]),
        ],
    )  # fmt: skip


TABLES = {
    "course": {
        "id": ["c1", "c2", "c3", "c4"],
        "difficulty": ["easy", "hard", "easy", "easy"],
        "rating": ["good", None, None, "bad"],
    },
    "student": {"id": ["s", "t"], "wits": [None, None]},
    "registration": {
        "id": [1, 2, 3],
        "student": ["s", "t", "s"],
        "course": ["c2", None, None],
        "grade": ["A", "B", None],
        "praise": [None, "yes", "no"],
    },
}


def position(states, value, free):
    return free if value is None else [states.index(value)]


def worlds(tables):
    """Each completion of the tables as a dictionary by ground names, and its probability."""
    courses, students, taken = tables["course"], tables["student"], tables["registration"]
    names, domains = [], []
    for owner, table, attribute, states in (
        ("course", courses, "difficulty", LEVELS), ("course", courses, "rating", RATINGS),
        ("student", students, "wits", WITS), ("registration", taken, "course", courses["id"]),
        ("registration", taken, "grade", GRADES), ("registration", taken, "praise", ["no", "yes"]),
    ):  # fmt: skip
        for key, value in zip(table["id"], table[attribute], strict=True):
            names.append(f"{owner}[{key}].{attribute}")
            domains.append(range(len(states)) if value is None else [states.index(value)])
    for values in itertools.product(*domains):
        world = dict(zip(names, values, strict=True))
        level = [world[f"course[{c}].difficulty"] for c in courses["id"]]
        rating = [world[f"course[{c}].rating"] for c in courses["id"]]
        p = math.prod(LEVEL[one] for one in level) * math.prod(RATING[one, r] for one, r in zip(level, rating))  # noqa: B905
        p *= math.prod(WIT[world[f"student[{s}].wits"]] for s in students["id"])
        for key, student in zip(taken["id"], taken["student"], strict=True):
            wits, course = world[f"student[{student}].wits"], world[f"registration[{key}].course"]
            p *= COURSE[wits, level[course]] / level.count(level[course])
            p *= GRADE[wits, level[course], world[f"registration[{key}].grade"]]
            p *= PRAISE[rating[course], world[f"registration[{key}].praise"]]
        yield world, p


def posterior(listed, name, size):
    found = np.zeros(size)
    for world, p in listed:
        found[world[name]] += p
    return found / found.sum()


def test_missing_references_and_what_goes_over_them_equal_enumeration():
    """Posteriors of references, of attributes on both sides of them, and P(tables)."""
    model, listed = university(), list(worlds(TABLES))
    total = math.fsum(p for _, p in listed)
    assert float(model.log_likelihood(TABLES)) == pytest.approx(math.log(total))
    for name, size in (
        ("registration[2].course", 4), ("registration[3].course", 4), ("registration[3].grade", 2),
        ("registration[1].praise", 2), ("course[c2].rating", 2), ("course[c3].rating", 2),
        ("student[s].wits", 2), ("student[t].wits", 2),
    ):  # fmt: skip
        answer = model.query(name, tables=TABLES)
        np.testing.assert_allclose(answer.values, posterior(listed, name, size), atol=1e-12)
        assert answer.info.exact
    joint = model.query(["registration[2].course", "registration[3].course"], tables=TABLES)
    both = np.zeros((4, 4))
    for world, p in listed:
        both[world["registration[2].course"], world["registration[3].course"]] += p
    np.testing.assert_allclose(joint.values, both / total, atol=1e-12)
    frame = model.predict_proba(TABLES, "registration.course")
    assert list(frame.columns) == TABLES["course"]["id"]
    np.testing.assert_allclose(frame.loc[2], posterior(listed, "registration[2].course", 4), atol=1e-12)
    np.testing.assert_allclose(frame.loc[1], [0, 1, 0, 0])
    ratings = model.predict_proba(TABLES, "course.rating")
    np.testing.assert_allclose(ratings.loc["c3"], posterior(listed, "course[c3].rating", 2), atol=1e-12)


def test_findings_and_interventions_reach_through_missing_references():
    """Evidence on a reference selects its worlds; an intervention on a known attribute changes what may be copied."""
    model, listed = university(), list(worlds(TABLES))
    chosen = [(world, p) for world, p in listed if world["registration[2].course"] == 2]
    answer = model.query("course[c3].rating", evidence={"registration[2].course": "c3"}, tables=TABLES)
    np.testing.assert_allclose(answer.values, posterior(chosen, "course[c3].rating", 2), atol=1e-12)
    changed = {**TABLES, "course": {**TABLES["course"], "rating": ["bad", None, None, "bad"]}}
    worse = [
        (world, p * RATING[0, 1] / RATING[0, 0]) for world, p in worlds(changed)
    ]  # c1 is set to bad, which tells nothing of its difficulty
    answer = model.query("registration[2].course", do={"course[c1].rating": "bad"}, tables=TABLES)
    np.testing.assert_allclose(answer.values, posterior(worse, "registration[2].course", 4), atol=1e-12)


def test_log_likelihood_of_known_references_counts_the_choice_within_the_cell():
    """Complete tables, hidden parents, and references to anything are exact; sizes are counted."""
    model = university()
    complete = {
        "course": {**TABLES["course"], "rating": ["good", "bad", "good", "bad"]},
        "student": {"id": ["s", "t"], "wits": ["low", "high"]},
        "registration": {**TABLES["registration"], "course": ["c2", "c1", "c4"], "grade": list("ABA"),
                         "praise": ["no", "yes", "no"]},
    }  # fmt: skip
    ((_, p),) = worlds(complete)
    assert model.log_likelihood(complete) == pytest.approx(math.log(p))
    hidden = {**complete, "student": {"id": ["s", "t"], "wits": [None, None]}}
    listed = list(worlds(hidden))
    answer = model.log_likelihood(hidden)
    assert float(answer) == pytest.approx(math.log(math.fsum(p for _, p in listed)))
    assert answer.info.exact
    frame = model.predict_proba(hidden, "student.wits")
    np.testing.assert_allclose(frame.loc["s"], posterior(listed, "student[s].wits", 2))
    anything = pb.ReferenceCPD("registration.course", [1.0])
    one = pb.RelationalModel(model.schema, [pb.TableCPD("student.wits", WIT, states=WITS), anything])
    assert one.log_likelihood(hidden) == pytest.approx(-3 * math.log(4))
    assert one.log_likelihood(complete) == pytest.approx(math.log(WIT[0] * WIT[1]) - 3 * math.log(4))


CITES = {"cites.citing": "paper", "cites.cited": "paper"}
TOPICS, TOPIC = ["AI", "DB"], np.array([0.7, 0.3])
CITED = np.array([[0.8, 0.2], [0.1, 0.9]])  # topics of the citing and of the cited paper


def corpus(papers, links):
    schema = pb.Schema(
        {"paper": papers, "cites": links}, keys=CITES, variables={"paper.topic": TOPICS}
    )  # fmt: skip
    return pb.RelationalModel(
        schema,
        [
            pb.TableCPD("paper.topic", TOPIC, states=TOPICS),
            pb.ReferenceCPD("cites.cited", CITED, ["paper.topic"], ["cites.citing.topic"]),
        ],
    )


def test_hidden_partitions_take_expected_sizes_and_claim_nothing():
    """With expected sizes put in, beliefs and P(tables) are those of the product; no answer says that it is exact."""
    topics = ["AI", "DB", None, "AI", None, "AI"]
    papers = {"id": list("abcdef"), "topic": topics}
    pairs = [("a", "c"), ("c", "b"), ("e", "c"), ("d", "f"), ("e", "e")]
    links = {"citing": [i for i, _ in pairs], "cited": [j for _, j in pairs]}
    sizes = np.array([3 / 4 * 6, 1 / 4 * 6])
    found, total = np.zeros((2, 2)), 0.0
    for c, e in itertools.product(range(2), repeat=2):
        known = dict(zip("abcdef", [0, 1, c, 0, e, 0], strict=True))
        p = math.prod(TOPIC[t] for t in known.values())
        p *= math.prod(CITED[known[i], known[j]] / sizes[known[j]] for i, j in pairs)
        found[0, c], found[1, e], total = found[0, c] + p, found[1, e] + p, total + p
    model, tables = corpus(papers, links), {"paper": papers, "cites": links}
    frame = model.predict_proba(tables, "paper.topic")
    np.testing.assert_allclose(frame.loc[["c", "e"]], found / total)
    assert not frame.attrs["info"].exact
    answer = model.log_likelihood(tables)
    assert float(answer) == pytest.approx(math.log(total))
    assert not answer.info.exact
    with pytest.raises(NotSupported, match=r"not all known of paper\[c\]"):
        model.query("paper[c].topic", tables=tables)


def test_learned_references_are_counted_by_cell():
    """P(cell | parents) is the share of references into the cell; cells without objects get nothing of the prior."""
    papers = {"id": list(range(6)), "topic": ["AI", "AI", "DB", "AI", "DB", "DB"], "year": ["old", "new"] * 3}
    links = {"citing": [0, 0, 1, 2, 2, 4, 5], "cited": [1, 2, 3, 4, 0, 2, 5]}
    tables = {"paper": papers, "cites": links}
    schema = pb.Schema(tables, keys=CITES, variables={"paper.topic": [*TOPICS, "ML"]})
    references = {"cites.cited": {"partition": ["paper.topic"], "parents": ["cites.citing.topic"]}}
    fit = pb.learn.relational(schema, tables, {}, references=references, prior=pb.K2())
    learned = fit.model.cpd("cites.cited")
    np.testing.assert_allclose(learned.values[:2], [[3 / 5, 2 / 5, 0], [2 / 6, 4 / 6, 0]])
    assert learned.partition == ("paper.topic",)
    assert fit.log_likelihood == pytest.approx(fit.model.log_likelihood(tables))
    by_hand = 2 * math.log(3 / 5) + math.log(2 / 5) + math.log(2 / 6) + 3 * math.log(4 / 6) - 7 * math.log(3)
    alone = pb.RelationalModel(schema, learned).log_likelihood(tables)
    assert alone == pytest.approx(by_hand)
    both = {"cites.cited": {"partition": ["paper.topic", "paper.year"]}}
    free = pb.learn.relational(schema, tables, {}, references=both).model.cpd("cites.cited")
    chosen = [(papers["topic"][j], papers["year"][j]) for j in links["cited"]]
    for cell, share in zip(free.variable.states, free.values, strict=True):
        assert share == pytest.approx(chosen.count(cell) / 7)


def test_drawn_references_follow_cells_that_were_drawn():
    """A sample draws what references are chosen by, then references, then what goes over them."""
    model = university()
    many = {
        "course": {"id": list(range(30))}, "student": {"id": list(range(300))},
        "registration": {"student": list(range(300)) * 10, "course": [None] * 3000},
    }  # fmt: skip
    drawn = model.sample(many, seed=4)
    level = drawn["course"].set_index("id")["difficulty"]
    wits = drawn["student"].set_index("id")["wits"]
    taken = drawn["registration"]
    hard = (level[taken["course"]].to_numpy() == "hard")[(wits[taken["student"]] == "high").to_numpy()]
    assert abs(hard.mean() - COURSE[1, 1]) < 4 * math.sqrt(COURSE[1, 1] * COURSE[1, 0] / len(hard))
    in_cell = taken["course"][taken["course"].isin(level[level == "hard"].index)].value_counts()
    assert len(in_cell) == (level == "hard").sum()
    assert in_cell.max() < 1.5 * in_cell.mean()
    good = drawn["course"].set_index("id")["rating"][taken["course"]].to_numpy() == "good"
    praised = (taken["praise"] == "yes").to_numpy()[good]
    assert abs(praised.mean() - PRAISE[1, 1]) < 4 * math.sqrt(PRAISE[1, 1] * PRAISE[1, 0] / len(praised))
    assert model.log_likelihood(drawn) < 0


def test_models_with_references_are_values(tmp_path):
    """They are saved, pickled, printed and compared with their partitions."""
    model = university()
    pb.save(model, tmp_path / "university.json")
    for again in (pb.load(tmp_path / "university.json"), pickle.loads(pickle.dumps(model))):
        assert again == model
        assert again.cpd("registration.course").partition == ("course.difficulty",)
        assert float(again.log_likelihood(TABLES)) == float(model.log_likelihood(TABLES))
    other = pb.ReferenceCPD("registration.course", COURSE, ["course.rating"], ["registration.student.wits"])
    assert model.with_cpd(other) != model
    assert "registration.course=hard" in str(model.cpd("registration.course"))
    assert "reference" in str(model)
    assert ("course.difficulty", "registration.course") in {(one.parent, one.child) for one in model.dependencies}
    assert ("registration.course", "registration.grade") in {(one.parent, one.child) for one in model.dependencies}


def test_references_that_cannot_be_are_told():
    """Cycles, partitions of other classes, cells without objects, aggregates over missing references."""
    model = university()
    for partition, parents, error, message in (
        (["student.wits"], [], InvalidModel, "by attributes of 'course'"),
        (["course.difficulty", "course.rating"], [], InvalidCPD, "has 4 cells, but its rows have 2 numbers"),
        (["course.rating"], ["student.wits"], InvalidModel, "can't be a parent"),
        (["course.rating"], ["registration.course.difficulty"], CyclicGraph, "registration.course"),
    ):
        values = COURSE if parents else COURSE[0]
        with pytest.raises(error, match=message):
            pb.RelationalModel(
                model.schema, [*model.cpds[:3], pb.ReferenceCPD("registration.course", values, partition, parents)]
            )
    popular = pb.TableCPD(
        "course.difficulty", [[0.6, 0.4], [0.5, 0.5]], ["exists(course.registration)"], states=LEVELS
    )  # fmt: skip
    with pytest.raises(CyclicGraph, match="for all objects"):
        model.without_cpd("course.difficulty").with_cpd(popular)
    easy = {**TABLES, "course": {**TABLES["course"], "difficulty": ["easy"] * 4}}
    with pytest.raises(InvalidModel, match=r"course.difficulty=hard with probability up to 0.65"):
        model.log_likelihood(easy)
    counted = pb.TableCPD("course.fame", np.eye(2), ["exists(course.registration)"], states=["no", "yes"])
    with pytest.raises(NotSupported, match="not known of all objects"):
        model.with_cpd(counted).log_likelihood(TABLES)
    with pytest.raises(NotSupported, match=r"do= sets 'course\[c1\].difficulty'"):
        model.query("registration[2].course", do={"course[c1].difficulty": "hard"}, tables=TABLES)
    with pytest.raises(NotSupported, match="must be known where its distribution is learned"):
        pb.learn.relational(model, TABLES)
    existence = pb.Schema({"paper": {}, "cites": {}}, keys=CITES, existence="cites")
    with pytest.raises(InvalidModel, match="an end of 'cites', which may exist or not"):
        pb.RelationalModel(existence, pb.ReferenceCPD("cites.cited", [1.0]))


def test_the_partition_and_the_parents_that_drew_references_are_found():
    """Refine and parents of the greedy search: topics matter on both sides, years and lengths do not."""
    rng = np.random.default_rng(3)
    num, links = 80, 600
    topic, year, length = (rng.integers(2, size=num) for _ in range(3))
    citing = rng.integers(num, size=links)
    cells = (rng.random(links) < CITED[topic[citing], 1]).astype(int)
    cited = np.array([rng.choice(np.flatnonzero(topic == cell)) for cell in cells])
    tables = {
        "paper": {"id": range(num), "topic": topic, "year": year, "length": length},
        "cites": {"citing": citing, "cited": cited},
    }
    schema = pb.Schema(tables, keys=CITES)
    fit = pb.learn.relational(schema, tables, {}, references=["cites.cited"], prior=pb.K2(), max_length=1)
    learned = fit.model.cpd("cites.cited")
    assert learned.partition == ("paper.topic",)
    assert learned.parent_names == ("cites.citing.topic",)
    assert "cites.cited is chosen by paper.topic" in str(fit)
    np.testing.assert_allclose(learned.values, CITED, atol=0.08)
    counts = np.zeros((2, 2))
    np.add.at(counts, (topic[citing], topic[cited]), 1)
    k2 = sum(
        math.lgamma(2) - math.lgamma(2 + row.sum()) + sum(math.lgamma(1 + n) for n in row) for row in counts
    )  # fmt: skip
    within = -sum(math.log(np.sum(topic == topic[one])) for one in cited)
    scored = pb.learn.relational(schema, tables, {}, references=["cites.cited"], score="k2", max_length=1)
    assert scored.score == pytest.approx(k2 + within)
    every = pb.learn.relational(schema, tables, {}, references=True, prior=pb.K2(), max_length=1).model
    assert {"cites.citing", "cites.cited"} <= set(every.attributes)
    assert every.is_stratified


def test_a_partition_is_refined_and_abstracted_and_stays_legal():
    """Moves add and remove one attribute of the partition, or one parent; none lets a reference depend on itself."""
    papers = {"id": [0, 1, 2, 3], "topic": [0, 1, 0, 1], "fame": [0, 0, 1, 1]}
    links = {"citing": [0, 1, 2], "cited": [1, 2, 3]}
    schema = pb.Schema({"paper": papers, "cites": links}, keys=CITES)
    instance = Instance.read(schema, {"paper": papers, "cites": links})
    cited = read_reference(schema, "cites.cited", (), ())
    famous = read_family(schema, "paper.fame", ["count(paper.cites~cited)"])
    terms = [read_term("cites.citing.topic", schema), read_term("cites.citing.fame", schema)]
    attributes = [read_term("paper.topic", schema), read_term("paper.fame", schema)]
    free = ReferenceSearch(instance, cited, [], (attributes, terms), "k2", 3)
    state = Choice((0, 1), (0,))
    after = {free.apply(state, move) for move in free.operators(state)}
    assert after == {Choice((1,), (0,)), Choice((0,), (0,)), Choice((0, 1), ()), Choice((0, 1), (0, 1))}
    bound = ReferenceSearch(instance, cited, [famous], (attributes, terms), "k2", 3)
    assert {bound.apply(Choice(), move) for move in bound.operators(Choice())} == {Choice((0,), ()), Choice((), (0,))}


def test_known_references_are_counted_beside_expectation_maximisation():
    """Where other values are missing, a reference whose own family is known keeps its counts."""
    model, rng = university(), np.random.default_rng(0)
    skeleton = {
        "course": {"id": range(40)}, "student": {"id": range(200)},
        "registration": {"student": rng.integers(200, size=1000), "course": [None] * 1000},
    }  # fmt: skip
    data = model.sample(skeleton, seed=1)
    complete = pb.learn.relational(model, data, prior=pb.K2()).model
    data["registration"].loc[rng.random(1000) < 0.3, "grade"] = None
    fit = pb.learn.relational(model, data, prior=pb.K2())
    assert fit.converged
    assert fit.info.exact
    assert fit.model.cpd("registration.course") == complete.cpd("registration.course")
    np.testing.assert_allclose(fit.model.cpd("registration.grade").values, GRADE, atol=0.12)


def test_copies_of_too_many_values_are_refused():
    """A reference to any of thousands of objects, none of whose values is known, would need a table for each pair."""
    many = 4000
    tables = {
        "course": {"id": range(many), "difficulty": ["easy", "hard"] * (many // 2), "rating": [None] * many},
        "student": {"id": ["s"]},
        "registration": {"id": [1], "student": ["s"], "course": [None], "grade": ["A"], "praise": ["yes"]},
    }
    with pytest.raises(TooLarge, match="may be any of 4,000 objects"):
        university().query("registration[1].course", tables=tables)
    known = {**tables, "course": {**tables["course"], "rating": ["good", "bad"] * (many // 2)}}
    easy = 0.5 * (WIT[0] * COURSE[0, 0] * GRADE[0, 0, 0] + WIT[1] * COURSE[1, 0] * GRADE[1, 0, 0]) * PRAISE[1, 1]
    hard = 0.5 * (WIT[0] * COURSE[0, 1] * GRADE[0, 1, 0] + WIT[1] * COURSE[1, 1] * GRADE[1, 1, 0]) * PRAISE[0, 1]
    answer = university().query("registration[1].course", tables=known)
    np.testing.assert_allclose(answer.values[:2], np.array([easy, hard]) / (easy + hard) / (many // 2), rtol=1e-9)


def test_questions_about_one_of_thousands_of_objects_count_their_references():
    """A student with thousands of registrations: the references tell of wits as the product of their cells does."""
    rng = np.random.default_rng(5)
    many, hard = 2500, 900
    order = rng.permutation(np.repeat(["c1", "c2"], [many - hard, hard])).tolist()
    tables = {
        "course": {"id": ["c1", "c3", "c2"], "difficulty": ["easy", "easy", "hard"], "rating": ["good", "bad", "bad"]},
        "student": {"id": ["s"], "wits": [None]},
        "registration": {
            "student": ["s"] * many, "course": order, "grade": [None] * many, "praise": [None] * many,
        },
    }  # fmt: skip
    logs = np.log(WIT) + (many - hard) * np.log([0.52, 0.48]) + hard * np.log([0.48, 0.52])
    even = pb.ReferenceCPD(
        "registration.course", [[0.52, 0.48], [0.48, 0.52]], ["course.difficulty"], ["registration.student.wits"]
    )
    odds = np.exp(logs - logs.max())
    short = {**tables, "registration": {key: cells[:40] for key, cells in tables["registration"].items()}}
    few = order[:40].count("c2")
    part = WIT * np.array([0.52, 0.48]) ** (40 - few) * np.array([0.48, 0.52]) ** few
    model = university().with_cpd(even)
    answer = model.query("student[s].wits", tables=short)
    np.testing.assert_allclose(answer.values, part / part.sum(), rtol=1e-9)
    answer = model.query("student[s].wits", tables=tables)
    np.testing.assert_allclose(answer.values, odds / odds.sum(), rtol=1e-6)
