"""Formulas as nested tuples, written out with all parentheses and judged world by world: no code of the library."""

from __future__ import annotations

import itertools
import math

from hypothesis import strategies as st

PEOPLE, PAPERS, TOPICS = ("ann", "bob"), ("p1",), ("AI", "DB", "theory")
CONSTANTS = {"person": list(PEOPLE), "paper": list(PAPERS)}
PREDICATES = {
    "Smokes": ["person"],
    "Friends": ["person", "person"],
    "Wrote": ["person", "paper"],
    "Topic": (["paper"], list(TOPICS)),
    "Likes": (["person"], list(TOPICS[:2])),
}
TYPES = {"Smokes": ("person",), "Friends": ("person", "person"), "Wrote": ("person", "paper"),
         "Topic": ("paper",), "Likes": ("person",)}  # fmt: skip
STATES = {"Topic": TOPICS, "Likes": TOPICS[:2]}
_OF_TYPE = {"person": ("x", "y", "z"), "paper": ("p",)}


def _terms(kinds):
    """Variables of the types, now and then a constant."""
    choices = [
        st.sampled_from([*(("variable", name) for name in _OF_TYPE[kind]), ("constant", CONSTANTS[kind][0])])
        for kind in kinds
    ]
    return st.tuples(*choices)


def _leaves():
    atoms = st.sampled_from(["Smokes", "Friends", "Wrote"]).flatmap(
        lambda name: st.tuples(st.just("atom"), st.just(name), _terms(TYPES[name]))
    )
    states = st.sampled_from(["Topic", "Likes"]).flatmap(
        lambda name: st.tuples(st.just("state"), st.just(name), _terms(TYPES[name]), st.sampled_from(STATES[name]))
    )
    alike = st.tuples(
        st.just("alike"),
        *(st.sampled_from(["Topic", "Likes"]).flatmap(lambda n: st.tuples(st.just(n), _terms(TYPES[n]))) for _ in "ab"),
    )
    same = st.tuples(st.just("same"), st.sampled_from("xyz"), st.sampled_from("xyz"))
    return st.one_of(atoms, atoms, states, alike, same)


def formulas():
    """Random formulas over the predicates above; each of their variables is in some predicate."""
    tree = st.recursive(
        _leaves(),
        lambda inner: st.one_of(
            st.tuples(st.just("not"), inner),
            st.tuples(st.sampled_from(["and", "or"]), st.lists(inner, min_size=2, max_size=3).map(tuple)),
            st.tuples(st.sampled_from(["implies", "iff"]), inner, inner),
            st.tuples(st.sampled_from(["forall", "exists"]), st.sampled_from(["x", "y", "p"]), inner),
        ),
        max_leaves=5,
    )
    return tree.filter(lambda one: _is_typed(one, {}))


def _is_typed(one, bound):
    """Whether each variable, of each quantifier its own, is in a predicate."""
    uses = {}
    _collect(one, {}, uses, itertools.count())
    return all(uses.values())


def _collect(one, names, uses, numbers):
    kind = one[0]
    if kind in ("atom", "state"):
        for sort, name in one[2]:
            if sort == "variable":
                uses[names.get(name, name)] = True
    elif kind == "alike":
        for _, terms in one[1:]:
            for sort, name in terms:
                if sort == "variable":
                    uses[names.get(name, name)] = True
    elif kind == "same":
        for name in one[1:]:
            uses.setdefault(names.get(name, name), False)
    elif kind in ("forall", "exists"):
        own = (one[1], next(numbers))
        uses.setdefault(own, False)
        _collect(one[2], {**names, one[1]: own}, uses, numbers)
    else:
        for part in one[1] if kind in ("and", "or") else one[1:]:
            _collect(part, names, uses, numbers)


def written(one):
    """The formula as text, in parentheses throughout."""
    kind = one[0]
    if kind == "atom":
        return _written_atom(*one[1:])
    if kind == "state":
        return f"({_written_atom(*one[1:3])} = {one[3]})"
    if kind == "alike":
        return f"({_written_atom(*one[1])} = {_written_atom(*one[2])})"
    if kind == "same":
        return f"({one[1]} = {one[2]})"
    if kind == "not":
        return f"(not {written(one[1])})"
    if kind in ("and", "or"):
        return "(" + {"and": " & ", "or": " | "}[kind].join(map(written, one[1])) + ")"
    if kind in ("implies", "iff"):
        return f"({written(one[1])} {'=>' if kind == 'implies' else '<=>'} {written(one[2])})"
    return f"({kind} {one[1]}: {written(one[2])})"


def _written_atom(name, terms):
    return f"{name}({', '.join(f'{n!r}' if sort == 'constant' else n for sort, n in terms)})"


def free_variables(one):
    """Name -> type, of the variables that no quantifier binds."""
    kind = one[0]
    if kind == "same":
        return dict.fromkeys(one[1:], "person")
    if kind in ("atom", "state"):
        return {name: kind_ for (sort, name), kind_ in zip(one[2], TYPES[one[1]], strict=True) if sort == "variable"}
    if kind == "alike":
        return {k: v for part in one[1:] for k, v in free_variables(("atom", *part)).items()}
    if kind in ("forall", "exists"):
        return {name: kind_ for name, kind_ in free_variables(one[2]).items() if name != one[1]}
    parts = one[1] if kind in ("and", "or") else one[1:]
    return {name: kind_ for part in parts for name, kind_ in free_variables(part).items()}


def holds(one, world, names):
    """Whether a formula is true in a world {(predicate, constants): state}, its variables put at constants."""
    kind = one[0]
    if kind == "atom":
        return world[one[1], _put(one[2], names)]
    if kind == "state":
        return world[one[1], _put(one[2], names)] == one[3]
    if kind == "alike":
        return world[one[1][0], _put(one[1][1], names)] == world[one[2][0], _put(one[2][1], names)]
    if kind == "same":
        return names[one[1]] == names[one[2]]
    if kind == "not":
        return not holds(one[1], world, names)
    if kind == "and":
        return all(holds(part, world, names) for part in one[1])
    if kind == "or":
        return any(holds(part, world, names) for part in one[1])
    if kind == "implies":
        return not holds(one[1], world, names) or holds(one[2], world, names)
    if kind == "iff":
        return holds(one[1], world, names) == holds(one[2], world, names)
    chosen = CONSTANTS["paper" if one[1] == "p" else "person"]
    some = (holds(one[2], world, {**names, one[1]: constant}) for constant in chosen)
    return all(some) if kind == "forall" else any(some)


def _put(terms, names):
    return tuple(name if sort == "constant" else names[name] for sort, name in terms)


def num_true(one, world):
    """The number of true groundings."""
    free = free_variables(one)
    places = itertools.product(*(CONSTANTS[kind] for kind in free.values()))
    return sum(holds(one, world, dict(zip(free, place, strict=True))) for place in places)


def worlds(names=tuple(TYPES)):
    """All worlds of the predicates of these names."""
    atoms = [(name, args) for name in names for args in itertools.product(*(CONSTANTS[kind] for kind in TYPES[name]))]
    for states in itertools.product(*(STATES.get(name, (False, True)) for name, _ in atoms)):
        yield dict(zip(atoms, states, strict=True))


def called(atom):
    """What an atom is called."""
    return f"{atom[0]}({', '.join(atom[1])})"


def log_sum(numbers):
    """log Σ exp."""
    top = max(numbers)
    return top + math.log(math.fsum(math.exp(number - top) for number in numbers))
