"""Files of aGrUM (pyAgrum) that list tables otherwise than their format says.

Its XDSL and UAI files of Bayesian networks list the state of the first parent fastest, after the child's, where both
formats, and the programs that they are of, list that of the last parent so. Read as they stand, they would give another
network without any error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import Final

from plausible.base.arrays import Floats
from plausible.io.xml_source import Element

__all__ = ["is_agrum_uai", "is_agrum_xdsl", "last_parent_fastest"]

# A blank after the sizes, and the name of the child as a comment after every scope.
_UAI: Final = re.compile(r"BAYES\n\d+\n(?:\d+ )+\n\d+\n(?:\d+(?: \d+)+   # [^\n]*\n)+\n")


def is_agrum_uai(text: str) -> bool:
    """Whether a UAI text is laid out as aGrUM does it for Bayesian networks; it does not say its name there.

    >>> is_agrum_uai("BAYES\\n1\\n2 \\n1\\n1 0   # coin\\n\\n\\n2\\n  0.5 0.5 \\n")
    True
    """
    return _UAI.match(text) is not None


def is_agrum_xdsl(root: Element) -> bool:
    """Whether aGrUM says that it has written an XDSL file."""
    blocks = (genie for extensions in root.named("extensions") for genie in extensions.named("genie"))
    return any(genie.attributes.get("app", "").startswith("aGrUM") for genie in blocks)


def last_parent_fastest(values: Floats, sizes: Sequence[int]) -> Floats:
    """The numbers of a table that lists the first parent's state fastest, in the usual order.

    Numbers that are no such table are left to the check that all tables go through.

    >>> import numpy as np
    >>> last_parent_fastest(np.arange(4.0), [2, 2, 1]).tolist()
    [0.0, 2.0, 1.0, 3.0]
    """
    *parents, child = sizes
    if len(parents) < 2 or values.size != prod(sizes):
        return values
    axes = (*reversed(range(len(parents))), len(parents))
    return values.reshape(*reversed(parents), child).transpose(axes).ravel()
