"""Who may ask: pages of this server, on this machine, with its token; and what every answer forbids to browsers."""

from __future__ import annotations

from collections.abc import Mapping
from secrets import compare_digest
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: The header that carries the token.
TOKEN_HEADER = "x-plausible-token"

#: What a browser may do with what it gets: nothing but to run the page's own files and to ask this server.
_HEADERS: Mapping[str, str] = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


class Guard:
    """Lets requests through that come from the studio's own page; all others get a refusal.

    A page elsewhere can make a browser send requests to this machine. So `Host` has to be this server (against names
    that are made to lead here), `Origin` and `Sec-Fetch-Site` have to be its own, and whatever asks for data has to
    know the token, which stands in the address that the program prints and which no other page can read.

    Parameters
    ----------
    app
        What answers.
    token
        The secret that is demanded of all but the page itself.
    port
        The one that the server listens to.
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app, self._token = app, token
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            return
        why = self._refusal(scope["method"], Headers(scope=scope))

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        answer = self._app if why is None else JSONResponse({"error": {"message": why, "kind": "Refused"}}, 403)
        await answer(scope, receive, send_guarded)

    def _refusal(self, method: str, headers: Headers) -> str | None:
        """Why a request is refused; None if it is not."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self._hosts:
            return "This server answers only on this machine, by its own address."
        if origin is not None and origin != f"http://{host}":
            return "This server answers only its own page."
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return "This server answers only its own page."
        if method != "GET" and not compare_digest(headers.get(TOKEN_HEADER, "").encode(), self._token.encode()):
            return "The token is missing or wrong: open the address that the program has printed."
        return None
