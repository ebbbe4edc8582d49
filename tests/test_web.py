"""What pages are built from and what is built agree; pages run nothing that a model's names could smuggle in."""

from __future__ import annotations

import json
import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted(file for file in (ROOT / "web" / "src").rglob("*") if file.is_file())


@pytest.fixture(scope="module")
def maker():
    """The script that writes the manifest."""
    spec = spec_from_file_location("web_manifest", ROOT / "web" / "manifest.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_is_built_is_of_these_sources(maker):
    """Neither the sources nor the built files have changed since `make web`."""
    written = json.loads((maker.ROOMS / "plotting" / "static" / "manifest.json").read_text(encoding="utf-8"))
    assert maker.manifest() == written, "web has changed: run make web, which needs node"


@pytest.mark.parametrize(("folder", "most"), [("plotting/static", 100_000), ("studio/static", 300_000)])
def test_pages_are_small(maker, folder, most):
    """Every widget sends its module to its page."""
    assert sum((maker.ROOMS / folder / name).stat().st_size for name in maker.BUILT[folder]) < most


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: file.name)
def test_names_are_only_ever_text(file):
    """Nothing in the sources makes markup, styles or code of text: a strict policy lets the page work."""
    text = file.read_text(encoding="utf-8")
    assert (
        re.findall(r"@html|innerHTML|outerHTML|insertAdjacentHTML|\beval\b|new Function|\bstyle=|https?://", text) == []
    )


def test_nothing_is_asked_from_elsewhere(maker):
    """What the module names are name spaces of XML and the pages where Svelte describes its errors."""
    for folder, (style, module) in maker.BUILT.items():
        named = set(re.findall(r"https?://([\w.]+)", (maker.ROOMS / folder / module).read_text(encoding="utf-8")))
        assert named <= {"www.w3.org", "svelte.dev"}
        assert re.findall(r"https?://|@import|url\(", (maker.ROOMS / folder / style).read_text(encoding="utf-8")) == []


def test_versions_are_exact_and_from_no_registry_in_particular():
    """What builds today builds tomorrow; whoever builds chooses where packages come from."""
    wanted = json.loads((ROOT / "web" / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    lock = json.loads((ROOT / "web" / "package-lock.json").read_text(encoding="utf-8"))
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in wanted.values())
    assert all("resolved" not in package for package in lock["packages"].values())
    packaged = {name: lock["packages"][f"node_modules/{name}"]["version"] for name in wanted}
    assert packaged == wanted


def test_libraries_within_the_module_are_named_with_their_licences(maker):
    """Of the version that is built in."""
    lock = json.loads((ROOT / "web" / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    notice = (maker.ROOMS / "plotting" / "static" / "THIRD_PARTY.txt").read_text(encoding="utf-8")
    for name, title in (("svelte", "Svelte"), ("clsx", "clsx")):
        assert f"{title} {lock[f'node_modules/{name}']['version']}\n" in notice
        assert lock[f"node_modules/{name}"]["license"] == "MIT"
    assert notice.count("Permission is hereby granted, free of charge") == 2
