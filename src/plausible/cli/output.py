"""What commands print, text for people or one JSON document; and standard input and output where a file is `-`."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO

from plausible.base import json_number
from plausible.errors import FormatError, InvalidArgument

if TYPE_CHECKING:
    from plausible.factors import Factor


def picked(record: object, names: str) -> dict[str, Any]:
    """Attributes of a record for a JSON document; key=attribute where the two are called differently."""
    pairs = (name.partition("=") for name in names.split())
    return {key: attrgetter(attribute or key)(record) for key, _, attribute in pairs}


def json_text(document: Mapping[str, Any]) -> str:
    """The document as JSON; what that does not know is written as text, and so are infinite numbers."""
    return json.dumps(_finite(document), indent=2, allow_nan=False, default=str)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return json_number(value)
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    return list(map(_finite, value)) if isinstance(value, list | tuple) else value


def print_json(document: Mapping[str, Any], *, error: bool = False) -> None:
    """The document on standard output, or on standard error."""
    (sys.stderr if error else sys.stdout).write(json_text(document) + "\n")


def print_line(text: str = "", *, error: bool = False) -> None:
    """A line of plain text."""
    stream = sys.stderr if error else sys.stdout
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, errors="replace").decode(encoding) + "\n")


def print_answer(text: str, document: Mapping[str, Any], *, as_json: bool, error: bool = False) -> None:
    """The answer as text, or as a JSON document."""
    if as_json:
        print_json(document, error=error)
    else:
        print_line(text, error=error)


def factor_document(factor: Factor) -> dict[str, Any]:
    """A factor as JSON holds it: the variables with their states, and the numbers nested in that order."""
    return {"scope": {one.name: one.states for one in factor.scope}, "values": factor.values.tolist()}


#: What messages call it.
STANDARD_INPUT = "standard input"


def is_standard(path: Path | str | None) -> bool:
    """Whether a file of this name is standard input or output."""
    return path is not None and str(path) == "-"


def input_name(path: Path | str) -> str:
    """What messages call a file that is read."""
    return STANDARD_INPUT if is_standard(path) else str(path)


def output_name(path: Path | str) -> str:
    """What messages call a file that is written."""
    return "standard output" if is_standard(path) else str(path)


def check_one_reader(inputs: Mapping[str, Path | str | None]) -> None:
    """Refuse `-` for two inputs of a command: standard input holds one file."""
    piped = [name for name, given in inputs.items() if is_standard(given)]
    if len(piped) > 1:
        both = " and ".join(piped)
        raise InvalidArgument(f"{both} are both -, but standard input holds one file: name a file for one of them.")


def open_input() -> io.BufferedReader:
    """Standard input, to be read once; refused where nobody pipes anything into it."""
    if sys.stdin is None or sys.stdin.isatty():
        raise InvalidArgument("- is standard input, which is the terminal here: pipe a file into it, or name the file.")
    stream: io.BufferedReader = sys.stdin.buffer  # type: ignore[assignment]
    if not stream.peek(1):
        raise InvalidArgument("- is standard input, which is empty: pipe a file into it, or name the file.")
    return stream


def piped_bytes() -> bytes:
    """All of standard input, which is there again for another reader."""
    data = open_input().read()
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(data)))
    return data


@contextmanager
def piped_file(ending: str) -> Iterator[Path]:
    """Standard input as a file with an ending, for readers that need one; their errors name standard input."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"input{ending}"
        path.write_bytes(piped_bytes())
        try:
            yield path
        except FormatError as error:
            raise error.in_file(STANDARD_INPUT) from None


def binary_output(format: str) -> BinaryIO:
    """Standard output for bytes, which a terminal can't show."""
    if sys.stdout.isatty():
        raise InvalidArgument(f"{format} is not text, so a terminal can't show it: pipe it on, or name a file.")
    sys.stdout.flush()
    return sys.stdout.buffer
