"""Several learners that go through the same pieces together: one pass answers what all of them are waiting for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Condition
from typing import Any, TypeVar

from plausible.data.partitions import Partitions, Piece
from plausible.variables import Variable

Answer = TypeVar("Answer")
Learned = TypeVar("Learned")

#: From a piece and who asks to the piece that this one sees.
View = Callable[[Piece, int], Piece]


class _Ended(Exception):
    """What those who wait are told where another one has failed."""


@dataclass(slots=True)
class _Asked:
    """What somebody wants done on each piece, and where the answers go: (whether it is over, the answer)."""

    work: Callable[[Piece], Any]
    answers: SimpleQueue[tuple[bool, Any]] = field(default_factory=SimpleQueue)


class SharedPasses:
    """The pieces of some data, gone through by several at once: a pass begins when all are waiting for one.

    Parameters
    ----------
    source
        The pieces.
    view
        What each of those who share them sees of a piece; it can be pickled.
    """

    def __init__(self, source: Partitions, view: View) -> None:
        self.source, self._view = source, view
        self._waiting: dict[int, _Asked] = {}
        self._changed, self._num_active, self._is_over = Condition(), 0, False

    def each(self, members: Sequence[int], learn: Callable[[Partitions], Learned]) -> list[Learned]:
        """What each of some members learns, all side by side; the first error of one of them ends the others."""
        self._num_active, self._is_over = len(members), False
        with ThreadPoolExecutor(len(members) + 1) as pool:
            found = [pool.submit(self._learn, learn, member) for member in members]
            pool.submit(self._go_through)
            try:
                done, _ = wait(found, return_when=FIRST_EXCEPTION)
            finally:
                with self._changed:
                    self._is_over = True
                    self._changed.notify_all()
            errors = [error for error in (one.exception() for one in done) if error is not None]
            if errors:
                raise next((error for error in errors if not isinstance(error, _Ended)), errors[0])
            return [one.result() for one in found]

    def ask(self, member: int, work: Callable[[Piece], Answer]) -> Iterator[Answer]:
        """The answers of the next pass."""
        asked = _Asked(work)
        with self._changed:
            self._waiting[member] = asked
            self._changed.notify_all()
        while True:
            is_over, answer = asked.answers.get()
            if is_over:
                if answer is not None:
                    raise answer
                return
            yield answer

    def _learn(self, learn: Callable[[Partitions], Learned], member: int) -> Learned:
        try:
            return learn(_Shared(self, member))
        finally:
            with self._changed:
                self._num_active -= 1
                self._changed.notify_all()

    def _go_through(self) -> None:
        """Make passes until nobody is left."""
        while True:
            with self._changed:
                self._changed.wait_for(self._is_time)
                asked, self._waiting = self._waiting, {}
                if not asked:
                    return
            error: BaseException | None = None
            try:
                self._pass(asked)
            except BaseException as raised:  # noqa: BLE001 - whoever waits is told
                error = raised
            for one in asked.values():
                one.answers.put((True, error))

    def _is_time(self) -> bool:
        """Whether a pass can begin, or nobody is left."""
        return not self._num_active or bool(self._waiting and (self._is_over or len(self._waiting) == self._num_active))

    def _pass(self, asked: Mapping[int, _Asked]) -> None:
        members = sorted(asked)
        work = _Together(self._view, {member: asked[member].work for member in members})
        for answers in () if self._is_over else self.source.map(work):
            if self._is_over:
                break
            for member, answer in zip(members, answers, strict=True):
                asked[member].answers.put((False, answer))
        if self._is_over:
            raise _Ended("Another of those who share the passes has failed.")


@dataclass(frozen=True, slots=True)
class _Together:
    """The work of several on one piece."""

    view: View
    works: Mapping[int, Callable[[Piece], Any]]

    def __call__(self, piece: Piece) -> list[Any]:
        return [work(self.view(piece, member)) for member, work in self.works.items()]


class _Shared(Partitions):
    """What one of those who share passes sees."""

    def __init__(self, passes: SharedPasses, member: int) -> None:
        self._passes, self._member = passes, member

    @property
    def variables(self) -> Mapping[str, Variable]:
        return self._passes.source.variables

    @property
    def num_bytes(self) -> float:
        return self._passes.source.num_bytes

    def map(self, work: Callable[[Piece], Answer]) -> Iterator[Answer]:
        return self._passes.ask(self._member, work)
