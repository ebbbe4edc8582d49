"""What is published: one version everywhere, extras with code behind them, and a wheel that works on its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

import plausible

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: Extras for those who work on the library itself.
FOR_DEVELOPERS = {"bench", "dev", "docs"}


def test_the_version_is_the_same_wherever_it_stands():
    """In the citation and as the newest release of the changelog, with the same date."""
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    version = re.search(r"^version: (.+)$", citation, re.MULTILINE)[1]
    date = re.search(r"^date-released: (.+)$", citation, re.MULTILINE)[1]
    assert re.findall(r"^## (.+)$", changelog, re.MULTILINE)[:2] == ["Unreleased", f"{version} - {date}"]
    assert version == plausible.__version__
    assert "version" in PROJECT["dynamic"]


@pytest.mark.parametrize("extra", sorted(PROJECT["optional-dependencies"].keys() - FOR_DEVELOPERS))
def test_an_extra_names_only_libraries_that_the_code_imports(extra):
    """Whoever installs it gets nothing that no line of the package asks for."""
    code = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "src").rglob("*.py"))
    for requirement in PROJECT["optional-dependencies"][extra]:
        library = re.match(r"[\w-]+", requirement)[0].replace("-", "_")
        assert re.search(rf"""import {library}\b|from {library}\b|import_module\(["']{library}\b""", code), library


def test_an_error_that_names_an_extra_names_one_that_exists():
    """`pip install "plausible[...]"` in messages and docs works."""
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    named = re.findall(r"plausible\[(\w+)\]", text) + re.findall(r'extra\("\w+", "(\w+)"\)', text)
    assert set(named) >= {"plot", "scale", "xarray"}
    assert set(named) <= set(PROJECT["optional-dependencies"])


PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
FENCED = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_examples_in_the_docs_stand_in_fences(path):
    """Elsewhere >>> is a quotation of a quotation of a quotation; an example ends before its fence."""
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"^>>> .*", FENCED.sub("", text), re.MULTILINE) == []
    assert all(block.endswith("\n\n") for block in FENCED.findall(text) if ">>> " in block)


# --- the wheel ---


def _run(*command: str | Path, folder: Path) -> str:
    """What a command prints in an empty folder, without this checkout on its path."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built as a release builds it."""
    folder = tmp_path_factory.mktemp("wheel")
    _run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT, folder=folder)
    return next(folder.glob("*.whl"))


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    """All sources, stubs, `py.typed` and examples; no caches, no compiled code; version and extras of the project."""
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if not name.startswith("plausible-")}
        metadata = message_from_bytes(archive.read(f"plausible-{plausible.__version__}.dist-info/METADATA"))
    source = ROOT / "src"
    files = {file.relative_to(source).as_posix() for file in source.rglob("*.*") if file.is_file()}
    assert packed == {
        name
        for name in files
        if name.endswith((".py", ".pyi", ".json", "py.typed", ".js", ".css", ".txt", ".html", ".svg"))
    }
    assert {"plausible/__init__.pyi", "plausible/py.typed", "plausible/examples/networks/asia.json"} <= packed
    assert metadata["Version"] == plausible.__version__
    assert set(metadata.get_all("Provides-Extra")) == set(PROJECT["optional-dependencies"])
    assert metadata["License-File"] == "LICENSE"


@pytest.mark.slow
def test_the_wheel_works_in_an_environment_of_its_own(wheel, tmp_path):
    """Installed with nothing but what it depends on: import, an example, a question, a file, the shell."""
    _run(sys.executable, "-m", "venv", "env", folder=tmp_path)
    programs = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin")
    _run(programs / "python", "-m", "pip", "install", "--quiet", wheel, folder=tmp_path)
    script = (
        "import plausible as pb\n"
        "asia = pb.examples.load('asia')\n"
        "pb.save(asia, 'asia.bif')\n"
        "answer = pb.load_network('asia.bif').query('lung', evidence={'xray': 'yes'})\n"
        "print(pb.__version__, pb.__file__, round(answer['yes'], 6))"
    )
    version, file, probability = _run(programs / "python", "-c", script, folder=tmp_path).split()
    assert version == plausible.__version__
    assert Path(file).is_relative_to(tmp_path / "env")
    assert probability == f"{0.055 * 0.98 / (0.064828 * 0.98 + 0.935172 * 0.05):.6f}"  # P(lung, xray) / P(xray)
    assert version in _run(programs / "plausible", "--version", folder=tmp_path)
    assert probability in _run(programs / "plausible", "query", "asia.bif", "lung", "-e", "xray=yes", folder=tmp_path)
    assert "bronchitis" in _run(programs / "plausible", "demo", folder=tmp_path)
