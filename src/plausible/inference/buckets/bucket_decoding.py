"""An assignment from mini-buckets: what each variable's tables favour, given those that are set."""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.inference.buckets.bucket_sweeps import Side
from plausible.inference.buckets.bucket_tree import BucketTree

__all__ = ["decoded"]


def decoded(tree: BucketTree, side: Side, states: Ints) -> Ints:
    """Set the eliminated variables, those that went last first, each to its best state by its mini-buckets.

    Parameters
    ----------
    tree, side
        After a sweep.
    states
        One for each variable; those of kept variables count, the others are replaced.
    """
    result = states.copy()
    for bucket in reversed(list(tree.buckets())):
        variable = tree.clusters[bucket[0]].axes[0]
        scores = np.zeros(tree.sizes[variable])
        for c in bucket:
            cluster = tree.clusters[c]
            others = result[list(cluster.axes[1:])]
            scores = scores + _row(side.tables[c], others)
            for sender in cluster.senders:
                scores = scores + _row(side.messages[sender].reshape(tree.clusters[sender].lift), others)
        result[variable] = int(scores.argmax())
    return result


def _row(table: Floats, others: Ints) -> Floats:
    """The numbers along the first axis at the states of the others; axes of length one have one number for all."""
    places = [state if length > 1 else 0 for state, length in zip(others.tolist(), table.shape[1:], strict=True)]
    return np.asarray(table[(slice(None), *places)])
