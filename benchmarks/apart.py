"""Running a measurement in a fresh process, within limits of time and memory."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Report = Callable[[str, Any], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a process reported by name, when it ended, and why it ended early ("" where it did not)."""

    reports: dict[str, Any]
    ended: float
    failure: str


def apart(call: Callable[..., None], *arguments: Any, seconds: float = 600.0, memory: int | None = None) -> Outcome:
    """Run `call(report, *arguments)` in a process of its own; what it reported before a limit stopped it is kept.

    `seconds` count from the start of the process, `memory` is a limit of its address space in bytes.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(sender, memory, call, arguments), daemon=True)
    process.start()
    sender.close()
    reports: dict[str, Any] = {}
    deadline = time.perf_counter() + seconds
    try:
        while receiver.poll(max(0.0, deadline - time.perf_counter())):
            name, value = receiver.recv()
            reports[name] = value
        failure = f"{seconds:.0f} s were not enough"
    except EOFError:
        failure = reports.pop("failure", "" if "done" in reports else "it crashed")
    finally:
        ended = time.perf_counter()
        process.kill()
        process.join()
    return Outcome(reports, ended, failure)


def _work(sender: Any, memory: int | None, call: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    if memory is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    def report(name: str, value: Any) -> None:
        sender.send((name, value))

    try:
        call(report, *arguments)
        report("done", True)
    except Exception as error:  # noqa: BLE001  (a peer's own kinds of failure)
        is_memory = isinstance(error, MemoryError) or "bad_alloc" in str(error)
        limit = "memory was" if memory is None else f"{memory / 2**30:.0f} GiB were"
        report("failure", f"{limit} not enough" if is_memory else f"{type(error).__name__}: {error}")
