"""How wide text is: in Helvetica and the fonts made to its measure (Arial, Liberation Sans), without asking a font."""

from __future__ import annotations

import unicodedata

from plausible.base.records import one_line

#: The fonts that pictures are set in, all of the same widths but for the last resort.
FONTS = ("Helvetica", "Arial", "Liberation Sans", "Nimbus Sans", "sans-serif")

#: The widths of the printable ASCII characters from the blank on, in thousandths of the size.
_REGULAR = (
    "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 278 278 "
    "584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667 611 722 667 944 "
    "667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 500 222 833 556 556 556 556 333 500 "
    "278 556 500 722 500 500 500 334 260 334 584"
)
_BOLD = (
    "278 333 474 556 556 889 722 238 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 333 333 "
    "584 584 584 611 975 722 722 722 722 667 611 778 722 278 556 722 611 833 722 778 667 778 722 667 611 722 667 944 "
    "667 667 611 333 278 333 584 556 333 556 611 556 611 556 333 611 611 278 278 556 278 889 611 611 611 611 389 556 "
    "333 611 556 778 556 556 500 389 280 389 584"
)
_WIDTHS = tuple({chr(32 + place): int(width) for place, width in enumerate(row.split())} for row in (_REGULAR, _BOLD))
#: Other letters, wide ones of East Asia and emoji, and marks that stand on others.
_OTHER, _WIDE = 680, 1100


def text_width(text: str, size: float, bold: bool = False) -> float:
    """How wide a line of text is, in the units of its size.

    >>> text_width("Asia", 10), text_width("Asia", 10, bold=True)
    (19.45, 21.12)
    """
    known = _WIDTHS[bold]
    return sum(known[sign] if sign in known else _other_width(sign) for sign in text) * size / 1000


def _other_width(sign: str) -> int:
    if unicodedata.combining(sign):
        return 0
    is_wide = unicodedata.east_asian_width(sign) in "WF"
    return _WIDE if is_wide else _OTHER


def fitted(text: object, size: float, most: float, bold: bool = False) -> str:
    """A text on one line, its end left out where it is wider than `most`.

    >>> fitted("ESOPHAGEAL", 10, 50), fitted("one\\ntwo", 10, 50)
    ('ESOPHA…', 'one\\\\ntwo')
    """
    line = one_line(str(text)[:500])
    if text_width(line, size, bold) <= most:
        return line
    while line and text_width(line + "…", size, bold) > most:
        line = line[:-1]
    return line.rstrip() + "…"
