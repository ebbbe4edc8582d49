"""The server: the page and its files, questions, files that are dropped; on this machine only."""

from __future__ import annotations

import json
import logging
import socket
import webbrowser
from asyncio import CancelledError, wrap_future
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from importlib import resources
from secrets import token_urlsafe
from threading import Event, Timer
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from plausible.base.records import to_plain
from plausible.errors import InvalidArgument, PlausibleError
from plausible.studio.asked import Asked
from plausible.studio.desk import Desk
from plausible.studio.files import opened, opened_rows
from plausible.studio.guard import Guard
from plausible.studio.learning import RUNS
from plausible.studio.problems import problem_of
from plausible.studio.questions import QUESTIONS
from plausible.studio.runs import told_as_it_goes
from plausible.studio.seeing import told_of
from plausible.studio.workers import Worker

#: The page's own files: what they are called, and what browsers take them for.
_PAGE = {
    "/": ("index.html", "text/html"),
    "/studio.js": ("studio.js", "text/javascript"),
    "/studio.css": ("studio.css", "text/css"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
_LOG = logging.getLogger(__name__)
#: What pages are told of faults; the program's terminal has more.
_FAULT = "Something went wrong here that should not. The model is as it was."
#: How many bytes a question, the file of a model and the file of rows may have.
MOST_ASKED, MOST_IN_MODEL, MOST_IN_ROWS = 2**22, 2**26, 2**28


class Studio:
    """What answers the requests of pages."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._files = Worker()  # reads files and answers what is asked of no model
        self._stops: dict[str, Event] = {}  # of what runs, by the names that pages gave

    def routes(self) -> list[Route]:
        """Address -> what answers there."""
        return [
            *(Route(address, _file_page(*file)) for address, file in _PAGE.items()),
            Route("/ask", self.ask, methods=["POST"]),
            Route("/open", self.open, methods=["POST"]),
            Route("/rows", self.rows, methods=["POST"]),
            Route("/run", self.run, methods=["POST"]),
            Route("/stop", self.stop, methods=["POST"]),
        ]

    async def ask(self, request: Request) -> Response:
        """Answer a question: a JSON object with `question`, mostly `model`, and what else the question has."""
        asked = Asked(_object(await body_within(request, MOST_ASKED)))
        try:
            name = asked.text("question")
            if name not in QUESTIONS:
                raise InvalidArgument(f"{name!r} is no question that this server knows.")
            question = QUESTIONS[name]
            worker = self.desk.version(asked.text("model")).worker if asked.has("model") else self._files
            kind = (asked.text("page", ""), name) if question.is_newest_only else None
        except PlausibleError as error:
            return _refused(error)
        return await _answered(worker, lambda: question.answer(self.desk, asked), kind)

    async def open(self, request: Request) -> Response:
        """Open the file of a model, which is the body; its name is in the address."""
        data, name = await body_within(request, MOST_IN_MODEL), request.query_params.get("name", "")
        return await _answered(self._files, lambda: told_of(opened(self.desk, data, name)))

    async def rows(self, request: Request) -> Response:
        """Open a file of rows, which is the body; its name is in the address."""
        data, name = await body_within(request, MOST_IN_ROWS), request.query_params.get("name", "")
        return await _answered(self._files, lambda: {"table": opened_rows(self.desk, data, name)})

    async def run(self, request: Request) -> Response:
        """Do some work that takes its time, with news on the way, as server-sent events."""
        asked = Asked(_object(await body_within(request, MOST_ASKED)))
        try:
            name, run = asked.text("question"), asked.text("run")
            if name not in RUNS:
                raise InvalidArgument(f"{name!r} is no work that this server knows.")
        except PlausibleError as error:
            return _refused(error)
        stop = self._stops[run] = Event()

        async def events() -> AsyncIterator[str]:
            try:
                async for event in told_as_it_goes(lambda tell: RUNS[name](self.desk, asked, tell), stop):
                    yield event
            finally:
                self._stops.pop(run, None)

        return StreamingResponse(events(), media_type="text/event-stream")

    async def stop(self, request: Request) -> Response:
        """End some work early: its answer is the best so far."""
        run = _object(await body_within(request, MOST_ASKED)).get("run")
        if isinstance(run, str) and run in self._stops:
            self._stops[run].set()
        return JSONResponse({"answer": {}})


async def _answered(worker: Worker, work: Callable[[], Any], kind: Any = None) -> Response:
    """What a worker makes of a question: an answer, an error in words, or nothing where a newer one came."""
    try:
        answer: Response = await wrap_future(worker.ask(lambda: JSONResponse({"answer": to_plain(work())}), kind))
    except CancelledError:
        return JSONResponse({"superseded": True}, 409)
    except PlausibleError as error:
        return _refused(error)
    except MemoryError:
        return JSONResponse({"error": {"message": "There is not enough memory for this.", "kind": "TooLarge"}}, 422)
    except Exception:  # noqa: BLE001 - the page gets no traceback, and the server lives
        _LOG.exception("a question that should have been answered or refused")
        return JSONResponse({"error": {"message": _FAULT, "kind": "Fault"}}, 500)
    return answer


def _refused(error: PlausibleError) -> Response:
    return JSONResponse({"error": problem_of(error)}, 422)


async def body_within(request: Request, limit: int) -> bytes:
    """The body of a request, which is refused as soon as it is longer than it may be."""
    parts, size = [], 0
    told = request.headers.get("content-length", "0")
    if not told.isdecimal() or len(told) > 15 or int(told) > limit:
        raise HTTPException(413, f"More than {limit} bytes.")
    try:
        async for part in request.stream():
            size += len(part)
            if size > limit:
                raise HTTPException(413, f"More than {limit} bytes.")
            parts.append(part)
    except ClientDisconnect:
        raise HTTPException(400, "The body has no end.") from None
    return b"".join(parts)


def _object(body: bytes) -> dict[str, Any]:
    try:
        told = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise HTTPException(400, "A question is a JSON object.")
    return told


def _refuse_constant(name: str) -> None:
    """NaN and infinities are no JSON, though Python reads them."""
    raise ValueError(name)


def _file_page(name: str, kind: str) -> Callable[[Request], Response]:
    def page(request: Request) -> Response:
        text = resources.files("plausible.studio").joinpath("static", name).read_bytes()
        return Response(text, media_type=kind)

    return page


def _told_plainly(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        return JSONResponse({"error": {"message": error.detail, "kind": "Refused"}}, error.status_code)
    _LOG.error("a request that should have been answered or refused", exc_info=error)
    return JSONResponse({"error": {"message": _FAULT, "kind": "Fault"}}, 500)


def application(desk: Desk, token: str, port: int) -> Any:
    """The studio as an ASGI application."""
    handlers = {HTTPException: _told_plainly, Exception: _told_plainly}
    app = Starlette(routes=Studio(desk).routes(), exception_handlers=handlers)
    app.router.redirect_slashes = False
    return Guard(app, token, port)


def listen(desk: Desk, port: int, announce: Callable[[str], object], opens_browser: bool, page: str = "") -> None:
    """Serve the page until Ctrl-C; `announce` is called with its address, which ends with the token."""
    listening = listening_at(port)
    port = listening.getsockname()[1]
    token = token_urlsafe(24)
    address = f"http://127.0.0.1:{port}/{page}#{token}"
    config = uvicorn.Config(
        application(desk, token, port),
        log_level="critical",  # faults have a log of their own
        access_log=False,
        ws="none",
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=0,
    )
    announce(address)
    if opens_browser:
        Timer(0.3, webbrowser.open, [address]).start()
    with suppress(KeyboardInterrupt):  # Ctrl-C is how it ends
        uvicorn.Server(config).run(sockets=[listening])


def listening_at(port: int) -> socket.socket:
    """A socket of this machine only; 0 is any port that is free."""
    # Only of sockets that say they speak TCP does asyncio send small pieces at once; else each answer waits for 40 ms.
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind(("127.0.0.1", port))
        found.listen(128)  # who has read the address may ask at once
    except (OSError, OverflowError) as error:
        found.close()
        raise InvalidArgument(f"Port {port} can't be listened to ({error}). Use another one, or 0 for any.") from None
    return found
