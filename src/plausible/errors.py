"""The exception tree: every error names the thing, the place and the fix.

PlausibleError
├── UnknownVariable (KeyError)        a name that no variable, node or column carries
├── UnknownState (ValueError)         a value that is not a state of its variable
├── UnknownExample (KeyError)         a name that no shipped example carries
├── InvalidVariable (ValueError)      a variable that can't exist (no states, repeated states ...)
├── InvalidEvidence (ValueError)      evidence that can't be read
├── ImpossibleEvidence (ValueError)   evidence of probability zero
├── InvalidFactor (ValueError)        a factor whose scope, shape or values don't fit
├── InvalidCPD (ValueError)           a conditional distribution that is none
├── InvalidGraph (ValueError)         an edge or node that the kind of graph forbids
│   └── CyclicGraph                   a directed cycle; carries it
├── InvalidModel (ValueError)         parts that do not make a model
├── ImmutableValue (AttributeError)   an attribute of a value that can't be changed
├── UnknownAttribute (AttributeError) an attribute that an object does not have; says what to call instead
├── InvalidArgument (ValueError)      an option or number out of its range
├── TooLarge (MemoryError)            an answer that would not fit; says how big it is
├── MissingFile (FileNotFoundError)   a file or its folder that is not there; names those like it
├── FormatError (ValueError)          a file that can't be read; carries file, line and column
├── NotRepresentable (ValueError)     a model that a file format can't hold
├── ModelContradicted (ValueError)    observations that no model of the assumed kind can show
├── NotSupported (TypeError)          a question this kind of object can't answer
├── NotIdentifiable (ValueError)      an effect that no observed distribution determines; carries the hedge
├── PositivityViolation (ValueError)  an estimand that conditions on what never happens; carries where
└── MissingDependency (ImportError)   an optional library to install
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection, Hashable, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from plausible.base.records import counted, shortened, shown
from plausible.base.remedies import Piece, Remedy, Words, in_words, told_remedies

__all__ = [
    "CyclicGraph",
    "FormatError",
    "ImmutableValue",
    "ImpossibleEvidence",
    "InvalidArgument",
    "InvalidCPD",
    "InvalidEvidence",
    "InvalidFactor",
    "InvalidGraph",
    "InvalidModel",
    "InvalidVariable",
    "MissingDependency",
    "MissingFile",
    "ModelContradicted",
    "NotIdentifiable",
    "NotRepresentable",
    "NotSupported",
    "PlausibleError",
    "PlausibleWarning",
    "PositivityViolation",
    "RoundedProbabilities",
    "TooLarge",
    "UnknownAttribute",
    "UnknownExample",
    "UnknownState",
    "UnknownVariable",
    "close_match",
    "counted",
    "shortened",
    "suggestion",
    "warn_caller",
]


class _Told(Exception):
    """A problem, and what can be done about it: both are data, which each shell has words for."""

    #: What can be done about it.
    remedies: tuple[Remedy, ...] = ()

    def __init__(self, *problem: Piece, remedies: Iterable[Remedy] = ()) -> None:
        super().__init__(*problem)
        if remedies:
            self.remedies = tuple(remedies)

    def told(self, words: Words = str) -> str:
        """The problem, then the remedies that a shell has, in its words."""
        return in_words(self.args, words) + told_remedies(self.remedies, words)

    def __str__(self) -> str:
        return self.told()


class PlausibleError(_Told):
    """The root of everything that this library raises on purpose: a problem, and what can be done about it.

    Both are data. The problem is text, in which arguments and calls may stand as such; `remedies` name what to change,
    and to what. The message is Python's; `told` says it in the words of another shell.

    Examples
    --------
    >>> from plausible.base.remedies import Argument, Remedy
    >>> print(InvalidArgument("That is too much.", remedies=[Remedy("use ", Argument("engine", "auto"))]))
    That is too much. Use engine='auto'.
    """


class UnknownVariable(PlausibleError, KeyError):
    """A name that no variable, node or column carries."""

    @classmethod
    def named(cls, name: Hashable, candidates: Iterable[Hashable], place: str) -> UnknownVariable:
        """The error for `name` that is missing in `place`, with close matches among `candidates`."""
        return cls(f"{shown(name)} is not a variable of {place}.{suggestion(name, candidates)}")

    @classmethod
    def check(cls, name: Hashable, there: Collection[Any], place: str) -> None:
        """Refuse a name that is not among those of `place`."""
        if name not in there:
            raise cls.named(name, there, place)

    @classmethod
    def check_all(cls, names: Iterable[Hashable], there: Collection[Any], place: str) -> None:
        """Refuse names that are not among those of `place`, the first of them."""
        for name in names:
            cls.check(name, there, place)


class UnknownState(PlausibleError, ValueError):
    """A value that is not a state of its variable."""


class UnknownExample(PlausibleError, KeyError):
    """A name that no shipped example carries."""


class InvalidVariable(PlausibleError, ValueError):
    """A variable that can't exist."""


class InvalidEvidence(PlausibleError, ValueError):
    """Evidence that can't be read."""


class ImpossibleEvidence(PlausibleError, ValueError):
    """Evidence of probability zero."""

    @classmethod
    def outright(cls) -> ImpossibleEvidence:
        """The error that names no culprit."""
        return cls("The evidence has probability zero: no assignment to the other variables allows it.")


class InvalidFactor(PlausibleError, ValueError):
    """A factor whose scope, shape or values don't fit together."""


class InvalidCPD(PlausibleError, ValueError):
    """A conditional distribution that is none."""


class InvalidGraph(PlausibleError, ValueError):
    """An edge or node that this kind of graph forbids."""


class CyclicGraph(InvalidGraph):
    """A directed cycle where none may be; `cycle` lists its nodes in order, `advice` says what to do."""

    def __init__(self, cycle: Iterable[Hashable], advice: str = "Remove or reverse one of these edges.") -> None:
        self.cycle, self.advice = tuple(cycle), advice
        path = " -> ".join(str(node) for node in (*self.cycle, *self.cycle[:1]))
        super().__init__(f"The graph has a directed cycle: {path}. {advice}")

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the cycle when the error is copied or crosses a process boundary."""
        return CyclicGraph, (self.cycle, self.advice)


class InvalidModel(PlausibleError, ValueError):
    """Parts that do not make a model."""


class ImmutableValue(PlausibleError, AttributeError):
    """An attribute of a value that can't be changed: edits return new values."""


class UnknownAttribute(PlausibleError, AttributeError):
    """An attribute that objects of the class `owner` don't have; `hint` says what to use instead.

    Close matches are looked for when the message is read: `hasattr` makes many of these errors and reads none.
    """

    def __init__(self, owner: type, name: str, hint: str = "") -> None:
        AttributeError.__init__(self, owner, name, hint)
        self.owner, self.hint = owner, hint
        self.name, self.obj = name, None  # so that Python adds no second "Did you mean" to the traceback

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the parts when the error is copied or crosses a process boundary."""
        return UnknownAttribute, (self.owner, self.name, self.hint)

    def __str__(self) -> str:
        kind = self.owner.__name__
        public = (name for name in dir(self.owner) if not name.startswith("_"))
        advice = f" {self.hint}" if self.hint else close_match(self.name, public)
        return f"{_article(kind)} {kind} has no attribute {self.name!r}.{advice}"


class InvalidArgument(PlausibleError, ValueError):
    """An option or number out of its range."""


class TooLarge(PlausibleError, MemoryError):
    """An answer that would not fit; the message says how big it would be."""

    #: Whether the remedies are general ones, which a question replaces by what can be done about it.
    is_general: bool = False
    #: Whether time would allow it, so that only memory is short.
    lacks_memory_only: bool = False
    #: About how many seconds it would take, where that is known and memory would allow it.
    seconds: float | None = None


class MissingFile(PlausibleError, FileNotFoundError):
    """A file that is not there, or that can't be written because its folder is not."""

    @classmethod
    def at(cls, path: Path, endings: Iterable[str]) -> MissingFile:
        """The error for a path; it names close matches, or else the files in its folder that have such an ending."""
        folder, endings = path.absolute().parent, tuple(endings)
        if not folder.is_dir():
            return cls._of(path, f"No such file: {str(path)!r}. {_no_folder(folder)}")
        files = sorted(other.name for other in folder.iterdir() if other.is_file())
        fitting = [name for name in files if name.lower().endswith(endings)]
        near = close_match(path.name, files) or suggestion(path.name, fitting)
        return cls._of(path, f"No such file: {str(path)!r}, looked for in {str(folder)!r}.{near}")

    @classmethod
    def for_writing(cls, path: Path) -> MissingFile:
        """The error for a file that can't be made because its folder is not there."""
        folder = path.absolute().parent
        return cls._of(path, f"{str(path)!r} can't be written. {_no_folder(folder)} Make it first, or write elsewhere.")

    @classmethod
    def _of(cls, path: Path, message: str) -> MissingFile:
        error = cls(message)
        error.filename = str(path)  # as errors of the system have it
        return error


def _no_folder(folder: Path) -> str:
    """That there is none, in a sentence; with folders like it beside where it should be."""
    beside = folder.parent
    folders = [other.name for other in beside.iterdir() if other.is_dir()] if beside.is_dir() else []
    return f"There is no folder {str(folder)!r}.{close_match(folder.name, folders)}"


class FormatError(PlausibleError, ValueError):
    """A file that can't be read, with the place where reading stopped."""

    def __init__(
        self,
        problem: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        remedies: Iterable[Remedy] = (),
    ) -> None:
        self.problem, self.file, self.line, self.column = problem, file, line, column
        place = ":".join(str(part) for part in (file, line, column) if part is not None)
        super().__init__(f"{place}: {problem}" if place else problem, remedies=remedies)

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the place when the error crosses a process boundary."""
        return _format_error, (self.problem, self.file, self.line, self.column, self.remedies)

    def in_file(self, file: str) -> FormatError:
        """The same error with the name of the file that was read."""
        return _format_error(self.problem, file, self.line, self.column, self.remedies)


def _format_error(
    problem: str, file: str | None, line: int | None, column: int | None, remedies: tuple[Remedy, ...]
) -> FormatError:
    return FormatError(problem, file=file, line=line, column=column, remedies=remedies)


class NotRepresentable(PlausibleError, ValueError):
    """A model that a file format can't hold."""


class ModelContradicted(PlausibleError, ValueError):
    """Observations that no model of the assumed kind can show; `violation` says how far the nearest one misses them."""

    def __init__(self, message: str, violation: float = 0.0, *, remedies: Iterable[Remedy] = ()) -> None:
        self.violation = violation
        super().__init__(message, remedies=remedies)


class NotSupported(PlausibleError, TypeError):
    """A question that this kind of object can't answer."""


class NotIdentifiable(PlausibleError, ValueError):
    """A causal effect that the observed distribution does not determine; `hedge` is the structure that shows it.

    `unseen` tells what the graph has and the data lack, where that may be why; "" where it is not.
    """

    def __init__(self, message: str, hedge: object = None, unseen: str = "") -> None:
        self.hedge, self.unseen = hedge, unseen
        super().__init__(message)


class PositivityViolation(PlausibleError, ValueError):
    """An estimand that conditions on events of probability zero; `undefined` lists where it has no value."""

    def __init__(
        self, message: str, undefined: Iterable[Mapping[str, Hashable]] = (), *, remedies: Iterable[Remedy] = ()
    ) -> None:
        self.undefined = tuple(undefined)
        super().__init__(message, remedies=remedies)


class MissingDependency(PlausibleError, ImportError):
    """An optional library that has to be installed first."""

    @classmethod
    def extra(cls, library: str, extra: str) -> MissingDependency:
        """The error for `library`, which the named extra of this package brings."""
        return cls(f'This needs {library}, which is optional. Install it with: pip install "plausible[{extra}]"')


class PlausibleWarning(_Told, UserWarning):
    """The root of everything that this library warns about; its remedies are data, as those of errors are."""


class RoundedProbabilities(PlausibleWarning):
    """Probabilities missed one by rounding and were renormalised."""


def close_match(name: Hashable, candidates: Iterable[Hashable]) -> str:
    """The candidates that `name` may stand for, in a sentence (with a leading space); empty where none is close."""
    # By their beginnings: the time to compare texts is quadratic in their lengths.
    by_folded = {str(candidate)[:200].casefold(): candidate for candidate in candidates}
    close = get_close_matches(str(name)[:200].casefold(), by_folded, n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(shown(by_folded[text]) for text in close)}?" if close else ""


def suggestion(name: Hashable, candidates: Iterable[Hashable]) -> str:
    """A sentence (with a leading space) that helps someone who wrote `name` and meant a candidate.

    >>> suggestion("Grss", ["Rain", "Grass"])
    " Did you mean 'Grass'?"
    >>> suggestion("x", ["Rain", "Grass"])
    " Known: 'Rain', 'Grass'."
    """
    known = list(candidates)
    if not known:
        return ""
    if close := close_match(name, known):
        return close
    first = ", ".join(shown(candidate) for candidate in known[:8])
    more = f", ... ({len(known)} in all)" if len(known) > 8 else ""
    return f" Known: {first}{more}."


def _article(noun: str) -> str:
    return "An" if noun[:1] in "AEIOU" else "A"


def warn_caller(text: str | Warning, category: type[Warning] | None = None) -> None:
    """Warn, pointing at the innermost line outside of this package: that of whoever asked."""
    package = __name__.partition(".")[0]
    frame, level = sys._getframe(0), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
