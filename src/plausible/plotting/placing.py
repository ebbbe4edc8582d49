"""Where the slots of each layer stand: as near to their neighbours above and below as their widths allow."""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.plotting.ordering import Layered, parts_of

#: Sweeps over the layers: places move by less than a tenth of a pixel after some.
_SWEEPS = 60
_STILL = 0.05
#: How strongly an edge pulls: between two nodes, between a node and a bend, between two bends. Long edges become
#: straight.
_PULLS = np.array([1.0, 3.0, 8.0])


def placed(graph: Layered, place: Ints, widths: Floats, gaps: Floats, is_bend: np.ndarray) -> Floats:
    """The centre of each slot on its layer's line.

    The sum of squared offsets of edges, weighed, is least where each layer is an isotonic regression of the means of
    its neighbours: the widths, summed up and taken away, leave an order to keep and nothing more. Layer after layer
    comes nearer to the one optimum, since no two layers share a constraint.

    Parameters
    ----------
    widths, gaps
        Of each slot: its width, and what it wants free beside it; two neighbours have the mean of theirs between.
    is_bend
        Whether a slot is a bend of a long edge, and no node.
    """
    from scipy.optimize import isotonic_regression

    pulls = _PULLS[is_bend[graph.upper].astype(int) + is_bend[graph.lower]]
    slots, others, weights = np.r_[graph.upper, graph.lower], np.r_[graph.lower, graph.upper], np.r_[pulls, pulls]
    total = np.maximum(np.bincount(slots, weights=weights, minlength=len(place)), 1e-3)
    layers, offsets, centres = [], [], np.zeros(len(place))
    for members in parts_of(graph.layer, graph.num_layers):
        members = members[np.argsort(place[members])]
        steps = (widths[members][1:] + widths[members][:-1] + gaps[members][1:] + gaps[members][:-1]) / 2
        layers.append(members)
        offsets.append(np.r_[0.0, np.cumsum(steps)])
        centres[members] = offsets[-1] - offsets[-1][-1] / 2
    rank = np.empty(len(place), dtype=np.int64)
    for members in layers:
        rank[members] = np.arange(len(members))
    near = [(rank[slots[part]], others[part], weights[part]) for part in parts_of(graph.layer[slots], len(layers))]
    for sweep in range(_SWEEPS):
        before = centres.copy()
        for layer in range(graph.num_layers) if sweep % 2 == 0 else reversed(range(graph.num_layers)):
            members, offset = layers[layer], offsets[layer]
            owner, other, weight = near[layer]
            pulled = np.bincount(owner, weights=weight * centres[other], minlength=len(members))
            heavy = np.bincount(owner, weights=weight, minlength=len(members))
            wanted = np.where(heavy > 0, pulled / np.where(heavy > 0, heavy, 1.0), centres[members])
            centres[members] = isotonic_regression(wanted - offset, weights=total[members]).x + offset
        if np.abs(centres - before).max(initial=0.0) < _STILL:
            break
    return np.asarray(np.round(centres - centres.min(initial=0.0), 1))
