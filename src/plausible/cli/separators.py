"""What stands between the columns of a CSV file."""

from __future__ import annotations

from pathlib import Path

from plausible.cli.tables import check_ending
from plausible.errors import FormatError

__all__ = ["refuse_other_separators"]

_OTHERS = {";": "semicolons", "\t": "tabs", "|": "bars"}


def refuse_other_separators(path: Path) -> None:
    """Refuse a CSV file whose first line has no comma, but another sign that stands between columns elsewhere."""
    if check_ending(path) != ".csv":
        return
    with path.open(encoding="utf-8-sig", errors="replace") as stream:
        first = stream.readline().rstrip("\n")
    sign = next((sign for sign in _OTHERS if sign in first), None)
    if sign is not None and "," not in first:
        raise FormatError(
            f"The columns stand between {_OTHERS[sign]}, and would be read as one, {first!r}. Save the file with "
            "commas between columns, and points in numbers.",
            file=str(path),
            line=1,
        )
