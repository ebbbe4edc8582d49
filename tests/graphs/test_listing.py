"""Answers that are found one by one and shown as a list."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from itertools import count, islice

import pytest

import plausible as pb
from plausible.decisions import FreeDecision, UnconstrainedDiagram
from plausible.graphs.listing import Listing

PAG = pb.PAG("A o-o B o-o C; A o-> C")
CYCLE = pb.UndirectedGraph("A - B - C - D - A")
LISTINGS = {
    "adjustment sets": pb.causal.adjustment_sets("X <- A -> B -> Y; X <- C -> Y; X -> Y", "Y", "X"),
    "front-door sets": pb.causal.front_door_sets("X -> A -> B -> Y; X <-> Y", "Y", "X"),
    "trails": pb.DAG("D -> G <- I -> S; G -> L").active_trails("D", "S", given="L"),
    "directed paths": pb.DAG("A -> B -> D; A -> C -> D").paths("A", "D"),
    "paths": CYCLE.paths("A", "C"),
    "separators": pb.UndirectedGraph("A - B - C - D - A; C - E").minimal_separators("A", "E"),
    "cliques": pb.graphs.all_cliques(CYCLE),
    "cycles": pb.graphs.cycles(CYCLE),
    "members": pb.graphs.class_members(pb.DAG("A -> B -> C")),
    "interventional members": pb.graphs.interventional_class_members(pb.DAG("A -> B -> C"), targets=["C"]),
    "MAGs": pb.graphs.pag_members(pb.PAG("A o-o B")),
    "open paths": pb.graphs.possibly_directed_paths(PAG, "A", "C"),
    "orders": UnconstrainedDiagram(decisions=[FreeDecision("A", 2), FreeDecision("B", 2)]).orders(),
}


@pytest.mark.parametrize("listing", LISTINGS.values(), ids=LISTINGS)
def test_a_listing_is_the_same_each_time_it_is_gone_through(listing):
    """By iteration, by position, by slice and by next; it prints its items."""
    items = list(listing)
    assert items
    assert list(listing) == items == listing[:]
    assert [listing[place] for place in range(len(items))] == items
    assert listing[-1] == items[-1]
    assert [next(listing) for _ in items] == items
    assert next(listing, None) is None
    assert listing
    assert repr(listing).startswith("[")
    assert repr(listing).count("<generator") == 0


def test_no_more_items_are_found_than_needed():
    """An endless search prints, is tested and is looked into."""
    numbers = Listing(count)
    assert str(numbers) == "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...]"
    assert numbers
    assert numbers[3] == 3
    assert numbers[2:8:3] == [2, 5]
    assert list(islice(numbers, 2)) == [0, 1]
    with pytest.raises(IndexError, match="There is no item 2"):
        Listing(lambda: iter("ab"))[2]
    assert not Listing(lambda: iter(()))


def test_sets_print_in_the_order_of_their_members():
    """Whatever the hashes are in this run."""
    assert repr(Listing(lambda: iter([frozenset("dbca"), frozenset()]))) == "[{'a', 'b', 'c', 'd'}, {}]"


def test_no_public_function_hands_out_a_bare_iterator():
    """What prints as `<generator object ...>` helps nobody; a walk over the nodes of a tree is one."""
    rooms = [import_module(f"plausible.{room}") for room in ("causal", "decisions", "graphs", "learn", "models")]
    bare = []
    for thing in (getattr(room, name) for room in rooms for name in room.__all__):
        parts = {thing.__name__: thing} if inspect.isfunction(thing) else {}
        if inspect.isclass(thing):
            parts = {f"{thing.__name__}.{name}": part for name, part in vars(thing).items() if name[0] != "_"}
        functions = {name: getattr(part, "fget", part) for name, part in parts.items()}
        returns = {name: getattr(part, "__annotations__", {}).get("return", "") for name, part in functions.items()}
        bare += [
            name
            for name, kind in returns.items()
            if str(kind).startswith(("Iterator", "Generator[")) or kind is Iterator
        ]
    assert bare == ["DecisionTree.nodes"]
