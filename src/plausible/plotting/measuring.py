"""How wide text is: in Helvetica and the fonts made to its measure (Arial, Liberation Sans), without asking a font."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

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
#: Signs beyond ASCII that pictures use themselves.
_SIGNS = {"−": 584, "±": 584, "…": 1000, "→": 1000, "·": 278, "ß": 611}
_WIDTHS = tuple(
    _SIGNS | {chr(32 + place): int(width) for place, width in enumerate(row.split())} for row in (_REGULAR, _BOLD)
)
#: Other letters, and wide ones of East Asia and emoji.
_OTHER, _WIDE = 680, 1100


def text_width(text: str, size: float, bold: bool = False) -> float:
    """How wide a line of text is, in the units of its size.

    >>> text_width("Asia", 10), text_width("Asia", 10, bold=True)
    (19.45, 21.12)
    """
    known = _WIDTHS[bold]
    return sum(known.get(sign) or _other_width(sign, known) for sign in text) * size / 1000


def known_width(text: str, size: float, bold: bool = False) -> float | None:
    """The same where all signs are known, so that a page may set the text as wide in whatever font it has; else None.

    >>> known_width("Größe", 10), known_width("שלום", 10)
    (28.34, None)
    """
    is_known = all(sign in _SIGNS or _letter(sign) in _WIDTHS[bold] for sign in text)
    return text_width(text, size, bold) if is_known else None


def _letter(sign: str) -> str:
    """What a letter is without its accents, which take no room of their own."""
    return unicodedata.normalize("NFD", sign)[0]


def _other_width(sign: str, known: Mapping[str, int]) -> int:
    if unicodedata.combining(sign):
        return 0
    if (letter := _letter(sign)) in known:
        return known[letter]
    is_wide = unicodedata.east_asian_width(sign) in "WF"
    return _WIDE if is_wide else _OTHER


def fitted(text: object, size: float, most: float, bold: bool = False) -> str:
    """A text on one line, its end left out where it is wider than `most`.

    >>> fitted("ESOPHAGEAL", 10, 50), fitted("one\\ntwo", 10, 50)
    ('ESOPH…', 'one\\\\ntwo')
    """
    line = one_line(str(text)[:500])
    if text_width(line, size, bold) <= most:
        return line
    while line and text_width(line + "…", size, bold) > most:
        line = line[:-1]
    return line.rstrip() + "…"
