"""Rows that are drawn at random, block by block: as a frame, or written to a file that need not fit in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.base import QueryInfo
from plausible.data.columns import decode
from plausible.data.row_files import WrittenRows, check_rows_path, new_rows
from plausible.variables import Variable

if TYPE_CHECKING:
    import pandas as pd

#: Name -> positions of states, or numbers.
Columns: TypeAlias = Mapping[str, NDArray[Any]]
Progress: TypeAlias = Callable[[int], object]

#: A block has about so many cells, but not fewer rows than the other number.
_CELLS, _LEAST_ROWS = 2**22, 2**12


@dataclass(frozen=True, slots=True)
class Samples:
    """Rows to draw. Their blocks depend on the model alone, so that rows are the same whoever takes them.

    A generator goes through the blocks in order, and each can be drawn once.
    """

    variables: Mapping[str, Variable]
    num_rows: int
    block: Callable[[int], Columns]  # draws so many rows, those that come next
    info: QueryInfo | None = None  # how an engine drew them
    effective_size: float | None = None  # how many independent rows they are worth
    is_whole: bool = False  # whether all of them are one block, as those that an engine draws

    def blocks(self) -> Iterator[Columns]:
        """The rows, in order; one block at least, which may have no rows."""
        size = max(_LEAST_ROWS, _CELLS // max(len(self.variables), 1))
        if self.is_whole:
            size = max(self.num_rows, 1)
        for start in range(0, max(self.num_rows, 1), size):
            yield self.block(min(size, self.num_rows - start))

    def frame(self) -> pd.DataFrame:
        """All rows, with what is known of them in `.attrs`."""
        blocks = list(self.blocks())
        whole = blocks[0]
        if len(blocks) > 1:
            whole = {name: np.concatenate([block[name] for block in blocks]) for name in whole}
        frame = decode(whole, self.variables)
        if self.info is not None:
            frame.attrs.update(info=self.info, effective_size=self.effective_size)
        return frame

    def write(self, path: str | os.PathLike[str], progress: Progress | None = None) -> WrittenRows:
        """Write all rows, block by block."""
        target = check_rows_path(path)
        with new_rows(target, self.variables) as writer:
            for block in self.blocks():
                writer.write(block)
                if progress is not None and progress(writer.num_rows):
                    raise KeyboardInterrupt
        return writer.written(target)


def taking(
    output: str | os.PathLike[str] | None, progress: Progress | None
) -> Callable[[Samples], pd.DataFrame | WrittenRows]:
    """What becomes of rows: a frame, or a file where one is named."""
    return Samples.frame if output is None else partial(Samples.write, path=output, progress=progress)
