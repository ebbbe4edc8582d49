"""The door of the studio, which says what to install where it is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plausible.base.options import check_count
from plausible.errors import MissingDependency


def serve(
    model: Any = None,
    name: str = "model",
    *,
    port: int = 0,
    announce: Callable[[str], object] = print,
    opens_browser: bool = True,
    has_tour: bool = False,
) -> None:
    """Show a model in the browser, where people can play with it, until Ctrl-C.

    The page is served on this machine only, and to nobody who does not know the address that is announced. Nothing is
    kept but what is saved there. Needs the extra `studio`.

    Parameters
    ----------
    model
        A network, an influence diagram or a model in time; without one the page begins with a choice of examples.
    name
        What it is called: the name of its file.
    port
        The one to listen to; 0 for any that is free.
    announce
        Called with the address, which ends with a secret.
    opens_browser
        Whether to show the page at once.
    has_tour
        Whether the page begins with a tour, for which the model should be the example "asia".

    Examples
    --------
    >>> import plausible as pb
    >>> pb.studio.serve(pb.examples.load("asia"), "asia")  # doctest: +SKIP
    http://127.0.0.1:40613/#6X0LZ...
    """
    check_count("port", port)
    try:
        from plausible.studio.server import listen
    except ImportError as error:
        raise MissingDependency.extra("starlette", "studio") from error
    from plausible.studio.desk import Desk

    desk = Desk()
    if model is not None:
        desk.put(model, name)
    listen(desk, port, announce, opens_browser, "?tour" if has_tour else "")
