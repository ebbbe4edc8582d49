"""Pictures as files: SVG that is XML and harmless, figures of matplotlib, which nothing else loads."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib.util import module_from_spec, spec_from_file_location
from itertools import pairwise
from pathlib import Path

import pytest

import plausible as pb
from plausible.errors import InvalidArgument, MissingFile
from plausible.plotting.palette import PALETTE

DOCS = Path(__file__).parents[2] / "docs"
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "<script>alert('&')</script>",
    '"onload="alert(1)',
    "]]><svg/onload=x>",
    "two\nlines\tand\x00control\x1b",
    "emoji 🎲 and \u202eright to left",
    "\ud800 lone surrogate",
    "x" * 3000,
    "$\\frac{1}{0}$ {x} %s",
    "  ",
    "</style><b>",
]


def hostile_network() -> pb.BayesianNetwork:
    return pb.BayesianNetwork(
        pb.TableCPD(name, [0.25, 0.75], states=[f"<{place}>&", f"{name} {place}"]) for place, name in enumerate(HOSTILE)
    )


def test_hostile_names_are_text_and_nothing_else():
    """The file is XML whose elements are ours, and encodes; each name is a tooltip or its beginning is there."""
    picture = hostile_network().picture({HOSTILE[0]: "<0>&"})
    text = picture.svg
    text.encode("utf-8")
    root = ET.fromstring(text)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        *("svg", "style", "g", "title", "rect", "ellipse", "polygon", "path", "text"),
    }
    assert not any(
        name.lower().startswith("on") or "href" in name for element in root.iter() for name in element.attrib
    )
    told = "".join(root.itertext())
    assert "<script>alert('&')</script>" in told
    assert "xxxxxxxxxx…" in told
    assert "$\\frac{1}{0}$ {x} %s" in told
    assert max(map(len, told.splitlines())) < 10_000


@pytest.mark.parametrize("graph", [pb.DAG([("a&b", "<c>")]), pb.PAG([("a&b", "o->", "<c>")])], ids=["DAG", "PAG"])
def test_graphs_with_hostile_names_are_xml(graph):
    """Names of edges are escaped too."""
    root = ET.fromstring(graph.picture().svg)
    labels = [element.get("aria-label") for element in root.iter(f"{SVG}g") if element.get("class") == "edge"]
    assert labels == [f"a&b {'->' if isinstance(graph, pb.DAG) else 'o->'} <c>"]


def test_a_screen_reader_is_told_every_node_with_its_beliefs():
    """Roles and labels stand on the groups; the text is text."""
    root = ET.fromstring(pb.examples.load("asia").picture({"xray": "yes"}).svg)
    assert root.get("role") == "graphics-document"
    groups = [element for element in root.iter(f"{SVG}g") if element.get("class") == "node"]
    assert len(groups) == 8
    assert all(group.get("role") and group.find(f"{SVG}title") is not None for group in groups)
    assert any(str(group.get("aria-label")).startswith("lung: yes 48.9%") for group in groups)
    assert "48.9%" in {element.text for element in root.iter(f"{SVG}text")}


def test_an_svg_has_nothing_from_elsewhere_and_its_own_colours_only():
    """No address but the name of the format; every rule is below the class of the picture; light and dark agree."""
    text = pb.examples.load("asia").picture().svg
    assert re.findall(r"\w+://[^\"' )]*", text) == ["http://www.w3.org/2000/svg"]
    style = re.search(r"<style>(.*?)</style>", text, re.S)[1]
    rules = dict(re.findall(r"([^{}]+)\{([^{}]*)\}", style))
    assert all(".plausible-picture" in rule for rule in rules)
    used = set(re.findall(r'class="([fs]-[a-z-]+)(?: ([fs]-[a-z-]+))?"', text))
    for name in {name for pair in used for name in pair if name}:
        light, dark = PALETTE[name[2:]]
        kind = {"f": "fill", "s": "stroke"}[name[0]]
        assert rules[f".plausible-picture .{name}"] == f"{kind}:{light};{kind}:light-dark({light},{dark})"
    schemes = {rule: told for rule, told in rules.items() if told in ("color-scheme:light", "color-scheme:dark")}
    assert all((told[-4:] == "dark") == ("=dark" in rule) for rule, told in schemes.items())
    assert len(schemes) == 2


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("shade", [0, 1], ids=["light", "dark"])
def test_colours_can_be_told_from_their_ground(shade):
    """WCAG 2.2: text 4.5, what carries meaning 3, on every ground that it stands on."""
    grounds = ["paper", "panel", "plain-light", "seen-light", "set-light", "good-light", "bad-light"]
    for text, ground in [(text, ground) for text in ("ink", "muted") for ground in grounds]:
        assert contrast(PALETTE[text][shade], PALETTE[ground][shade]) >= 4.5, (text, ground)
    for name in ("seen", "set", "good", "bad"):
        assert contrast(PALETTE[name][shade], PALETTE[f"{name}-light"][shade]) >= 4.5, name
    for mark in ("line", "bar", "frame"):
        assert contrast(PALETTE[mark][shade], PALETTE["paper"][shade]) >= 3.0, mark
    assert contrast(PALETTE["bar"][shade], PALETTE["track"][shade]) >= 3.0


def test_pictures_are_saved_in_the_format_of_the_ending(tmp_path):
    """SVG, PNG and PDF begin as such files do; what can't be written is told."""
    picture = pb.examples.load("asia").picture()
    begins = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}
    for ending, start in begins.items():
        assert picture.save(tmp_path / f"asia.{ending}").read_bytes().startswith(start)
    with pytest.raises(InvalidArgument, match=r"ending of 'asia' says no format"):
        picture.save("asia")
    with pytest.raises(InvalidArgument, match=r"No pictures are written as '\.doc'"):
        picture.save(tmp_path / "asia.doc")
    with pytest.raises(MissingFile, match="no folder"):
        picture.save(tmp_path / "nowhere" / "asia.svg")


def test_axes_hold_the_same_marks_and_texts(tmp_path):
    """Every text of the picture, hostile ones included, is a text of the axes; all lie within its limits."""
    from plausible.plotting.axes import new_figure

    picture = hostile_network().picture()
    axes = picture.to_axes(new_figure(600, 400).add_subplot())
    written = [text.get_text() for text in axes.texts]
    told = [item.text for part in picture.parts for item in part.items if hasattr(item, "text")]
    assert written == told
    assert axes.get_ylim() == (picture.height, 0)
    assert pb.DAG("A -> B").picture().to_axes(dark=True).figure is not None


def test_texts_in_another_font_are_no_wider_than_the_picture_takes_them_to_be(monkeypatch):
    """Where none of the fonts is there that texts are measured in, wider letters are set smaller."""
    from plausible.plotting import axes as axes_of_pictures
    from plausible.plotting.axes import new_figure
    from plausible.plotting.measuring import known_width

    monkeypatch.setattr(axes_of_pictures, "_font", lambda: None)
    picture = pb.examples.load("asia").picture({"xray": "yes"})
    axes = picture.to_axes(new_figure(9 * picture.width, 9 * picture.height).add_subplot())
    told = [item for part in picture.parts for item in part.items if hasattr(item, "text")]
    for item, text in zip(told, axes.texts, strict=True):
        width = text.get_window_extent().transformed(axes.transData.inverted()).width
        known = known_width(item.text, item.size, item.is_bold)
        assert known / 2 < width < 1.03 * known, item.text


def test_svg_loads_no_matplotlib_and_computing_loads_no_pictures():
    """In a fresh process."""
    program = (
        "import sys, plausible as pb; net = pb.examples.load('asia'); net.query('lung', {'xray': 'yes'});"
        "assert 'plausible.plotting' not in sys.modules, 'plotting';"
        "net.picture({'xray': 'yes'}).svg; assert 'matplotlib' not in sys.modules, 'matplotlib'"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_picture_tells_itself():
    """As text, in plain types, and by a short name in a shell."""
    picture = pb.examples.load("asia").picture({"xray": "yes"})
    assert "lung: yes 48.9% (before 5.5%), no 51.1% (before 94.5%)" in str(picture).splitlines()
    assert repr(picture).startswith("<Picture: ")
    assert picture.to_dict()["parts"]
    assert all(before.kind != "node" or after.kind != "edge" for before, after in pairwise(picture.parts))


@pytest.mark.parametrize("maker", ["pictures", pytest.param("pictures_of_tutorials", marks=pytest.mark.slow)])
def test_the_pictures_of_the_documentation_are_what_the_code_draws(maker):
    """Run `python docs/make_pictures.py` after a change of their look, or of a tutorial."""
    spec = spec_from_file_location("make_pictures", DOCS / "make_pictures.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    for file, picture in getattr(module, maker)().items():
        assert (DOCS / "pictures" / file).read_text(encoding="utf-8") == picture.svg, file
