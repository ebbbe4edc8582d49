"""Examples in the docs may write files: each runs in a folder of its own."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator
from importlib.util import find_spec

import pytest

#: Its class derives from one of a library that need not be there.
collect_ignore = [] if find_spec("anywidget") else ["src/plausible/plotting/widget.py"]

# Matrices are small here, and threads that wait for one another would take three quarters of the processor's time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@pytest.fixture(autouse=True)
def _in_a_scratch_folder(request: pytest.FixtureRequest) -> None:
    """Only the examples ask for a folder: making one for each of 20,000 tests would take a minute."""
    if isinstance(request.node, pytest.DoctestItem):
        request.getfixturevalue("monkeypatch").chdir(request.getfixturevalue("tmp_path"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What collection makes lives to the end: the garbage collector need not look through it, then or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
