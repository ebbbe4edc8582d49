"""The program `plausible studio`: one line with the address, errors that say what to do, and Ctrl-C at once."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from itertools import combinations

import httpx
import numpy as np
import pytest

import plausible as pb

ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/#([\w-]{20,})\n")
_STUDIO = [sys.executable, "-m", "plausible", "studio", "--no-browser"]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are sent as on Unix")


class Program:
    """The program as somebody starts it in a terminal."""

    def __init__(self, *arguments: str) -> None:
        self._running = subprocess.Popen(
            [*_STUDIO, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.line = self._running.stdout.readline()
        self.port, self.token = ADDRESS.fullmatch(self.line).groups()

    def ask(self, question: str, **fields):
        body = json.dumps({"question": question, **fields})
        headers = {"x-plausible-token": self.token}
        return httpx.post(f"http://127.0.0.1:{self.port}/ask", content=body, headers=headers, timeout=60).json()

    def end(self) -> tuple[int, str, str, float]:
        """Ctrl-C: how it ended, what else it said, and after how many seconds."""
        began = time.monotonic()
        self._running.send_signal(signal.SIGINT)
        try:
            out, err = self._running.communicate(timeout=20)
        finally:
            self._running.kill()
        return self._running.returncode, out, err, time.monotonic() - began


def test_it_prints_its_address_answers_there_and_ends_with_control_c():
    """One line, which is true as soon as it stands there; each start has another secret."""
    program = Program("asia")
    assert program.ask("opened")["answer"]["outline"]["name"] == "asia"
    code, out, err, seconds = program.end()
    assert (code, out, err) == (0, "", "")
    assert seconds < 5
    with pytest.raises(httpx.ConnectError):
        program.ask("opened")
    other = Program("asia", "--port", program.port)
    assert (other.port, other.token == program.token) == (program.port, False)
    other.end()


def test_control_c_does_not_wait_for_a_question(tmp_path):
    """Nor for one that has a minute to go, and that no other thread can end."""
    rng = np.random.default_rng(0)
    pairs = combinations(range(27), 2)
    factors = [pb.Factor({f"X{one}": 2, f"X{other}": 2}, rng.uniform(0.5, 1.5, (2, 2))) for one, other in pairs]
    pb.save(pb.MarkovNetwork(factors), tmp_path / "dense.uai")
    program = Program(str(tmp_path / "dense.uai"))
    model = program.ask("opened")["answer"]["outline"]["model"]
    answers = []

    def ask() -> None:
        try:
            answers.append(program.ask("scene", model=model, effort="patient"))
        except httpx.TransportError:
            answers.append("gone")

    asking = threading.Thread(target=ask)
    asking.start()
    time.sleep(1.5)
    assert program.ask("examples")["answer"]["examples"]  # others are answered meanwhile
    assert answers == []
    code, _, err, seconds = program.end()
    assert code == 0
    assert re.fullmatch(r"(An exact answer is computed on a tree of .*\n)?", err)  # what takes its time is told
    assert seconds < 5
    asking.join(timeout=10)
    assert "answer" not in answers[0]


def test_a_port_in_use_is_told():
    """With what to do."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        command = [*_STUDIO, "asia", "--port", str(taken.getsockname()[1])]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "can't be listened to" in done.stderr
    assert "0 for any" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_the_extra_it_is_told_what_to_install(plausible, monkeypatch):
    """By the name of the extra."""
    for name in [name for name in sys.modules if name.startswith(("starlette", "plausible.studio.server"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "starlette", None)
    code, out, err = plausible("studio", "asia", "--no-browser")
    assert (code, out) == (2, "")
    assert "plausible[studio]" in err


def test_what_can_not_be_opened_is_told_before_anything_is_served(plausible, tmp_path):
    """A file that is not there, or holds something else."""
    (tmp_path / "bad.bif").write_text("network {", encoding="utf-8")
    for model in ("asai", str(tmp_path / "none.bif"), str(tmp_path / "bad.bif")):
        code, out, err = plausible("studio", model, "--no-browser")
        assert code != 0
        assert out == ""
        assert "Traceback" not in err
