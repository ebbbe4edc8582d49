"""The program as the tests of its commands call it."""

from __future__ import annotations

import io

import pytest

from plausible.cli import main


@pytest.fixture
def plausible(capsys, monkeypatch):
    """Run the program with nothing to read from its input, or with `piped`; gives exit code, output and errors.

    A page that would be served until Ctrl-C is announced only: tests/studio serves it.
    """
    monkeypatch.setattr("sys.stdin", _input(b""))
    monkeypatch.setattr("plausible.studio.server.listen", lambda desk, port, announce, *_: announce("http://page"))
    monkeypatch.setattr("plausible.cli.studio.end_at_once", lambda: None)

    def run(*arguments: str, piped: bytes = b"") -> tuple[int, str, str]:
        with monkeypatch.context() as during:
            if piped:
                during.setattr("sys.stdin", _input(piped))
            with pytest.raises(SystemExit) as stop:
                main(arguments)
        captured = capsys.readouterr()
        return int(stop.value.code or 0), captured.out, captured.err

    return run


def _input(data: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BufferedReader(io.BytesIO(data)))


@pytest.fixture
def small_chunks(monkeypatch):
    """Tables go through the commands three rows at a time."""
    monkeypatch.setattr("plausible.cli.tables._MAX_ROWS", 3)
