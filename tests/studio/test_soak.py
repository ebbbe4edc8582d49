"""Two hundred questions a second: answers stay right and in order, and the memory of the server does not grow."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import plausible as pb

ASIA = pb.examples.load("asia")
RATE = 200
#: No more questions are on their way at once: what a slow machine does not take is not asked, and told.
MOST_ON_THE_WAY = 24
#: Clicks of people in several pages, whose questions do not take each other's place.
PAGES = 3


@dataclass
class Soak:
    """What came of asking for some time."""

    num_asked: int = 0
    num_held_back: int = 0
    superseded: int = 0
    answered: list[list[int]] = field(default_factory=lambda: [[] for _ in range(PAGES)])
    memory: list[tuple[float, int]] = field(default_factory=list)

    @property
    def num_answered(self) -> int:
        return sum(map(len, self.answered))

    def growth(self) -> float:
        """By how many bytes the memory of the last third is above that of the first, once it is in full swing."""
        end = self.memory[-1][0]
        first = [size for at, size in self.memory if end / 6 <= at < end / 2]
        last = [size for at, size in self.memory if at >= end * 2 / 3]
        return median(last) - median(first)


@dataclass(frozen=True)
class Server:
    """`plausible studio` in a process of its own."""

    process: subprocess.Popen[str]
    address: str
    token: str

    def memory(self) -> int:
        """What of it is in memory, in bytes; 0 where that can't be read."""
        status = Path(f"/proc/{self.process.pid}/status")
        lines = status.read_text(encoding="utf-8").splitlines() if status.exists() else []
        return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmRSS")), 0)


@contextmanager
def started() -> Iterator[Server]:
    """As people start it."""
    command = [sys.executable, "-m", "plausible", "studio", "asia", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    assert process.stdout is not None
    line = next(line for line in process.stdout if "http://" in line)
    address, token = line[line.index("http://") :].strip().split("/#")
    yield Server(process, address, token)
    process.terminate()
    process.wait(timeout=20)
    process.stdout.close()


@pytest.fixture
def server() -> Iterator[Server]:
    """One for each test, so that its memory is that of this test."""
    with started() as one:
        yield one


def questions() -> list[tuple[dict[str, Any], dict[str, float]]]:
    """One and two findings, seen, set and denied, each with what the library believes of all variables."""
    told = []
    names = list(ASIA.variables)
    for one, other in [*((name, name) for name in names), *combinations(names, 2)]:
        for evidence, do in (({one: [0], other: [1]}, {}), ({one: [1]}, {other: [0]} if other != one else {})):
            seen = {name: ASIA.variables[name].states[places[0]] for name, places in evidence.items()}
            settings = {name: ASIA.variables[name].states[places[0]] for name, places in do.items()}
            try:
                beliefs = ASIA.marginals(evidence=seen, do=settings)
            except pb.PlausibleError:  # neither lung cancer nor tuberculosis, but one of them
                continue
            now = {name: float(beliefs[name].values[0]) for name in names if name in beliefs}
            told.append(({"evidence": evidence, "do": do}, now))
    return told


class Connection:
    """A connection that stays open, as a browser's do; httpx would take as much time as the server."""

    def __init__(self, server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        host = server.address.removeprefix("http://")
        self.head = f"POST /ask HTTP/1.1\r\nHost: {host}\r\nX-Plausible-Token: {server.token}\r\nContent-Length: "

    @classmethod
    async def to(cls, server: Server) -> Connection:
        host, port = server.address.removeprefix("http://").split(":")
        return cls(server, *await asyncio.open_connection(host, int(port)))

    async def ask(self, **fields: Any) -> Any:
        body = json.dumps(fields).encode()
        self.writer.write(f"{self.head}{len(body)}\r\n\r\n".encode() + body)
        head = (await self.reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
        return json.loads(await self.reader.readexactly(length))


async def asked(server: Server, seconds: float) -> Soak:
    """Questions at the rate, none of which waits for the one before, until the time is up; at last one of each page."""
    soak, catalogue = Soak(), questions()
    connections = [await Connection.to(server) for _ in range(MOST_ON_THE_WAY)]
    model = (await connections[0].ask(question="opened"))["answer"]["outline"]["model"]

    async def ask(connection: Connection, number: int) -> None:
        page = number % PAGES
        question, expected = catalogue[number % len(catalogue)]
        told = await connection.ask(question="beliefs", page=f"page {page}", model=model, **question)
        if "superseded" in told:
            soak.superseded += 1
            return
        now = {name: belief["now"][0] for name, belief in told["answer"]["answer"]["beliefs"].items()}
        assert now.keys() == expected.keys()
        assert max(abs(now[name] - expected[name]) for name in now) < 1e-12, question
        soak.answered[page].append(number)

    async def ask_on(connection: Connection) -> None:
        while (number := await due.get()) is not None:
            await ask(connection, number)
            free.release()

    due, free = asyncio.Queue[int | None](), asyncio.Semaphore(MOST_ON_THE_WAY)
    asking = [asyncio.create_task(ask_on(connection)) for connection in connections]
    for number in range(len(catalogue)):  # each by itself, before the clock starts
        await ask(connections[0], number)
    soak.answered = [[] for _ in range(PAGES)]
    began = time.monotonic()
    while (gone := time.monotonic() - began) < seconds:
        while soak.num_asked + soak.num_held_back < gone * RATE:
            if free.locked():
                soak.num_held_back += 1
                continue
            await free.acquire()
            due.put_nowait(soak.num_asked)
            soak.num_asked += 1
        if not soak.memory or gone - soak.memory[-1][0] > 0.25:
            soak.memory.append((gone, server.memory()))
        await asyncio.sleep(0.002)
    for _ in connections:
        due.put_nowait(None)
    await asyncio.gather(*asking)
    for number in range(soak.num_asked, soak.num_asked + PAGES):
        await ask(connections[0], number)
    for connection in connections:
        connection.writer.close()
        await connection.writer.wait_closed()
    return soak


def soaked(server: Server, seconds: float) -> Soak:
    """In a thread without another loop of events; what must be so however long it goes on."""
    with ThreadPoolExecutor(1) as pool:
        soak = pool.submit(asyncio.run, asked(server, seconds)).result()
    assert soak.num_answered + soak.superseded == soak.num_asked + PAGES
    assert soak.num_answered > 2 * seconds, soak
    for answered in soak.answered:
        assert answered[-1] == max(answered), "the last question of a page is answered last"
    assert server.process.poll() is None
    return soak


def test_two_hundred_questions_a_second_are_answered_rightly(server):
    """Or given up for a newer one of the same page, never mixed up."""
    soaked(server, 5.0)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the memory of a process is read as Linux tells it")
def test_two_hundred_questions_a_second_for_a_minute_need_no_more_memory(server):
    """The last third of the minute takes no more than the first, but for 4 MB."""
    soak = soaked(server, 60.0)
    assert soak.growth() < 4 * 2**20


if __name__ == "__main__":
    # The figures, for those who want to see them: python tests/studio/test_soak.py 60
    with started() as one:
        told = soaked(one, float(sys.argv[1]))
    mb = [f"{size / 2**20:.1f}" for _, size in told.memory[:: max(1, len(told.memory) // 12)]]
    print(f"asked {told.num_asked}, held back {told.num_held_back}, superseded {told.superseded}")  # noqa: T201
    print(f"answered {told.num_answered}; MB {' '.join(mb)}; growth {told.growth() / 2**20:.2f}")  # noqa: T201
