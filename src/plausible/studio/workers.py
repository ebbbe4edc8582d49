"""One thread a model: questions are answered in order, and a newer one takes the place of an older that waits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Condition, Thread
from typing import Any, Final

#: After so many seconds without a question a thread ends; the next question begins another.
IDLE: Final = 30.0


@dataclass(frozen=True, slots=True)
class _Job:
    work: Callable[[], Any]
    kind: Hashable | None
    answer: Future[Any]


class Worker:
    """Answers one question after the other in a thread of its own, which ends when nobody asks, and with the program.

    >>> worker = Worker()
    >>> worker.ask(lambda: 6 * 7).result()
    42
    """

    def __init__(self) -> None:
        self._waiting: deque[_Job] = deque()
        self._changed = Condition()
        self._is_running = False

    def ask(self, work: Callable[[], Any], kind: Hashable | None = None) -> Future[Any]:
        """The answer to come; one of the same kind that waits is cancelled, as nobody wants it any more."""
        job = _Job(work, kind, Future())
        with self._changed:
            if kind is not None:
                for other in [one for one in self._waiting if one.kind == kind]:
                    self._waiting.remove(other)
                    other.answer.cancel()
            self._waiting.append(job)
            if not self._is_running:
                self._is_running = True
                Thread(target=self._run, daemon=True).start()
            self._changed.notify()
        return job.answer

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._changed.wait_for(lambda: bool(self._waiting), IDLE):
                    self._is_running = False
                    return
                job = self._waiting.popleft()
            if not job.answer.set_running_or_notify_cancel():
                continue
            try:
                job.answer.set_result(job.work())
            except BaseException as error:  # noqa: BLE001 - whoever asked is told
                job.answer.set_exception(error)
