"""Work that takes its time: it tells how far it is, ends when somebody says so, and hands on the best so far."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from threading import Event, Thread
from time import monotonic
from typing import Any, Protocol

from plausible.base.records import to_plain
from plausible.errors import PlausibleError
from plausible.studio.problems import problem_of

#: News come no more often than this, in seconds.
_PAUSE = 0.1


class Tell(Protocol):
    """What work calls while it goes on."""

    def __call__(self, news: Callable[[], dict[str, Any]]) -> bool:
        """Tell how far it is, if that is due; whether the work should end now."""


async def told_as_it_goes(work: Callable[[Tell], Any], stop: Event) -> AsyncIterator[str]:
    """The news of some work and at last its answer, as server-sent events; who no longer listens ends the work."""
    loop, events = asyncio.get_running_loop(), asyncio.Queue[dict[str, Any]]()
    last = 0.0

    def put(event: dict[str, Any]) -> None:
        loop.call_soon_threadsafe(events.put_nowait, event)

    def tell(news: Callable[[], dict[str, Any]]) -> bool:
        nonlocal last
        if monotonic() - last > _PAUSE:
            put({"news": to_plain(news())})
            last = monotonic()
        return stop.is_set()

    def run() -> None:
        try:
            put({"answer": to_plain(work(tell))})
        except PlausibleError as error:
            put({"error": problem_of(error)})
        except BaseException:  # noqa: BLE001 - the page gets no traceback, and the server lives
            put({"error": {"message": "Something went wrong here that should not.", "kind": "Fault"}})

    Thread(target=run, daemon=True).start()
    try:
        while True:
            event = await events.get()
            yield f"data: {json.dumps(event)}\n\n"
            if "news" not in event:
                return
    finally:
        stop.set()
