"""The reference page lists all that is public."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import plausible

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def maker():
    """The script that writes the page."""
    spec = spec_from_file_location("make_reference", DOCS / "make_reference.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("make_reference", None)


def test_the_page_is_what_the_code_says(maker):
    """Writing the page again changes nothing."""
    written = (DOCS / "reference.md").read_text(encoding="utf-8")
    assert maker.reference() == written, "docs/reference.md is out of date: run python docs/make_reference.py"


def test_every_public_name_has_its_line(maker):
    """Each name of each room stands on the page once, under its short name if it has one."""
    lines = [line.split("`")[1].partition("(")[0] for line in maker.reference().splitlines() if line.startswith("- `")]
    expected = [
        f"pb.{name}" if getattr(plausible, name, None) is getattr(module, name) else f"pb.{room}.{name}"
        for room in maker.ROOMS
        for module in [import_module(f"plausible.{room}")]
        for name in module.__all__
        if not inspect.ismodule(getattr(module, name))
    ]
    assert sorted(lines) == sorted(expected)
    rooms = set(maker.ROOMS)
    assert {f"pb.{name}" for name in plausible.__all__ if name not in rooms | {"__version__"}} <= set(lines)


def test_every_folder_with_public_names_has_a_section(maker):
    """One finds by topic what there is: each name of a folder stands between the folder's heading and the next."""
    sections = re.split(r"^##", maker.reference(), flags=re.MULTILINE)
    folders = {path.parent for path in Path(plausible.__file__).parent.glob("*/*/__init__.pyi")}
    assert len(folders) > 40
    for room, folder in ((path.parent.name, path.name) for path in folders):
        (section,) = [text for text in sections if text.partition("\n")[0].endswith(f": `pb.{room}.{folder}`")]
        told = {
            re.split(r"[(`]", line)[1].rpartition(".")[2] for line in section.splitlines() if line.startswith("- `")
        }
        assert told == set(import_module(f"plausible.{room}.{folder}").__all__)


def test_every_room_has_a_section(maker):
    """A room of the top level can't be forgotten."""
    rooms = {name for name in plausible.__all__ if inspect.ismodule(getattr(plausible, name))}
    assert rooms == set(maker.ROOMS)


def _parameters(call):
    """(name, whether it has a default) of the parameters in a text such as "(a, *, b=1, ...)", by Python's parser."""
    inside = re.sub(r"(^|, )(\*, )?\.\.\.$", "", call[1:-1])
    found = ast.parse(f"def call({inside}): pass").body[0].args
    plain = [argument.arg for argument in found.args]
    bare = len(plain) - len(found.defaults)
    named = [
        (argument.arg, default is not None)
        for argument, default in zip(found.kwonlyargs, found.kw_defaults, strict=True)
    ]
    return [*((name, place >= bare) for place, name in enumerate(plain)), *named]


def test_every_function_is_listed_with_the_parameters_that_it_takes(maker):
    """By name, in their order, each with a default exactly if it has one; what does not fit on the line is cut."""
    codes = [line.split("`")[1] for line in maker.reference().splitlines() if line.startswith("- `")]
    calls = {name: bracket + rest for name, bracket, rest in (code.partition("(") for code in codes)}
    assert max(map(len, codes)) <= maker.WIDTH
    for room in maker.ROOMS:
        module = import_module(f"plausible.{room}")
        for name in (name for name in module.__all__ if inspect.isfunction(getattr(module, name))):
            call = calls[f"pb.{room}.{name}"] if f"pb.{room}.{name}" in calls else calls[f"pb.{name}"]
            taken = inspect.signature(getattr(module, name)).parameters.values()
            named = [p for p in taken if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
            expected = [(parameter.name, parameter.default is not parameter.empty) for parameter in named]
            found = _parameters(call)
            assert found == (expected[: len(found)] if call.endswith((", ...)", "(...)")) else expected)


def test_a_call_is_written_as_it_is_made(maker):
    def study(a, /, b, *, c=1, d="x" * 50, e=print, **more): ...

    study.__module__ = "plausible.study"
    assert maker.call_of("pb.study", study) == "(a, b, *, c=1, d=..., e=..., **more)"
    assert maker.call_of("pb." + "s" * 75, study) == "(a, b, ...)"
    assert maker.call_of("pb." + "s" * 85, study) == "(...)"
    assert maker.call_of("pb.errors.InvalidArgument", plausible.errors.InvalidArgument) == ""
    page = maker.reference()
    assert "- `pb.decisions.utility_tornado(diagram, amount=0.1, numbers=None, evidence=None, ...)`:" in page


def test_the_everyday_names_are_about_sixty_and_exist(maker):
    """Tier one of the public surface: each of them is there, and stands in the list once."""
    names = " ".join(maker.EVERYDAY.values()).split()
    assert 55 <= len(names) <= 65
    assert len(set(names)) == len(names)
    assert all(inspect.getdoc(maker.named(name)) for name in names)


def test_common_options_are_told_once(maker):
    """A text that many docstrings had stands in one table of the reference."""
    page = maker.reference()
    assert all(f"=` | {text} |" in page for text in maker.COMMON_OPTIONS.values())
    assert "| `seed=` |" in page
    assert "| `sequence=`, `time=`, `gaps=` |" in page


def _common_options(thing, maker):
    named = inspect.signature(thing).parameters.values() if inspect.isfunction(thing) else ()
    taken = {each.name for each in named if each.kind != each.VAR_KEYWORD}
    return sorted(
        name for options in maker.COMMON_OPTIONS if taken >= {*(names := options.split(", "))} for name in names
    )


def test_help_tells_each_common_option_once(maker):
    """Of functions of the lazy rooms and of questions of networks, in the part on parameters."""
    rooms = [getattr(plausible, room) for room in ("learn", "inference", "causal", "utilities", "decisions", "graphs")]
    functions = [getattr(room, name) for room in rooms for name in room.__all__]
    questions = ["query", "marginals", "log_probability", "mpe", "map", "k_best", "sample", "explain"]
    functions += [getattr(plausible.BayesianNetwork, name) for name in questions]
    functions += [getattr(plausible.LinearDynamicalSystem, name) for name in ("filter", "log_likelihood", "forecast")]
    with_options = [thing for thing in functions if _common_options(thing, maker)]
    assert len(with_options) > 100
    for thing in with_options:
        parameters = inspect.getdoc(thing).partition("Parameters\n----------\n")[2].partition("\n\n")[0]
        told = [name for line in parameters.splitlines() if line[:1].strip() for name in line.split(", ")]
        assert all(told.count(name) == 1 for name in _common_options(thing, maker)), thing
