"""Recursion as deep as there is memory."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeAlias, TypeVar

__all__ = ["Work", "run_recursion"]

Request = TypeVar("Request")
Answer = TypeVar("Answer")
#: A call that yields the requests whose answers it needs, and returns its own answer.
Work: TypeAlias = Generator[Request, Answer, Answer]


def run_recursion(begin: Callable[[Request], Work[Request, Answer]], request: Request) -> Answer:
    """The answer of a recursive function that is written as a generator: `yield` in place of a call of itself.

    Parameters
    ----------
    begin
        Makes the generator for a request.
    request
        The first one.

    Examples
    --------
    >>> def total(number):
    ...     return number + ((yield number - 1) if number else 0)
    >>> run_recursion(total, 10_000)
    50005000
    """
    calls = [begin(request)]
    answer: Any = None  # what starts a generator, before there is an answer to give
    while True:
        try:
            wanted = calls[-1].send(answer)
        except StopIteration as done:
            calls.pop()
            answer = done.value
            if not calls:
                return answer  # type: ignore[no-any-return]  # what a call returns
        else:
            calls.append(begin(wanted))
            answer = None
