"""The pages that people read hang together: links lead somewhere, names exist, numbers are those that were measured."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import plausible

PROJECT = Path(__file__).parents[1]
PAGES = [*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md")]
_LINK = re.compile(r"\]\(([^()\s]+)\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def maker():
    """The script that writes the sources of the site."""
    sys.path.insert(0, str(PROJECT / "docs"))
    yield import_module("make_site")
    sys.path.remove(str(PROJECT / "docs"))
    for name in ("make_site", "make_reference", "make_benchmarks", "make_tour", "docstrings"):
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def sources(maker, tmp_path_factory):
    """A folder with all that the site is made from."""
    folder = tmp_path_factory.mktemp("site") / "sources"
    maker.write_sources(folder)
    return folder


@pytest.fixture(scope="module")
def benchmarks(maker):
    """The script that tells what was measured."""
    return maker.make_benchmarks


def _links(text: str) -> list[str]:
    """The links of a page that stay in the project."""
    links = _LINK.findall(re.sub(r"`[^`\n]*`", "", _FENCE.sub("", text)))
    return [link for link in links if not re.match(r"https?:|mailto:", link)]


@cache
def _anchors(page: Path) -> set[str]:
    """What `#...` may name on a page: its headings, as renderers of Markdown spell them, and anchors set by hand."""
    text = page.read_text(encoding="utf-8")
    heads = re.findall(r"^#+ (.+)$", _FENCE.sub("", text), re.MULTILINE)
    plain = [re.sub(r"[^\w\s-]", "", head.replace("`", "").lower()) for head in heads]
    return {re.sub(r"\s+", "-", head.strip()) for head in plain} | set(re.findall(r"\{ #([\w.-]+) ", text))


def _broken(page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    broken = []
    for link in _links(page.read_text(encoding="utf-8")):
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        is_there = target.exists()
        if not is_there or (anchor and anchor not in _anchors(target.resolve())):
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_every_link_of_a_page_leads_somewhere(page):
    assert _broken(page) == []


def test_every_link_of_the_site_leads_to_a_page_of_it(sources):
    assert {str(page.relative_to(sources)): _broken(page) for page in sources.rglob("*.md") if _broken(page)} == {}


def test_the_site_has_a_place_for_each_page_and_no_other(sources):
    listed = re.findall(r"[\w/]+\.md$", (PROJECT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(str(page.relative_to(sources)) for page in sources.rglob("*.md"))


def _is_there(name: str) -> bool:
    """Whether a name that begins with `pb.` can be had; what follows a class or function is its own."""
    thing = plausible
    for part in name.split(".")[1:]:
        thing = getattr(thing, part, None)
    return thing is not None


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.stem not in ("CHANGELOG", "reference")], ids=lambda page: page.stem
)
def test_names_that_a_page_speaks_of_exist(page):
    """Those in prose and tables; examples are run anyway."""
    told = re.findall(r"`[^`\n]*`", _FENCE.sub("", page.read_text(encoding="utf-8")))
    names = {name for code in told for name in re.findall(r"\bpb(?:\.[A-Za-z_]\w*)+", code)}
    assert [name for name in sorted(names) if not _is_there(name)] == []


@pytest.mark.parametrize("page", sorted(PROJECT.glob("docs/coming_from/*.md")), ids=lambda page: page.stem)
def test_what_is_shown_of_other_libraries_is_python(page):
    """`python docs/run_peers.py` runs it, where they are installed."""
    blocks = re.findall(r"^```python\n(?!>>> )(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert all(ast.parse(block).body for block in blocks)


def test_every_comparison_finds_its_numbers(benchmarks):
    """A column that was renamed would leave none."""
    assert [one.task for one in benchmarks.COMPARISONS if not one.ratios()] == []


def test_the_readme_tells_what_was_measured_last(benchmarks):
    """`python docs/make_benchmarks.py` writes its table."""
    (shown,) = benchmarks.IN_README.findall((PROJECT / "README.md").read_text(encoding="utf-8"))
    assert shown == benchmarks.table_of_readme(), "the table of the README is out of date: run docs/make_benchmarks.py"


def test_tables_of_results_are_read_by_their_columns(benchmarks, tmp_path, monkeypatch):
    """Cells may be empty, names come twice, and prose stand between."""
    (tmp_path / "results").mkdir()
    lines = [
        "Python 3.11.7, x86_64",
        "task    s  peer s    s",
        " a b  0.5     > 2     ",
        "  cd  2.0       -  1.5",
        "a note",
    ]
    (tmp_path / "results" / "some.txt").write_text("\n".join(lines))
    monkeypatch.setattr(benchmarks, "BENCHMARKS", tmp_path)
    table, note = benchmarks.pieces_of("some")
    assert (table.rows, note) == ((("a b", "0.5", "> 2", ""), ("cd", "2.0", "-", "1.5")), "a note")
    assert [table.column(name) for name in ("s", "s#2", "peer s", "s#3", "t")] == [1, 3, 2, None, None]
    (ratio,) = benchmarks.Comparison("", "", "some", "s", "peer s").ratios()
    assert (ratio.what, ratio.value, ratio.is_bound) == ("a b", 4.0, True)


def test_docstrings_become_markdown(maker):
    """Sections, tables and examples in their own forms; signs of Markdown in prose are signs no more."""
    text = maker.markdown_of(
        "Claim: a*b of <x> and `c*d`.\n\n"
        "====  ======\nname  what\n====  ======\na     one |\n      two\nb     three\n====  ======\n\n"
        "Parameters\n----------\nrows\n    What is read.\n\n    More.\n\nExamples\n--------\n>>> 1 + 1\n2\n"
    )
    assert text == (
        "Claim: a\\*b of \\<x> and `c*d`.\n\n| name | what |\n|---|---|\n| a | one \\| two |\n| b | three |\n\n"
        "**Parameters**\n\n- `rows`\n\n    What is read.\n\n    More.\n\n**Examples**\n\n```pycon\n>>> 1 + 1\n2\n```"
    )
