"""The moves of equivalence search, one by one, for tests that judge them all."""

from plausible.graphs.mark_masks import bits
from plausible.learn.structures.exact.class_graph import ClassMove


def moves_of(state, kind):
    """The valid moves of a class."""
    every = (1 << len(state.names)) - 1
    for y in range(len(state.names)):
        for before, others in state.insertions(y, every) if kind == "insert" else state.deletions(y):
            moves = [ClassMove(kind, x, y, before) for x in bits(others)]
            yield from (move for move in moves if state.is_valid(move))
