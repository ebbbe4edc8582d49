"""What stands between the columns of a CSV file."""

from __future__ import annotations

import csv

from plausible.errors import FormatError

__all__ = ["refuse_other_separators"]

_OTHERS = {";": "semicolons", "\t": "tabs", "|": "bars"}


def refuse_other_separators(header: str, file: str) -> None:
    """Refuse a first line that has one name between commas, but several between other signs.

    Parameters
    ----------
    header
        The first line, as it stands in the file.
    file
        What errors call the file.

    Examples
    --------
    >>> refuse_other_separators("x,y;z", "data.csv"), refuse_other_separators('"x;y"', "data.csv")
    (None, None)
    """
    if _num_names(header, ",") > 1:
        return
    for sign, name in _OTHERS.items():
        if _num_names(header, sign) > 1:
            raise FormatError(
                f"The columns stand between {name}, and would be read as one, {header.rstrip()!r}. Save the file with "
                "commas between columns, and points in numbers. If it is one column, put its name in double quotes.",
                file=file,
                line=1,
            )


def _num_names(header: str, sign: str) -> int:
    return len(next(csv.reader([header], delimiter=sign), []))
