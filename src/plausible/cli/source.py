"""The models and graphs that commands take and write: a file, an example's name, arrow text, or a standard stream."""

from __future__ import annotations

import codecs
import errno
import gzip
import io
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from plausible import examples
from plausible.cli.output import STANDARD_INPUT, is_standard, piped_bytes, piped_file
from plausible.decisions import InfluenceDiagram
from plausible.errors import FormatError, InvalidArgument, NotSupported, PlausibleError, suggestion
from plausible.graphs import DAG, UndirectedGraph
from plausible.io import FORMATS, Model, Network, load, save
from plausible.io.assembly import reading
from plausible.io.files import format_of_text
from plausible.io.formats import AnyModel
from plausible.models import BayesianNetwork, PlateModel, RelationalMarkovNetwork, RelationalModel
from plausible.models.sequences.sequence_model import SequenceModel

#: The endings of files that hold models.
MODEL_ENDINGS = tuple(ending for known in FORMATS for ending in known.extensions)

_GZIP = b"\x1f\x8b"
#: So many bytes tell the format.
_BEGINNING = 2**20
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class NoSuchModel(PlausibleError, LookupError):
    """Neither a file nor an example has this name."""


def read_network(source: str) -> Network:
    """The model in a file, or the example of that name, for a question to chance alone."""
    model = read_model(source)
    if isinstance(model, InfluenceDiagram):
        raise NotSupported(
            f"{source!r} is an influence diagram, which has decisions and utilities; this command asks a network. "
            "In Python, diagram.network(strategy) is the network that a strategy makes of it."
        )
    return model


def read_bayesian(source: str, why: str) -> BayesianNetwork:
    """The Bayesian network in a file, or the example of that name; why nothing else will do is said to who gives it."""
    model = read_network(source)
    if not isinstance(model, BayesianNetwork):
        raise InvalidArgument(f"{source!r} is no Bayesian network; {why}.")
    return model


def read_model(source: str, format: str | None = None, *, lenient: bool = False) -> Model:
    """The model in a file or on standard input, or the example of that name; one in time is refused."""
    model = read_plain_model(source, format, lenient=lenient)
    if isinstance(model, SequenceModel):
        raise NotSupported(
            f"{source!r} is a {type(model).__name__}, a model in time, which other commands ask: plausible filter, "
            "plausible smooth and plausible forecast."
        )
    return model


def read_plain_model(source: str, format: str | None = None, *, lenient: bool = False) -> Model | SequenceModel:
    """The same, or one in time; a model over relations, which says nothing without tables or constants, is refused."""
    model = read_any_model(source, format, lenient=lenient)
    if isinstance(model, RelationalModel):
        raise NotSupported(
            f"{source!r} is a relational model, whose questions need tables: plausible query and plausible predict "
            "take them by --schema schema.toml. plausible info shows it."
        )
    if isinstance(model, RelationalMarkovNetwork):
        raise NotSupported(
            f"{source!r} is a relational Markov network, which is asked about constants: in Python, "
            "model.ground(constants) is the network of these, which can be saved. plausible info shows it."
        )
    if isinstance(model, PlateModel):
        raise NotSupported(
            f"{source!r} is a plate model: in Python, model.unroll() is the network of all members, which can be "
            "saved. plausible info shows it."
        )
    return model


def read_relational(source: str) -> RelationalModel:
    """The relational model in a file, for which tables are given."""
    model = read_any_model(source)
    if not isinstance(model, RelationalModel):
        raise InvalidArgument(
            f"{source!r} is no relational model, which alone is asked about tables: leave --schema out."
        )
    return model


def read_any_model(source: str, format: str | None = None, *, lenient: bool = False) -> AnyModel:
    """The model of any kind in a file or on standard input, or the example of that name."""
    if is_standard(source):
        return _piped_model(format, lenient)
    if source in examples.names() and not Path(source).exists():
        return examples.load(source)
    if source and Path(source).is_dir():
        raise NoSuchModel(f"{source!r} is a folder, not the file of a model.")
    if not source or not (Path(source).exists() or Path(source).suffix or format):
        raise NoSuchModel(f"{source!r} is neither a file nor an example.{suggestion(source, examples.names())}")
    if format is None:
        check_ending(source, f"plausible convert {source} model.json --from bif")
    return load(source, format=format, lenient=lenient)


def read_graph_or_network(source: str) -> DAG | UndirectedGraph | BayesianNetwork:
    """The graph that arrow text spells, else a network; a model of another kind counts as its graph."""
    if is_standard(source) and format_of(piped_bytes()) is None:
        source = piped_bytes().decode("utf-8", errors="replace").strip()
    if "->" in source or "<-" in source:
        return DAG(source)
    if " - " in source or " -- " in source:
        return UndirectedGraph(source)
    model = read_model(source)
    return model if isinstance(model, BayesianNetwork) else model.graph


def read_graph(source: str) -> DAG | UndirectedGraph:
    """The graph of a model, or the one that arrow text spells."""
    found = read_graph_or_network(source)
    return found.graph if isinstance(found, BayesianNetwork) else found


def format_of(data: bytes) -> str | None:
    r"""The format of a file that begins so; `None` if none does."""
    if data.startswith(_GZIP):
        try:
            data = gzip.GzipFile(fileobj=io.BytesIO(data)).read(_BEGINNING)
        except (OSError, EOFError):
            return None
    encoding = "utf-16" if data.startswith(_UTF16) else "utf-8"
    text = data[:_BEGINNING].decode(encoding, errors="replace").removeprefix("\ufeff")
    return format_of_text(text)


def _piped_model(format: str | None, lenient: bool) -> AnyModel:
    """The model on standard input, in the format that is named or that it begins with."""
    data = piped_bytes()
    found = format or format_of(data)
    if found is None:
        names = ", ".join(known.name for known in FORMATS)
        problem = f"This is no model: no file in one of the formats {names} begins so."
        raise FormatError(problem, file=STANDARD_INPUT)
    with piped_file(".gz" if data.startswith(_GZIP) else "") as path, reading(STANDARD_INPUT):
        return load(path, format=found, lenient=lenient)


def ending_of(file: Path | str) -> str:
    """The ending that names a format, in lower case."""
    path = Path(file)
    return Path(path.stem).suffix.lower() if path.suffix.lower() == ".gz" else path.suffix.lower()


def check_ending(file: Path | str, option: str) -> None:
    """Refuse a file whose ending names no format; `option` is how the shell names one."""
    if ending_of(file) not in MODEL_ENDINGS:
        raise InvalidArgument(
            f"The ending of {str(file)!r} names no format; known are {' '.join(MODEL_ENDINGS)} (and .gz after them). "
            f"Or name the format, as in {option}."
        )


def check_target(target: Path | str, format: str | None = None) -> None:
    """Refuse a file that no model can be written to, before the work is done."""
    if is_standard(target) or format is not None:
        return
    endings = [ending for known in FORMATS if known.write is not None for ending in known.extensions]
    if ending_of(target) not in endings:
        raise InvalidArgument(f"The ending of {str(target)!r} names no format to write; known are {' '.join(endings)}.")
    if not Path(target).parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(target))


def save_model(model: AnyModel, target: Path | str, format: str | None = None) -> None:
    """Write a model to a file, or to standard output, as bytes in UTF-8 as in a file."""
    if not is_standard(target):
        save(model, target, format=format)
        return
    with TemporaryDirectory() as folder:
        written = Path(folder) / "model"
        save(model, written, format=format or "json")
        sys.stdout.flush()
        sys.stdout.buffer.write(written.read_bytes())
