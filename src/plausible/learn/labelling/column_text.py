"""Tagged text in columns, as in the CoNLL tasks: a line for each token, empty lines between sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from plausible.errors import FormatError, counted

#: A sentence: a row of cells for each token.
Sentence = list[list[str]]


def parse_columns(text: str) -> list[Sentence]:
    """Sentences of tokens of cells; all lines that are not empty have as many.

    >>> parse_columns("the D\\ncat N\\n\\ndogs N\\n")
    [[['the', 'D'], ['cat', 'N']], [['dogs', 'N']]]
    """
    rows = [(number, line.split()) for number, line in enumerate(text.splitlines(), start=1)]
    width = next((len(cells) for _, cells in rows if cells), 0)
    for number, cells in rows:
        if cells and len(cells) != width:
            raise FormatError(
                f"Line {number} has {counted(len(cells), 'column')}, but the first has {width}: each token has as many "
                "cells, with blanks between them."
            )
    if not width:
        raise FormatError("There is no token in this text: it has a line for each, and the label comes last.")
    return [[cells for _, cells in part] for is_token, part in groupby(rows, lambda row: bool(row[1])) if is_token]


def window_features(tokens: Sequence[Sequence[str]], reach: int = 2) -> list[list[str]]:
    """For each token the cells of it and of those up to `reach` before and after, and pairs of neighbours.

    >>> window_features([["the"], ["cat"]], reach=1)
    [['0[0]=the', '0[+1]=cat', '0[0,+1]=the|cat', 'first'], ['0[-1]=the', '0[0]=cat', '0[-1,0]=the|cat', 'last']]
    """
    return [list(_features(tokens, place, reach)) for place in range(len(tokens))]


def _features(tokens: Sequence[Sequence[str]], place: int, reach: int) -> Iterator[str]:
    near = range(max(-reach, -place), min(reach, len(tokens) - 1 - place) + 1)
    for column in range(len(tokens[place])):
        cells = {step: tokens[place + step][column] for step in near}
        for step, cell in cells.items():
            yield f"{column}[{_signed(step)}]={cell}"
        for step in (-1, 0):
            if step in cells and step + 1 in cells:
                yield f"{column}[{_signed(step)},{_signed(step + 1)}]={cells[step]}|{cells[step + 1]}"
    if place == 0:
        yield "first"
    if place == len(tokens) - 1:
        yield "last"


def _signed(step: int) -> str:
    return f"{step:+d}" if step else "0"
