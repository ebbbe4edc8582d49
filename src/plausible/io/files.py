"""Loading and saving: the format is chosen by the file's ending."""

from __future__ import annotations

import codecs
import gzip
import os
import re
import zlib
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from plausible.base import Argument, Call, Remedy, keyword_hints
from plausible.data.row_files import write_whole
from plausible.decisions import InfluenceDiagram
from plausible.errors import FormatError, InvalidArgument, MissingFile, NotRepresentable, suggestion
from plausible.io import bif, dne, dsl, hugin, json_format, uai, xdsl, xmlbif
from plausible.io.assembly import reading
from plausible.io.formats import AnyModel, Format, check_model
from plausible.models import BayesianNetwork, MarkovNetwork

FORMATS: tuple[Format, ...] = (
    json_format.FORMAT,
    bif.FORMAT,
    xmlbif.FORMAT,
    xdsl.FORMAT,
    hugin.FORMAT,
    uai.FORMAT,
    dsl.FORMAT,
    dne.FORMAT,
)


PathLike: TypeAlias = str | os.PathLike[str]
#: The type of a model whose kind only its file knows: for type checkers the usual one, a Bayesian network, but they
#: don't object where a test, or whoever wrote the program, says that it is another.
Loaded: TypeAlias = BayesianNetwork | Any

_Kind = TypeVar("_Kind", BayesianNetwork, MarkovNetwork, InfluenceDiagram)
_KINDS: Final[dict[type, tuple[str, str]]] = {
    BayesianNetwork: ("a Bayesian network", "load_network"),
    MarkovNetwork: ("a Markov network", "load_markov_network"),
    InfluenceDiagram: ("an influence diagram", "load_diagram"),
}

#: A larger file is refused.
MAX_BYTES = 2**30
#: A packed file is refused that unpacks to more than this, unless it has some size itself: to so many times that.
MAX_UNPACKED, MAX_RATIO = 2**26, 100

_ENDINGS = tuple(extension for known in FORMATS for extension in known.extensions)
_IN_THE_PACKAGE = " A network that comes with this package is loaded by its name: pb.examples.load('asia')."

_XML_ENCODING = re.compile(rb"""^\s*<\?xml[^>]*encoding=["']([A-Za-z0-9._-]+)["']""")
# Encodings in which the declaration itself is readable as ASCII; Python knows others, some slow, that no file is in.
_DECLARABLE = re.compile(
    r"utf-?8|(us-)?ascii|iso-8859-\d+|latin-?\d|(windows-|cp)125\d|koi8-[ru]|gb\w+|big5|\w+jis|euc-\w+"
)
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))

#: Blanks and comments, which tell nothing.
_SKIPPED = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/|%[^\n]*)*+", re.DOTALL)


@keyword_hints
def load(path: PathLike, format: str | None = None, *, lenient: bool = False) -> Loaded:
    """Load a model from a file: a network, an influence diagram, or a model in time.

    Type checkers assume that it is a Bayesian network. `load_network`, `load_markov_network` and `load_diagram` check
    what the file holds, and tell type checkers.

    Text is read as UTF-8, or as a byte-order mark or an XML declaration says, or else, as in old files, as
    Windows-1252.

    Parameters
    ----------
    path
        The file; its extension, such as `.bif` or `.bif.gz`, determines the format.
    format
        The name of the format, such as `"bif"`, or one of its extensions; by default that of the file.
    lenient
        Mend what can be mended, and tell all of it in one warning: rows of counts, or with another sum than one, are
        divided by their sums; rows of zeros are read as uniform; in UAI files the child may come first.

    Examples
    --------
    >>> import tempfile
    >>> from plausible.cpds import TableCPD
    >>> from plausible.models import BayesianNetwork
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(BayesianNetwork(TableCPD("coin", [0.5, 0.5])), f"{folder}/coin.json.gz")
    ...     load(f"{folder}/coin.json.gz").cpd("coin")
    TableCPD(coin)
    """
    _format(path, format, "load(path)", _IN_THE_PACKAGE)
    file = Path(path)
    if not file.exists():
        raise MissingFile.at(file, (f"{ending}{packed}" for ending in _ENDINGS for packed in ("", ".gz")))
    if file.stat().st_size > MAX_BYTES:
        raise FormatError(f"The file has more than {MAX_BYTES} bytes.", file=os.fspath(path))
    return parse_file(file.read_bytes(), path, format, lenient=lenient)


def parse_file(data: bytes, path: PathLike, format: str | None = None, *, lenient: bool = False) -> Loaded:
    """The model in the bytes of a file, which is called `path` and need not be there; all else as for `load`.

    >>> parse_file(b"MARKOV 1  2  1  1 0  2 0.5 1.5", "coin.uai").variables["0"].states
    ('0', '1')
    """
    chosen = _format(path, format, "parse_file(data, path)")
    try:
        with reading(os.fspath(path)):
            return parse(_decode(_unpacked(data, path)), chosen.name, lenient=lenient)
    except FormatError as error:
        raise error.in_file(os.fspath(path)) from None


def load_network(path: PathLike, format: str | None = None, *, lenient: bool = False) -> BayesianNetwork:
    """As `load`, for a Bayesian network; raises `FormatError` if the file holds another kind of model."""
    return _load_kind(BayesianNetwork, path, format, lenient)


def load_markov_network(path: PathLike, format: str | None = None, *, lenient: bool = False) -> MarkovNetwork:
    """As `load`, for a Markov network; raises `FormatError` if the file holds another kind of model."""
    return _load_kind(MarkovNetwork, path, format, lenient)


def load_diagram(path: PathLike, format: str | None = None, *, lenient: bool = False) -> InfluenceDiagram:
    """As `load`, for an influence diagram; raises `FormatError` if the file holds another kind of model."""
    return _load_kind(InfluenceDiagram, path, format, lenient)


def _load_kind(kind: type[_Kind], path: PathLike, format: str | None, lenient: bool) -> _Kind:
    model = load(path, format, lenient=lenient)
    if isinstance(model, kind):
        return model
    wanted = _KINDS[kind][0]
    held, door = _KINDS.get(type(model), (f"a {type(model).__name__}", "load"))
    raise FormatError(f"This file holds {held}, not {wanted}. Load it with {door}.", file=os.fspath(path))


def parse(text: str, format: str, *, lenient: bool = False) -> Loaded:
    """The model in a text, by the name of its format; `lenient` as for `load`.

    >>> parse("MARKOV 1  2  1  1 0  2 0.5 1.5", "UAI").variables["0"].states
    ('0', '1')
    """
    chosen = _by_name(format)
    try:
        return chosen.parse(text, lenient=lenient)
    except RecursionError:
        raise FormatError("The file is nested too deeply.") from None
    except FormatError:
        if (other := format_of_text(text)) in (None, chosen.name):
            raise
    raise FormatError(
        f"This looks like {other}, and can't be read as {chosen.name}.",
        remedies=[
            Remedy("give the file the ending ", _by_name(str(other)).extensions[0]),
            Remedy("name the format, as in ", Call("load", Argument("path", ...), Argument("format", other))),
        ],
    )


def format_of_text(text: str) -> str | None:
    """The name of the format in which a text begins; `None` if it is none.

    >>> format_of_text("// a model\\nnetwork asia {}")
    'BIF'
    """
    start = _SKIPPED.match(text)
    place = start.end() if start else 0
    return next((known.name for known in FORMATS if known.begins.match(text, place)), None)


@keyword_hints
def save(model: AnyModel, path: PathLike, format: str | None = None) -> None:
    """Save a model to a file. An existing file is replaced only once everything has been written.

    Parameters
    ----------
    model
        The model; if the format can't store it, `NotRepresentable` is raised.
    path
        The file; its extension, such as `.bif` or `.bif.gz`, determines the format.
    format
        The name of the format, such as `"bif"`, or one of its extensions; by default that of the file.
    """
    chosen = _format(path, format, "save(model, path)")
    try:
        data = to_text(model, chosen.name).encode("utf-8")
    except UnicodeEncodeError:
        raise NotRepresentable(
            "A name or note has half of a surrogate pair, which UTF-8 can't hold. Save as .json."
        ) from None
    write_whole(path, gzip.compress(data, mtime=0) if Path(path).suffix.lower() == ".gz" else data)


def to_text(model: AnyModel, format: str) -> str:
    """A model as the text of a file, by the name of its format.

    >>> from plausible.factors import Factor
    >>> from plausible.models import MarkovNetwork
    >>> to_text(MarkovNetwork(Factor({"A": 2}, [0.5, 1.5])), "uai").split()
    ['MARKOV', '1', '2', '1', '1', '0', '2', '0.5', '1.5']
    """
    chosen = _by_name(format)
    check_model(model)
    if chosen.write is None:
        writable = ", ".join(known.name for known in FORMATS if known.write is not None)
        raise NotRepresentable(f"{chosen.name} files can be read but not written. Choose one of: {writable}.")
    return chosen.write(model)


def _by_name(name: str) -> Format:
    by_name = {ending.removeprefix("."): known for known in FORMATS for ending in known.extensions}
    by_name |= {known.name.lower(): known for known in FORMATS}
    if name.lower() not in by_name:
        names = [known.name for known in FORMATS]
        raise InvalidArgument(f"{name!r} is not a file format.{suggestion(name, names)}")
    return by_name[name.lower()]


def _format(path: PathLike, name: str | None, call: str, if_none: str = "") -> Format:
    """The format of this name, or the one that the ending names; `if_none` is said too where there is no ending."""
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidArgument(f"{call} takes the name of a file as its path, not {path!r}.")
    if name is not None:
        return _by_name(name)
    file = Path(path)
    ending = Path(file.stem).suffix if file.suffix.lower() == ".gz" else file.suffix
    for known in FORMATS:
        if ending.lower() in known.extensions:
            return known
    raise InvalidArgument(
        f"The ending of {os.fspath(path)!r} names no format; known are {' '.join(_ENDINGS)} (and .gz after them). "
        f"Or name the format: format=.{'' if ending else if_none}"
    )


def _unpacked(data: bytes, path: PathLike) -> bytes:
    if Path(path).suffix.lower() != ".gz":
        return data
    limit = min(MAX_BYTES, max(MAX_UNPACKED, MAX_RATIO * len(data)))
    try:
        unpacked = gzip.GzipFile(fileobj=BytesIO(data)).read(limit + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FormatError(f"This is no complete gzip file ({error}).") from None
    if len(unpacked) > limit:
        remedies = [Remedy("unpack it first, if you trust it")] if limit < MAX_BYTES else []
        raise FormatError(f"The file unpacks to more than {limit} bytes.", remedies=remedies)
    return unpacked


def _decode(data: bytes) -> str:
    """Text by byte-order mark, XML declaration or UTF-8; old files in none of these are Windows-1252 or Latin-1.

    Lines end as everywhere in Python.
    """
    text = None
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            try:
                text = data.decode(encoding).removeprefix("\ufeff")
            except UnicodeDecodeError as error:
                raise FormatError(f"Byte {error.start} is not {encoding.upper()}, as its mark says.") from None
    declared = _XML_ENCODING.match(data)
    named = declared.group(1).decode("ascii").lower() if declared else ""
    for encoding in ([named] if _DECLARABLE.fullmatch(named) else []) + ["utf-8", "cp1252", "latin-1"]:
        with suppress(UnicodeDecodeError, LookupError):
            text = data.decode(encoding) if text is None else text
    assert text is not None  # everything is Latin-1
    return text.replace("\r\n", "\n").replace("\r", "\n")
