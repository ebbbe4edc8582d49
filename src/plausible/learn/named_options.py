"""Options by name: "bdeu", or with a number "bdeu:10"."""

from __future__ import annotations

from typing import NamedTuple

from plausible.errors import InvalidArgument


class NamedOption(NamedTuple):
    """A name in lower case with hyphens, and the number that stands after its colon, if one does."""

    name: str
    number: float | None


def read_named_option(text: str) -> NamedOption:
    """What a text names; case, underscores and spaces don't matter.

    Examples
    --------
    >>> read_named_option("BDeu:10"), read_named_option("gaussian_bic").name
    (NamedOption(name='bdeu', number=10.0), 'gaussian-bic')
    """
    name, colon, number = text.partition(":")
    try:
        value = float(number) if colon else None
    except ValueError:
        raise InvalidArgument(f"{text!r}: a number stands after the colon, as in '{name}:10'.") from None
    return NamedOption(name.strip().lower().replace("_", "-").replace(" ", "-"), value)
