"""A clique tree as rows of evidence go through it.

It is hung up at the target's clique, so that one pass answers. Large cliques are taken apart, for what differs from
row to row should meet small tables: messages over the same variables are multiplied with each other first, and a table
is summed down to the variables of the messages that vary before it meets them. Where there are many children, their
messages are multiplied a few at a time, so that products can be scaled before they underflow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Flags, Floats, Ints
from plausible.kernels.blocks import Layout
from plausible.kernels.groups import grouped
from plausible.kernels.jit import kernel

# Cliques are taken apart where a row is expected to leave at least so many entries of them.
_LARGE = 64.0
# Messages over the same variables are multiplied so many at a time.
_FEW = 8


class RowPlan(NamedTuple):
    """Nodes, children before parents: cliques and parts of cliques.

    The operands of a node are its table, its children's messages and its own message, in this order.
    """

    sizes: Ints  # The number of states of each variable
    parents: Ints  # Each node's parent; -1 for a root
    #: The variables of node p are `axes[axis_starts[p]:axis_starts[p + 1]]`, those of its message first.
    axis_starts: Ints
    axes: Ints
    #: How many variables the message has, and how many entries. That of a root has the target, if that is there.
    num_kept: Ints
    message_sizes: Ints
    #: Where each table begins, all of them in a row as the layout says; where a number one is expected behind them, for
    #: a node without a table.
    tables: Ints
    #: For each operand whose message it is; -1 for the table and the own one.
    operand_starts: Ints
    children: Ints
    #: From `step_starts[p]` on: for each variable of node p, the strides of its operands.
    step_starts: Ints
    steps: Ints
    home: int  # The root whose message is the target's marginal; -1 for none


class _Tree(NamedTuple):
    """The cliques, children before parents, each with its variables, those of its message first.

    `children[child_starts[p]:child_starts[p + 1]]` are the children of clique p, and `positions` tells which clique of
    the layout it is.
    """

    positions: Ints
    axis_starts: Ints
    axes: Ints
    num_kept: Ints
    child_starts: Ints
    children: Ints


class _Nodes(NamedTuple):
    """Nodes while they are listed: `used` counts them and their axes; `tables` has the clique whose table it is, or -1.

    `marks` is scratch, zero for each variable.
    """

    parents: Ints
    axis_starts: Ints
    axes: Ints
    num_kept: Ints
    tables: Ints
    used: Ints
    marks: Ints


@kernel(steps=lambda layout, *_: 200 * layout.cliques.size)
def plan_rows(layout: Layout, target: int, observed: Floats) -> RowPlan:
    """The plan with a clique of the target, if that is not negative, as the root of its tree.

    `observed` tells in which fraction of the rows each variable is observed.
    """
    tree = _hang_up(layout, target)
    free = 1.0 + (layout.sizes - 1.0) * (1.0 - observed)
    nodes = _list_nodes(tree, free, observed)
    num = nodes.used[0]
    return _lay_out(layout, tree.positions, nodes, num - 1 if target >= 0 else -1)


# --- the tree, turned ---


@kernel
def _hang_up(layout: Layout, target: int) -> _Tree:
    """The tree with a clique of the target as a root, and last of all."""
    num = layout.cliques.size
    above, links = np.empty(num, dtype=np.int64), np.empty(num, dtype=np.int64)
    for c in range(num):
        above[c] = layout.cliques[c].parent
        links[c] = c if above[c] >= 0 else -1
    order = _turn(above, links, layout.readings[target, 0] if target >= 0 else -1)
    places = np.empty(num, dtype=np.int64)
    places[order] = np.arange(num)
    parents = np.full(num, -1, dtype=np.int64)
    for p in range(num):
        if above[order[p]] >= 0:
            parents[p] = places[above[order[p]]]
    child_starts, children = grouped(parents, num)
    axis_starts, axes, num_kept = _order_axes(layout, order, links[order], target)
    return _Tree(order, axis_starts, axes, num_kept, child_starts, children)


@kernel
def _turn(above: Ints, links: Ints, top: int) -> Ints:
    """Make `top` a root, if it is not negative; returns the cliques, children before parents, and `top` last.

    `above` has their parents, `links` by whose separator in the layout each is linked to its parent; -1 for a root.
    """
    num = above.size
    is_turned = np.zeros(num, dtype=np.bool_)
    path, length, below, c = np.empty(num, dtype=np.int64), 0, -1, top
    while c >= 0:
        after = above[c]
        above[c], links[c], is_turned[c] = below, below, True
        path[length], below, c = c, c, after
        length += 1
    order, count = np.empty(num, dtype=np.int64), 0
    for c in range(num):
        if not is_turned[c]:
            order[count] = c
            count += 1
    order[count:] = path[:length][::-1]
    return order


@kernel
def _order_axes(layout: Layout, order: Ints, links: Ints, target: int) -> tuple[Ints, Ints, Ints]:
    """The variables of each clique, those of its message first: where they begin, they, how many the message has."""
    num = order.size
    starts, num_kept = np.zeros(num + 1, dtype=np.int64), np.zeros(num, dtype=np.int64)
    for p in range(num):
        starts[p + 1] = starts[p] + layout.cliques[order[p]].num_axes
    axes = np.empty(starts[num], dtype=np.int64)
    is_kept = np.zeros(layout.sizes.size, dtype=np.bool_)
    for p in range(num):
        count = starts[p]
        if links[p] >= 0:
            link = layout.cliques[links[p]]
            for v in layout.axes[link.holds : link.holds + link.num_separator_axes]:
                axes[count] = v
                count += 1
        elif p == num - 1 and target >= 0:
            axes[count] = target
            count += 1
        num_kept[p] = count - starts[p]
        for v in axes[starts[p] : count]:
            is_kept[v] = True
        clique = layout.cliques[order[p]]
        for v in layout.axes[clique.holds : clique.holds + clique.num_axes]:
            if not is_kept[v]:
                axes[count] = v
                count += 1
        for v in axes[starts[p] : starts[p] + num_kept[p]]:
            is_kept[v] = False
    return starts, axes, num_kept


# --- from cliques to nodes ---


@kernel
def _list_nodes(tree: _Tree, free: Floats, observed: Floats) -> _Nodes:
    """The nodes of all cliques; `free` has the expected number of states that a row leaves to each variable."""
    num = tree.positions.size
    most = 4 * num
    nodes = _Nodes(
        np.full(most, -1, dtype=np.int64),
        np.zeros(most + 1, dtype=np.int64),
        np.empty(4 * tree.axes.size, dtype=np.int64),
        np.zeros(most, dtype=np.int64),
        np.zeros(most, dtype=np.int64),
        np.zeros(2, dtype=np.int64),
        np.zeros(free.size, dtype=np.int64),
    )
    tops, varies = np.empty(num, dtype=np.int64), np.zeros(num, dtype=np.bool_)
    for p in range(num):
        scope = tree.axes[tree.axis_starts[p] : tree.axis_starts[p + 1]]
        below = tree.children[tree.child_starts[p] : tree.child_starts[p + 1]]
        has_varying = False
        for child in below:
            has_varying |= varies[child]
        varies[p] = has_varying
        for v in scope:
            varies[p] |= observed[v] > 0.0
        if has_varying and _product(scope, free) >= _LARGE:
            tops[p] = _take_apart(tree, nodes, p, below, varies, tops, free)
        else:
            few = _bundle(tree, nodes, below, tops) if below.size > _FEW else tops[below]
            tops[p] = _add_node(nodes, p, scope, tree.num_kept[p])
            nodes.parents[few] = tops[p]
    return nodes


@kernel
def _product(scope: Ints, free: Floats) -> float:
    product = 1.0
    for v in scope:
        product *= free[v]
    return product


@kernel
def _add_node(nodes: _Nodes, table: int, scope: Ints, num_kept: int) -> int:
    """List a node; returns its number."""
    number, start = nodes.used
    nodes.axes[start : start + scope.size] = scope
    nodes.axis_starts[number + 1] = start + scope.size
    nodes.num_kept[number], nodes.tables[number] = num_kept, table
    nodes.used[0], nodes.used[1] = number + 1, start + scope.size
    return int(number)


@kernel
def _take_apart(tree: _Tree, nodes: _Nodes, p: int, below: Ints, varies: Flags, tops: Ints, free: Floats) -> int:
    """List the nodes of a clique some of whose children's messages vary; returns the one that sends its message."""
    scope = tree.axes[tree.axis_starts[p] : tree.axis_starts[p + 1]]
    bundles = _bundle(tree, nodes, below[varies[below]], tops)
    still = _bundle(tree, nodes, below[~varies[below]], tops)
    marks = nodes.marks
    for v in scope[: tree.num_kept[p]]:
        marks[v] = 1
    for node in bundles:
        for v in nodes.axes[nodes.axis_starts[node] : nodes.axis_starts[node] + nodes.num_kept[node]]:
            marks[v] = 1
    met, rest = scope[marks[scope] == 1], scope[marks[scope] == 0]
    marks[scope] = 0
    is_summed = 2.0 * _product(met, free) <= _product(scope, free)
    if is_summed:
        table = _add_node(nodes, p, np.concatenate((met, rest)), met.size)
        top = _add_node(nodes, -1, met, tree.num_kept[p])
        nodes.parents[table] = top
    else:
        table = top = _add_node(nodes, p, scope, tree.num_kept[p])
    nodes.parents[still] = table
    nodes.parents[bundles] = top
    return top


@kernel
def _bundle(tree: _Tree, nodes: _Nodes, below: Ints, tops: Ints) -> Ints:
    """Multiply messages of cliques that are over the same variables: the nodes that are left to meet the table."""
    leads, count = _alike(tree, below, nodes.marks)
    bundles = np.empty(count, dtype=np.int64)
    for lead in range(count):
        members = tops[below[leads == lead]]
        start = nodes.axis_starts[members[0]]
        kept = nodes.axes[start : start + nodes.num_kept[members[0]]].copy()
        while members.size > 1:
            merged = np.empty((members.size + _FEW - 1) // _FEW, dtype=np.int64)
            for i in range(merged.size):
                merged[i] = _add_node(nodes, -1, kept, kept.size)
                nodes.parents[members[i * _FEW : (i + 1) * _FEW]] = merged[i]
            members = merged
        bundles[lead] = members[0]
    return bundles


@kernel
def _alike(tree: _Tree, below: Ints, marks: Ints) -> tuple[Ints, int]:
    """For each of some cliques a number that those whose messages have the same variables share; how many there are."""
    leaders, leads = np.empty(below.size, dtype=np.int64), np.empty(below.size, dtype=np.int64)
    count = 0
    for i in range(below.size):
        start = tree.axis_starts[below[i]]
        kept = tree.axes[start : start + tree.num_kept[below[i]]]
        leads[i] = count
        for lead in range(count):
            start = tree.axis_starts[leaders[lead]]
            if _are_the_same(marks, tree.axes[start : start + tree.num_kept[leaders[lead]]], kept):
                leads[i] = lead
                break
        if leads[i] == count:
            leaders[count] = below[i]
            count += 1
    return leads, count


@kernel
def _are_the_same(marks: Ints, some: Ints, others: Ints) -> bool:
    for v in some:
        marks[v] = 1
    found = some.size == others.size
    for v in others:
        found &= marks[v] == 1
    for v in some:
        marks[v] = 0
    return found


# --- strides ---


@kernel
def _lay_out(layout: Layout, positions: Ints, nodes: _Nodes, home: int) -> RowPlan:
    """The plan of listed nodes."""
    num, num_axes = nodes.used
    parents, axis_starts, axes = nodes.parents[:num], nodes.axis_starts[: num + 1], nodes.axes[:num_axes]
    message_sizes = np.ones(num, dtype=np.int64)
    for p in range(num):
        for v in axes[axis_starts[p] : axis_starts[p] + nodes.num_kept[p]]:
            message_sizes[p] *= layout.sizes[v]
    operand_starts, children = _operands(parents)
    step_starts, steps = _steps(layout, positions, nodes, operand_starts, children)
    return RowPlan(
        layout.sizes,
        parents,
        axis_starts,
        axes,
        nodes.num_kept[:num],
        message_sizes,
        _tables(layout, positions, nodes.tables[:num]),
        operand_starts,
        children,
        step_starts,
        steps,
        home,
    )


@kernel
def _tables(layout: Layout, positions: Ints, owners: Ints) -> Ints:
    """Where the tables of nodes begin; behind the last one for those without."""
    last = layout.cliques[layout.cliques.size - 1]
    tables = np.full(owners.size, last.table + last.rows * last.columns)
    for p in range(owners.size):
        if owners[p] >= 0:
            tables[p] = layout.cliques[positions[owners[p]]].table
    return tables


@kernel
def _operands(parents: Ints) -> tuple[Ints, Ints]:
    """Where the operands of each node begin, and whose message each is: the table, the children's, the own one."""
    num = parents.size
    starts = np.zeros(num + 1, dtype=np.int64)
    for p in range(num):
        if parents[p] >= 0:
            starts[parents[p] + 1] += 1
    for p in range(num):
        starts[p + 1] += starts[p] + 2
    children, free = np.full(starts[num], -1, dtype=np.int64), starts[:num] + 1
    for p in range(num):
        if parents[p] >= 0:
            children[free[parents[p]]] = p
            free[parents[p]] += 1
    return starts, children


@kernel
def _steps(layout: Layout, positions: Ints, nodes: _Nodes, operand_starts: Ints, children: Ints) -> tuple[Ints, Ints]:
    """Where the strides of each node begin, and for each of its variables the strides of its operands."""
    num = operand_starts.size - 1
    starts = np.zeros(num + 1, dtype=np.int64)
    for p in range(num):
        num_axes = nodes.axis_starts[p + 1] - nodes.axis_starts[p]
        starts[p + 1] = starts[p] + (operand_starts[p + 1] - operand_starts[p]) * num_axes
    steps, strides = np.zeros(starts[num], dtype=np.int64), np.zeros(layout.sizes.size, dtype=np.int64)
    for p in range(num):
        first, width = operand_starts[p], operand_starts[p + 1] - operand_starts[p]
        scope = nodes.axes[nodes.axis_starts[p] : nodes.axis_starts[p + 1]]
        for k in range(width):
            owner = children[first + k] if children[first + k] >= 0 else p
            lies = nodes.axes[nodes.axis_starts[owner] : nodes.axis_starts[owner] + nodes.num_kept[owner]]
            if k == 0:
                clique = layout.cliques[positions[max(nodes.tables[p], 0)]]
                length = clique.num_axes if nodes.tables[p] >= 0 else 0
                lies = layout.axes[clique.holds : clique.holds + length]
            _put_strides(strides, lies, layout.sizes)
            for i in range(scope.size):
                steps[starts[p] + i * width + k] = strides[scope[i]]
            for v in lies:
                strides[v] = 0
    return starts, steps


@kernel
def _put_strides(strides: Ints, scope: Ints, sizes: Ints) -> None:
    """The strides of a table over some variables."""
    stride = 1
    for i in range(scope.size - 1, -1, -1):
        strides[scope[i]] = stride
        stride *= sizes[scope[i]]
