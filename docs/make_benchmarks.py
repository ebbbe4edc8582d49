"""Tell what benchmarks measured: the page of the site and the table of the README, from benchmarks/results.

Run it with `python docs/make_benchmarks.py` after `make bench`: it writes the table of the README anew.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from textwrap import fill

PROJECT = Path(__file__).resolve().parents[1]
BENCHMARKS = PROJECT / "benchmarks"
README = PROJECT / "README.md"
#: What stands in the README between these is made here.
IN_README = re.compile(r"(?<=<!-- benchmarks -->\n).*?(?=<!-- end of benchmarks -->)", re.DOTALL)

_CELL = re.compile(r"\S+(?: \S+)*")
_ABOUT_MACHINE = re.compile(r"Python [\d.]+, \w+")


@dataclass(frozen=True)
class Table:
    """A table of a result file, whose columns are set flush right."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def column(self, name: str) -> int | None:
        """Where a column stands; `name#2` is the second one of a name."""
        plain, _, number = name.partition("#")
        places = [place for place, title in enumerate(self.header) if title == plain]
        wanted = int(number or 1) - 1
        return places[wanted] if wanted < len(places) else None


@dataclass(frozen=True)
class Ratio:
    """How many times as fast plausible was at one thing; at least that, where the peer was stopped."""

    what: str
    value: float
    is_bound: bool


@dataclass(frozen=True)
class Comparison:
    """A task, a peer, and the columns of a result file that hold the seconds of both.

    `only` is a part of the rows' labels, of which there are so many in front; `counts_work` if the columns are work
    a second instead.
    """

    task: str
    peer: str
    file: str
    ours: str
    theirs: str
    only: str = ""
    num_labels: int = 1
    counts_work: bool = False

    def ratios(self) -> list[Ratio]:
        """One for each row that has both."""
        found = []
        for table in tables_of(self.file):
            ours, theirs = table.column(self.ours), table.column(self.theirs)
            for row in table.rows if ours is not None and theirs is not None else ():
                what = ", ".join(row[: self.num_labels])
                if self.only in " ".join(row) and row[theirs] not in ("-", ""):
                    seconds, is_bound = float(row[theirs].removeprefix("> ")), row[theirs].startswith(">")
                    value = seconds / float(row[ours])
                    found.append(Ratio(what, 1 / value if self.counts_work else value, is_bound))
        return found


_WORK = "samples or sweeps/s"
COMPARISONS = (
    Comparison("all beliefs, for new evidence on a known network", "pyAgrum", "inference", "warm s", "warm s#2"),
    Comparison("all beliefs, of a network just loaded", "pyAgrum", "inference", "cold s", "pyAgrum cold s"),
    Comparison("all beliefs, of a network just loaded", "pgmpy", "inference", "cold s", "pgmpy s"),
    Comparison("the belief of one variable for 1,000 rows", "pyAgrum", "batches", "s", "s#2", num_labels=3),
    Comparison("draws by likelihood weighting", "pyAgrum", "approximate", _WORK, "pyAgrum", "likelihood", 2, True),
    Comparison("sweeps of Gibbs sampling", "pyAgrum", "approximate", _WORK, "pyAgrum", "Gibbs", 2, True),
    Comparison("sweeps of loopy belief propagation", "pyAgrum", "approximate", _WORK, "pyAgrum", "loopy", 2, True),
    Comparison("learning a graph by BIC", "pyAgrum", "structure", "default s", "pyAgrum s", num_labels=2),
    Comparison("PC", "pyAgrum", "constraint_based", "s", "pyAgrum", num_labels=2),
    Comparison("PC", "causal-learn", "constraint_based", "s", "causal-learn", num_labels=2),
    Comparison("FCI", "causal-learn", "causal_discovery", "stable s", "causal-learn s"),
    Comparison("EM with missing cells", "pyAgrum", "expectation_maximization", "s reading included", "pyAgrum s"),
    Comparison("hidden Markov models", "hmmlearn", "sequences", "plausible s", "hmmlearn s", num_labels=2),
    Comparison("Kalman filters", "statsmodels", "linear_systems", "plausible s", "peer s", "statsmodels"),
    Comparison("Kalman filters, many sequences", "simdkalman", "linear_systems", "plausible s", "peer s", "simdkalman"),
    Comparison("a step of training a chain CRF", "CRFsuite", "labelling", "a step s", "a step s#2", num_labels=2),
    Comparison("graphical lasso", "scikit-learn", "undirected", "ours s", "peer s", "graphical lasso"),
    Comparison("iterative proportional fitting", "ipfn", "undirected", "ours s", "peer s", "IPF"),
    Comparison("identification of effects", "y0", "identification", "s", "y0 s", num_labels=2),
    Comparison("influence diagrams", "pyAgrum", "influence_diagrams", "ms", "pyAgrum ms", num_labels=2),
    Comparison("d-separation", "networkx", "separation", "query ms", "networkx query ms"),
    Comparison("d-separation", "pyAgrum", "separation", "query ms", "pyAgrum query ms"),
    Comparison("reading BIF files", "pyAgrum", "reading", "read s", "pyAgrum read s"),
)  # fmt: skip

#: Those that the README shows.
_FOR_README = (
    "all beliefs, for new evidence on a known network",
    "all beliefs, of a network just loaded",
    "the belief of one variable for 1,000 rows",
    "learning a graph by BIC",
    "PC",
    "EM with missing cells",
    "hidden Markov models",
    "identification of effects",
    "influence diagrams",
)

INTRODUCTION = """# Benchmarks

How long plausible takes for what other libraries do too. Each table below is from one run of `make bench`, in which
both did the same work in turns, on the same inputs. Times are the shortest of several runs, by the clock, unless a
section says CPU seconds. {machine}

"Times as fast" is the median over all that was measured; the last column has the worst and the best. Below one, the
other library is faster; `>` means that it was stopped before it was done.
"""


@cache
def tables_of(file: str) -> tuple[Table, ...]:
    """The tables of a result file: each stands below a line on the machine."""
    return tuple(piece for piece in pieces_of(file) if isinstance(piece, Table))


def pieces_of(file: str) -> Iterator[Table | str]:
    """The tables of a result file, and the lines of prose between them, in order."""
    lines = iter((BENCHMARKS / "results" / f"{file}.txt").read_text(encoding="utf-8").splitlines())
    for line in lines:
        if not _ABOUT_MACHINE.fullmatch(line):
            if line.strip():
                yield line
            continue
        header = next(lines)
        ends = [0, *(cell.end() for cell in _CELL.finditer(header))][:-1]
        rows, after = [], ""
        for row in lines:
            if "  " not in row.strip():
                after = row
                break
            rows.append(tuple(row[start:end].strip() for start, end in zip(ends, [*ends[1:], None], strict=True)))
        yield Table(tuple(_CELL.findall(header)), tuple(rows))
        if after.strip():
            yield after


def page() -> str:
    """The page of the site."""
    parts = [INTRODUCTION.format(machine=_machine()), _summary(COMPARISONS), *_slower()]
    for path in sorted((BENCHMARKS / "results").glob("*.txt")):
        if path.stem != "machine":
            parts += _section(path.stem)
    return "\n".join(parts)


def table_of_readme() -> str:
    """The table of the README, with a sentence on how it was measured."""
    shown = [comparison for comparison in COMPARISONS if comparison.task in _FOR_README]
    return f"{_summary(shown)}\n{_machine()}\n"


def _machine() -> str:
    return fill((BENCHMARKS / "results" / "machine.txt").read_text(encoding="utf-8").strip(), 120)


def _summary(comparisons: Iterable[Comparison]) -> str:
    rows = []
    for comparison in comparisons:
        ratios = sorted(comparison.ratios(), key=lambda ratio: ratio.value)
        middle = f"{median(ratio.value for ratio in ratios):.2g}"
        ends = "one measured" if len(ratios) == 1 else f"{_number(ratios[0])} to {_number(ratios[-1])}"
        rows.append([comparison.task, comparison.peer, _plain(float(middle)), ends])
    return _markdown(["task", "beside", "times as fast", "from, to"], rows)


def _slower() -> Iterator[str]:
    """What a peer does faster, all of it."""
    found = [
        f"- {comparison.task} ({ratio.what}): {comparison.peer}, {_number(ratio)}"
        for comparison in COMPARISONS
        for ratio in comparison.ratios()
        if ratio.value < 1
    ]
    yield "## Where others are faster\n\n" + "\n".join(found) + "\n"


def _section(file: str) -> Iterator[str]:
    """A result file: what its script says, and its tables."""
    docstring = ast.get_docstring(ast.parse((BENCHMARKS / f"{file}.py").read_text(encoding="utf-8"))) or ""
    yield f"## {file.replace('_', ' ').capitalize()} {{ #{file} }}\n\n{docstring}\n"
    for piece in pieces_of(file):
        yield piece + "\n" if isinstance(piece, str) else _markdown(piece.header, piece.rows)


def _markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown, numbers flush right."""
    body = [list(row) for row in rows]
    columns = list(zip(*body, strict=True))
    rules = ["---:" if all(re.match(r"[->\d]|$|one", cell) for cell in column) else "---" for column in columns]
    lines = [list(header), rules, *body]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def _number(ratio: Ratio) -> str:
    return f"{'> ' if ratio.is_bound else ''}{_plain(float(f'{ratio.value:.2g}'))}"


def _plain(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:g}"


if __name__ == "__main__":
    text = README.read_text(encoding="utf-8")
    README.write_text(IN_README.sub(lambda _: table_of_readme(), text), encoding="utf-8")
