"""`plausible compile`: machine code of all kernels, made beforehand."""

from __future__ import annotations

import json

import numpy as np

from plausible.kernels import machine_code, vectors


def test_what_is_called_is_compiled(plausible, monkeypatch):
    """Processes of their own leave machine code on disk; the folder is told, and what is there is not made again."""
    monkeypatch.setattr("plausible.cli.compile.use_all_kernels", lambda: vectors.total_of(np.ones(2)))
    code, text, errors = plausible("compile", "--processes", "1", "--json")
    told = json.loads(text)
    assert (code, errors) == (0, "")
    assert told["kernels"] in (["total_of"], [])  # it may be there from an earlier run
    assert "vectors.total_of" in machine_code.compiled_names()
    assert json.loads(plausible("compile", "--json")[1])["kernels"] == []


def test_without_a_folder_it_says_how_to_name_one(plausible, monkeypatch):
    """Nothing can be kept, so nothing is compiled."""
    monkeypatch.setattr(machine_code, "_is_writable", lambda folder: False)
    code, _, errors = plausible("compile")
    assert code == 2
    assert "NUMBA_CACHE_DIR" in errors
