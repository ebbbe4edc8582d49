"""Options that mean the same everywhere: one text for each, which the reference shows.

Docstrings describe such an option only where it means something special.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

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
        "tolerance": "The change, or the gain, that counts as none, so that a run has converged.",
        "restarts": "So many further runs from other starts, drawn at random, beside the first; the best of all is the "
        "answer.",
        "evidence": "What is known: name -> a state, a collection of states, or `likelihood(...)`; of an influence "
        "diagram what is known before any decision is made.",
        "options": "Of an influence diagram: how it is solved, as `SolvingOptions` with the words of `solve`.",
        "engine": "How the answer is computed: an engine such as `LoopyBP()`; by default the cheapest exact way. "
        '"auto" is exact where that is within the budget, and else approximate; the `info` of the answer says which.',
        "budget": "The most time and memory that exact answers may take; by default `Budget()`. What would cost more "
        "is refused before it is begun.",
    }
)
