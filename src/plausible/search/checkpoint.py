"""Files that hold how far long work is, so that the same call goes on where it was ended."""

from __future__ import annotations

import io
import json
import os
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, TypeAlias, TypeVar

from plausible.base import Argument, Remedy, fingerprint
from plausible.errors import FormatError, InvalidArgument, MissingFile, PlausibleWarning, warn_caller
from plausible.search.run import Run

Made = TypeVar("Made")

AnyPath: TypeAlias = "str | os.PathLike[str]"

#: A file is written after so many seconds, or after so many times as long as it took to write it.
_SECONDS, _TIMES = 5.0, 20.0
_MAGIC = "plausible checkpoint 1"
#: What values are made of besides classes of this library, by module.
_KNOWN = {
    "builtins": {"complex", "set", "frozenset", "range", "slice", "bytearray"},
    "collections": {"OrderedDict"},
    "numpy": {"ndarray", "dtype"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "numpy.core.multiarray": {"_reconstruct", "scalar"},
    "numpy._core.numeric": {"_frombuffer"},
    "numpy.random._pickle": {"__generator_ctor", "__bit_generator_ctor"},
    "numpy.random._pcg64": {"PCG64"},
    "numpy.random.bit_generator": {"SeedSequence", "__pyx_unpickle_SeedSequence"},
}


class StayingFile(str):
    """The path of a checkpoint that stays when its work is done, as more is to do: whoever named it removes it."""

    __slots__ = ()


class CheckpointNotWritten(PlausibleWarning):
    """The file of a checkpoint can't be written; the work goes on, and the last file that was written stays."""


class Checkpoint:
    """The parts of some work in the order in which they are done, the running one among them, and a file of them.

    Made by `checkpointed`. Work is told again from its beginning, as it is fixed by what is asked; parts that are known
    are not done again. The file is replaced whole: what is there can be read at any time.
    """

    def __init__(self, path: Path, asked: Mapping[str, str]) -> None:
        self._path, self._asked = path, dict(asked)
        self._parts: list[Any] = []
        self._place = 0  # of the part that is next, or that runs
        self._is_running = False  # a state that changes in place is whole between its steps alone
        self._told: dict[str, Callable[[], object]] = {}
        self._shared: tuple[object, ...] = ()
        self._written, self._pause, self._is_cut_short, self._is_new = monotonic(), _SECONDS, False, False
        body = _read(path, self._asked)
        self._waiting = None if body is None else io.BytesIO(body)
        self._known: Mapping[str, Any] = {} if self._waiting is None else self._unpickled(self._waiting)

    def share(self, *objects: object) -> None:
        """What states refer to that the work makes anew, and no file needs to hold; before the first part."""
        self._shared = objects

    def known(self, name: str, tell: Callable[[], object]) -> Any:
        """What was told under a name when the file was written, else `None`; from now on `tell` says what to write."""
        self._told[name] = tell
        return self._known.get(name)

    def made(self, make: Callable[[], Made]) -> Made:
        """The next part: as it is known, or made."""
        self._load()
        if self._place == len(self._parts):
            self._parts.append(make())
            self._is_new = True
        self._place += 1
        self.passed()
        value: Made = self._parts[self._place - 1]
        return value

    def begun(self, start: Any) -> Any:
        """Where a run that is the next part goes on: at the run that is known, or at its start."""
        self._load()
        known = self._parts[self._place] if self._place < len(self._parts) else None
        self._is_running = True
        return start if known is None else known

    def reached(self, run: Run[Any]) -> str:
        """A rule that no run ends by: it notes where the run is."""
        self._note(run)
        self.passed()
        return ""

    def ended(self, run: Run[Any]) -> None:
        """The run, which is over."""
        self._note(run)
        self._place, self._is_running = self._place + 1, False
        self._is_cut_short |= run.stopped_by in ("time limit", "interrupted")
        self.passed()

    def cut_short(self) -> None:
        """Not all was done: the file is to stay."""
        self._is_cut_short = True

    def grown(self) -> None:
        """There is more of what is told by name; it is written after the step of a run, or now."""
        self._is_new = True
        if not self._is_running:
            self.passed()

    def passed(self) -> None:
        """Write the file if that is due."""
        if self._is_new and monotonic() - self._written >= self._pause:
            self.write()

    def write(self) -> None:
        """Write the file, in place of the one before."""
        begun = monotonic()
        head = json.dumps({"asked": self._asked, "version": _version()})
        told = {**self._known, **{name: tell() for name, tell in self._told.items()}}
        body = io.BytesIO()
        _Pickler(body, ()).dump(told)
        _Pickler(body, self._shared).dump(self._parts)
        beside = self._beside
        try:
            with beside.open("wb") as file:
                file.write(f"{_MAGIC}\n{head}\n".encode())
                file.write(body.getbuffer())
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, self._path)
        except OSError as error:
            beside.unlink(missing_ok=True)
            warn_caller(f"The checkpoint {str(self._path)!r} can't be written: {error}.", CheckpointNotWritten)
        self._written, self._is_new = monotonic(), False
        self._pause = max(_SECONDS, _TIMES * (self._written - begun))

    def close(self) -> None:
        """Write what is left to go on with, or remove the file where there is nothing."""
        if not self._is_cut_short:
            self._path.unlink(missing_ok=True)
            self._beside.unlink(missing_ok=True)  # of work that was killed while it wrote
        elif self._is_new:
            self.write()

    @property
    def _beside(self) -> Path:
        """What is written before it takes the name of the file."""
        return self._path.with_name(f"{self._path.name}.part")

    def _note(self, run: Run[Any]) -> None:
        """Where the running part is; what came after it is forgotten if that has moved."""
        is_known = self._place < len(self._parts) and self._parts[self._place].num_steps == run.num_steps
        self._parts[self._place :] = [run, *(self._parts[self._place + 1 :] if is_known else [])]
        self._is_new |= not is_known

    def _load(self) -> None:
        """Read the parts of the file that was there, now that it is known what they refer to."""
        if self._waiting is not None:
            self._parts, self._waiting = self._unpickled(self._waiting), None

    def _unpickled(self, body: io.BytesIO) -> Any:
        try:
            return _Unpickler(body, self._shared).load()
        except FormatError:
            raise
        except Exception as error:  # what a damaged file makes of the machine that reads it
            raise _damaged(self._path) from error


@contextmanager
def checkpointed(
    path: AnyPath | None, call: str, tell: Callable[[], Mapping[str, object]]
) -> Iterator[Checkpoint | None]:
    """The checkpoint of a call that is asked something, in a file: as it is there, or a new one; `None` without a path.

    Once all is done the file is removed. It stays where a time limit, an interruption or an error ended the work.

    Parameters
    ----------
    call
        What is called.
    tell
        Gives all that the answer depends on, by the names of arguments.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = f"{folder.name}/run.ckpt"
    >>> with checkpointed(path, "double", lambda: {"number": 3}) as saved:
    ...     six = saved.made(lambda: 2 * 3)
    ...     saved.cut_short()
    >>> with checkpointed(path, "double", lambda: {"number": 3}) as saved:
    ...     saved.made(lambda: 1 / 0)
    6
    >>> Path(path).exists()
    False
    >>> folder.cleanup()
    """
    if path is None:
        yield None
        return
    place = Path(path)
    if not place.absolute().parent.is_dir():
        raise MissingFile.for_writing(place)
    saved = Checkpoint(place, {"the call": call, **{name: fingerprint(value) for name, value in tell().items()}})
    if isinstance(path, StayingFile):
        saved.cut_short()
    yield saved
    saved.close()


def _version() -> str:
    from plausible import __version__

    return __version__


def _read(path: Path, asked: Mapping[str, str]) -> bytes | None:
    """What a file holds below its head; `None` where there is none. Refused if it is of another call."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    magic, _, rest = content.partition(b"\n")
    head, _, body = rest.partition(b"\n")
    if magic.decode(errors="replace") != _MAGIC:
        raise FormatError("This is no checkpoint: give another name.", file=str(path))
    try:
        told = json.loads(head)
        known, version = dict(told["asked"]), str(told["version"])
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(path) from error
    different = [name for name in {**known, **asked} if known.get(name) != asked.get(name)]
    if version != _version():
        different.append(f"the version of plausible ({version})")
    if different:
        differ = "differs" if len(different) == 1 else "differ"
        raise InvalidArgument(
            f"The checkpoint {str(path)!r} is of something else that was asked: {', '.join(different)} {differ}.",
            remedies=[
                Remedy("ask the same, to go on with it"),
                Remedy("begin anew in another file (", Argument("checkpoint"), ")"),
                Remedy("remove the file"),
            ],
        )
    return body


def _damaged(path: Path) -> FormatError:
    return FormatError("This checkpoint is damaged: remove the file to begin anew.", file=str(path))


class _Pickler(pickle.Pickler):
    """What is shared is told by its place."""

    def __init__(self, file: io.BytesIO, shared: Sequence[object]) -> None:
        super().__init__(file, protocol=4)
        self._places = {id(one): place for place, one in enumerate(shared)}

    def persistent_id(self, obj: object) -> int | None:
        return self._places.get(id(obj))


class _Unpickler(pickle.Unpickler):
    """Reads values of this library and of NumPy alone: no function that a file names is ever called but theirs."""

    def __init__(self, file: io.BytesIO, shared: Sequence[object]) -> None:
        super().__init__(file)
        self._shared = shared

    def persistent_load(self, place: int) -> object:
        return self._shared[place]

    def find_class(self, module: str, name: str) -> Any:
        if name in _KNOWN.get(module, ()):
            return super().find_class(module, name)
        if module.startswith("plausible.") and "." not in name:
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__ == module:
                return found
        raise FormatError(f"This checkpoint holds {module}.{name}, which no state is made of: do not trust the file.")
