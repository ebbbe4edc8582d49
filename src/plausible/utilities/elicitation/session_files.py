"""Sessions in files, so that an interview can be gone on with and its utilities used."""

from __future__ import annotations

import json
import os
from pathlib import Path

from plausible.data.writing import write_whole
from plausible.errors import FormatError, MissingFile
from plausible.utilities.elicitation.methods import ElicitationSession, resume_session

__all__ = ["load_session", "save_session"]


def save_session(session: ElicitationSession, path: str | os.PathLike[str]) -> None:
    """Write a session to a JSON file; an older file is replaced at once, or left as it was if that fails.

    Parameters
    ----------
    session
        Over texts or numbers, finished or not.
    path
        The file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from plausible.utilities.elicitation.methods import visual_analog
    >>> with TemporaryDirectory() as folder:
    ...     save_session(visual_analog(["400"], worst="0", best="1000").answer(50), f"{folder}/money.json")
    ...     result = load_session(f"{folder}/money.json").result
    >>> result["400"], result.curve()(400)
    (0.5, 0.5)
    """
    write_whole(path, (json.dumps(session.to_dict(), indent=2) + "\n").encode("utf-8"))


def load_session(path: str | os.PathLike[str]) -> ElicitationSession:
    """The session in a JSON file, such as `plausible elicit --save` writes.

    `load_session(path).result` is the utility, as a mapping from outcomes; for amounts `result.curve()` is the curve.

    Parameters
    ----------
    path
        The file.

    Examples
    --------
    >>> load_session("missing/money.json")
    Traceback (most recent call last):
        ...
    plausible.errors.MissingFile: No such file: 'missing/money.json'. There is no folder '...missing'.
    """
    if not Path(path).exists():
        raise MissingFile.at(Path(path), (".json",))
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise FormatError(f"It holds no saved session: {error}.", file=os.fspath(path)) from None
    if not isinstance(record, dict):
        raise FormatError(f"It holds no saved session, but a JSON {type(record).__name__}.", file=os.fspath(path))
    try:
        return resume_session(record)
    except FormatError as error:
        raise error.in_file(os.fspath(path)) from None
