"""The pages that people read hang together: links lead somewhere, and the site has a place for every page."""

from __future__ import annotations

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
PAGES = [*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md")]
_LINK = re.compile(r"\]\(([^()\s]+)\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def maker():
    """The script that writes the sources of the site."""
    spec = spec_from_file_location("make_site", PROJECT / "docs" / "make_site.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("make_reference", None)


@pytest.fixture(scope="module")
def sources(maker, tmp_path_factory):
    """A folder with all that the site is made from."""
    folder = tmp_path_factory.mktemp("site") / "sources"
    maker.write_sources(folder)
    return folder


def _links(text: str) -> list[str]:
    """The links of a page that stay in the project."""
    links = _LINK.findall(re.sub(r"`[^`\n]*`", "", _FENCE.sub("", text)))
    return [link for link in links if not re.match(r"https?:|mailto:", link)]


def _anchors(text: str) -> set[str]:
    """What `#...` may name on a page: its headings, as renderers of Markdown spell them, and anchors set by hand."""
    heads = re.findall(r"^#+ (.+)$", _FENCE.sub("", text), re.MULTILINE)
    plain = [re.sub(r"[^\w\s-]", "", head.replace("`", "").lower()) for head in heads]
    return {re.sub(r"\s+", "-", head.strip()) for head in plain} | set(re.findall(r"\{ #([\w-]+) \}", text))


def _broken(page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    broken = []
    for link in _links(page.read_text(encoding="utf-8")):
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        is_there = target.exists()
        if not is_there or (anchor and anchor not in _anchors(target.read_text(encoding="utf-8"))):
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
