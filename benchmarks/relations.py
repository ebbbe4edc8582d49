"""Relational models: how grounding, counting and inference grow, beside pyAgrum's O3PRM and a flat join of the tables.

CPU seconds, the least of several runs where they are short. The university: students with hidden wits, courses, and
registrations with grades that depend on both; ten registrations a student.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import plausible as pb
from benchmarks.report import table

WITS, DIFFICULTY, GRADES = ["low", "high"], ["easy", "hard"], ["A", "B", "C"]
GRADE = np.array([[[0.3, 0.4, 0.3], [0.1, 0.3, 0.6]], [[0.8, 0.15, 0.05], [0.5, 0.3, 0.2]]])
PARENTS = ["registration.student.wits", "registration.course.difficulty"]
KEYS = {"registration.student": "student", "registration.course": "course"}


def run() -> str:
    """Growth with the number of rows, then the same model in pyAgrum, then the tables joined into one."""
    grown = table(["rows", "read", "log P", "parameters", "hidden wits", "EM step"], [_growth(n) for n in SIZES])
    beside = table(
        ["registrations", "task", "plausible s", "pyAgrum s", "times as fast"],
        [row for n in (300, 3000) for row in _beside_pyagrum(n)],
    )
    joined = table(["registrations", "plausible s", "pandas join and counts s", "times as fast"], [_beside_join(10**6)])
    return "\n\n".join([grown, beside, joined])


SIZES = (10**4, 10**5, 10**6)


def university(num: int) -> tuple[pb.RelationalModel, dict[str, dict[str, Any]]]:
    """The model, and tables of objects with so many registrations."""
    rng = np.random.default_rng(0)
    students, courses = num // 10, max(num // 100, 1)
    tables: dict[str, dict[str, Any]] = {
        "student": {"id": np.arange(students)},
        "course": {"id": np.arange(courses)},
        "registration": {
            "id": np.arange(num),
            "student": rng.integers(students, size=num),
            "course": rng.integers(courses, size=num),
        },
    }
    schema = pb.Schema({name: {} for name in tables}, keys=KEYS)
    model = pb.RelationalModel(
        schema,
        [
            pb.TableCPD("student.wits", [0.6, 0.4], states=WITS),
            pb.TableCPD("course.difficulty", [0.5, 0.5], states=DIFFICULTY),
            pb.TableCPD("registration.grade", GRADE, PARENTS, states=GRADES),
        ],
    )
    return model, tables


def _growth(num: int) -> list[object]:
    model, skeleton = university(num)
    tables = model.sample(skeleton, seed=1)
    hidden = {**tables, "student": tables["student"].drop(columns=["wits"])}
    known, unknown = model.read(tables), model.read(hidden)
    two = _cpu(lambda: pb.learn.relational(model, unknown, prior=pb.K2(), max_steps=2))
    one = _cpu(lambda: pb.learn.relational(model, unknown, prior=pb.K2(), max_steps=1))
    return [
        num,
        _cpu(lambda: model.read(tables)),
        _cpu(lambda: model.log_likelihood(known)),
        _cpu(lambda: pb.learn.relational(model, known, prior=pb.K2())),
        _cpu(lambda: model.predict_proba(unknown, "student.wits")),
        two - one,
    ]


def _beside_pyagrum(num: int) -> list[list[object]]:
    model, skeleton = university(num)
    tables = model.sample(skeleton, seed=1)
    tables["student"] = tables["student"].drop(columns=["wits"])
    instance, evidence = model.read(tables), model.evidence(tables)
    ours = model.predict_proba(instance, "student.wits").to_numpy()
    own = {
        "ground": _cpu(lambda: model.ground(model.read(skeleton))),
        "all hidden wits, given grades": _cpu(lambda: model.predict_proba(model.read(tables), "student.wits")),
    }
    if not find_spec("pyagrum"):
        return [[num, task, seconds, None, None] for task, seconds in own.items()]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "university.o3prm")
        path.write_text(_o3prm(skeleton), encoding="utf-8")
        theirs, seconds = _pyagrum(path, evidence, len(ours))
    np.testing.assert_allclose(ours, theirs, atol=1e-6)
    return [[num, task, own[task], seconds[task], seconds[task] / own[task]] for task in own]


def _pyagrum(path: Path, evidence: Mapping[str, Any], num_students: int) -> tuple[Any, dict[str, float]]:
    """What pyAgrum believes of all students, and how long grounding and inference take it."""
    import pyagrum as gum
    import pyagrum.prm

    def ground() -> Any:
        return gum.loadBN(str(path), system="University")

    def infer() -> Any:
        network = ground()
        engine = gum.LazyPropagation(network)
        engine.setEvidence({_their_name(name): state for name, state in evidence.items()})
        for place in range(num_students):
            engine.addTarget(f"s{place}.wits")
        engine.makeInference()
        return np.array([engine.posterior(f"s{place}.wits").tolist() for place in range(num_students)])

    return infer(), {"ground": _cpu(ground), "all hidden wits, given grades": _cpu(infer)}


def _their_name(name: str) -> str:
    owner, rest = name.split("[")
    place, attribute = rest.split("].")
    return f"{owner[0]}{place}.{attribute}"


def _o3prm(skeleton: Mapping[str, Mapping[str, Any]]) -> str:
    """The university in the language of pyAgrum."""
    cells = ", ".join(f"{number:g}" for number in GRADE.transpose(2, 0, 1).ravel())  # a row for each state of the child
    lines = [
        f"type t_wits labels({', '.join(WITS)});",
        f"type t_difficulty labels({', '.join(DIFFICULTY)});",
        f"type t_grade labels({', '.join(GRADES)});",
        "class Student { t_wits wits { [0.6, 0.4] }; }",
        "class Course { t_difficulty difficulty { [0.5, 0.5] }; }",
        "class Registration { Student student; Course course;",
        f"  t_grade grade dependson student.wits, course.difficulty {{ [{cells}] }}; }}",
        "system University {",
    ]
    lines += [f"Student s{place};" for place in skeleton["student"]["id"]]
    lines += [f"Course c{place};" for place in skeleton["course"]["id"]]
    registration = skeleton["registration"]
    for place, student, course in zip(registration["id"], registration["student"], registration["course"], strict=True):
        lines += [f"Registration r{place};", f"r{place}.student = s{student};", f"r{place}.course = c{course};"]
    return "\n".join([*lines, "}"])


def _beside_join(num: int) -> list[object]:
    """Counts of grades by what students and courses are: over references, and over one joined table."""
    model, skeleton = university(num)
    tables = model.sample(skeleton, seed=1)
    counts: dict[str, Any] = {}

    def join() -> None:
        flat = tables["registration"].merge(tables["student"], left_on="student", right_on="id")
        flat = flat.merge(tables["course"], left_on="course", right_on="id")
        counts["pandas"] = flat.groupby(["wits", "difficulty", "grade"], observed=True).size()

    def learn() -> None:
        counts["ours"] = pb.learn.relational(model, tables, prior=None).model.cpd("registration.grade").values

    own, other = _cpu(learn), _cpu(join)
    joint = np.array([[[counts["pandas"][w, d, g] for g in GRADES] for d in DIFFICULTY] for w in WITS], dtype=float)
    np.testing.assert_allclose(counts["ours"], joint / joint.sum(axis=-1, keepdims=True))
    return [num, own, other, other / own]


def _cpu(work: Callable[[], object]) -> float:
    """The least CPU seconds of runs that together take two seconds, or of one."""
    least, total = float("inf"), 0.0
    while total < 2.0:
        begin = time.process_time()
        work()
        seconds = time.process_time() - begin
        least, total = min(least, seconds), total + max(seconds, 0.02)
    return least
