"""Options that mean the same everywhere: written here once, told by `help()` of each call that has them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from inspect import cleandoc, unwrap
from textwrap import fill
from types import MappingProxyType
from typing import Any

#: Name, or names that come together -> what they mean; a docstring describes such an option only where it means
#: something special.
COMMON_OPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "progress": "Called with the state after each step, or now and then in long steps: of the type that the "
        "signature names. An answer that is true ends the work with the best so far.",
        "seed": "A whole number, 0 or more, or a NumPy generator, for all that is drawn at random. The same number "
        "gives the same answer, for any number of threads.",
        "time_limit": "In seconds, for the whole call with all of its runs. No further step begins after that, and the "
        "best so far is the answer; `None` for no limit.",
        "max_steps": "The most steps of a run, which then ends with the best so far; `None`, where it is taken, for no "
        "limit.",
        "tolerance": "The change, the gain or the difference that counts as none; a run that gets there has converged.",
        "restarts": "So many further runs from other starts, drawn at random, beside the first; the best of all is the "
        "answer.",
        "evidence": "What is known: name -> a state, a collection of states, or `likelihood(...)`; of an influence "
        "diagram what is known before any decision is made.",
        "options": "How the work is done: a record of the type that the signature names. That of an influence diagram, "
        "`SolvingOptions`, has the words of `solve`.",
        "output, progress": "A file that rows go to, piece by piece, where they need not fit in memory: .parquet, .csv "
        "or .tsv (packed as .gz, .bz2 or .xz, too), .arrow or .feather. It appears once it is whole, and takes the "
        "place of one of that name; answers for rows stand in it in their order, after the index of these. The call "
        "then gives a record with its `path`, `num_rows`, `num_pieces` and `num_bytes`. progress= is called with the "
        "number of rows done, after each piece; an answer that is true, like Ctrl-C, ends it, and no file appears.",
        "engine": "How the answer is computed: an engine such as `LoopyBP()`; by default the cheapest exact way. "
        '"auto" is exact where that is within the budget, and else approximate; the `info` of the answer says which.',
        "budget": "The most time and memory that exact answers may take; by default `Budget()`. What would cost more "
        "is refused before it is begun.",
        "checkpoint": "A file that holds how far the work is, written every few seconds: the same call with the same "
        "arguments goes on where it was ended, by whatever. It is removed when the work is done. None for no file.",
        "sequence, time, gaps": "The columns that say which sequence a row belongs to and when it comes in it; without "
        "them, all rows are one sequence and come as they stand. Where times lack a step, gaps= says what to do: "
        '"refuse" the rows, "fill" in a step at which nothing is observed, or "ignore" it.',
    }
)

#: The heading of the part of a docstring that tells of parameters, and the one of any part.
_PARAMETERS, _HEADING = "Parameters\n----------\n", re.compile(r"\n\n\w[\w ]*\n-{3,}\n")


def tell_common_options(call: Callable[..., Any]) -> None:
    """Add to the docstring the common options that a function or a method has and does not describe itself.

    >>> def climb(start, *, seed=0):
    ...     '''Go up.'''
    >>> tell_common_options(climb)
    >>> print(climb.__doc__[:65])
    Go up.
    <BLANKLINE>
    Parameters
    ----------
    seed
        A whole number, 0 or more,
    """
    code = unwrap(call).__code__
    taken = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    names = [name for name in COMMON_OPTIONS if set(name.split(", ")) <= set(taken)]
    together = {one for name in names if ", " in name for one in name.split(", ")}
    names = [name for name in names if name not in together]
    if not names or not call.__doc__:
        return
    doc = cleandoc(call.__doc__)
    names.sort(key=lambda name: taken.index(name.split(", ")[0]))
    untold = [name for name in names if not re.search(rf"^(\w+, )*{name}(, \w+)*$", doc, re.MULTILINE)]
    if not untold:
        return
    told = [
        f"{name}\n{fill(COMMON_OPTIONS[name], 116, initial_indent='    ', subsequent_indent='    ')}" for name in untold
    ]
    start = doc.find(_PARAMETERS)
    following = _HEADING.search(doc, max(start, 0))
    end = following.start() if following else len(doc)
    heading = "\n" if start >= 0 else f"\n\n{_PARAMETERS}"
    call.__doc__ = doc[:end] + heading + "\n".join(told) + doc[end:]
