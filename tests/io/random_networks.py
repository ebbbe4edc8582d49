"""Random networks with every name, state and number that a file format could trip over."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from plausible.cpds import TableCPD
from plausible.models import BayesianNetwork, Notes, VariableNotes
from plausible.variables import State, Variable

#: Words that are keywords somewhere, or that need quoting, escaping or replacing somewhere.
NASTY_WORDS = (
    "network",
    "variable",
    "probability",
    "table",
    "default",
    "property",
    "node",
    "potential",
    "states",
    "data",
    "net",
    "true",
    "NaN",
    "1e5",
    "0",
    "12+",
    "-3",
    ".5",
    "2nd choice",
    "<5",
    ">=30",
    "5-10",
    "a/b",
    "x.y.z",
    "f(x)",
    "(a)",
    "(a, b)",
    "[2]",
    "{x}",
    "a|b",
    "a,b",
    "a;b",
    "a=b",
    "it's",
    'say "hi"',
    'quote"',
    "back\\slash",
    "ends with \\",
    "100%",
    "% no comment",
    "// no comment",
    "/* no comment */",
    "# no comment",
    "<!-- none -->",
    "&amp;",
    "]]>",
    " spaces around ",
    "two  spaces",
    "tab\there",
    "line\nbreak",
    "_",
    "-",
    "@",
    "größe",
    "Ελλάδα",
    "日本語",
    "🎲",
    "e\u0301",
    "null",
)

_PLAIN_STATES: tuple[tuple[State, ...], ...] = (
    (False, True),
    (0, 1, 2, 3),
    (-1.5, 0.25, 1e-9),
    ((0, "a"), (1, "b")),
    ("None", "other"),
)


def random_network(
    rng: np.random.Generator, num_variables: int = 5, max_states: int = 4, nasty: bool = True, min_states: int = 1
) -> BayesianNetwork:
    """A network over a random graph: one-state variables, many parents, zeros and certainties in the tables."""
    names = _names(rng, num_variables, nasty)
    variables = [Variable(name, _states(rng, min_states, max_states, nasty)) for name in names]
    cpds = []
    for position, variable in enumerate(variables):
        parents: list[Variable] = []
        for candidate in rng.permutation(position)[: rng.integers(0, 7)]:
            if np.prod([v.num_states for v in (*parents, variables[candidate], variable)]) <= 2000:
                parents.append(variables[candidate])
        cpds.append(TableCPD(variable, _rows(rng, parents, variable), parents))
    order = rng.permutation(num_variables)
    return BayesianNetwork(*(cpds[i] for i in order))


def random_notes(rng: np.random.Generator, network: BayesianNetwork) -> Notes:
    """A name, and labels, positions and properties on some of the variables."""
    words = [str(word) for word in rng.permutation(NASTY_WORDS)]
    variables = {
        name: VariableNotes(
            label=words[i % len(words)],
            position=(float(rng.integers(-500, 500)), float(rng.integers(0, 1000)) / 8),
            properties=MappingProxyType({"Unit": words[(i + 1) % len(words)]}),
        )
        for i, name in enumerate(network.variables)
        if rng.random() < 0.7
    }
    return Notes(
        name=words[-1],
        properties=MappingProxyType({"Source": words[-2], "version": "3"}),
        variables=MappingProxyType(variables),
    )


def _names(rng: np.random.Generator, count: int, nasty: bool) -> list[str]:
    if not nasty:
        return [f"X{i}" for i in range(count)]
    chosen = rng.permutation(len(NASTY_WORDS))
    return [
        NASTY_WORDS[chosen[i]] if i < len(chosen) else f"{NASTY_WORDS[chosen[i % len(chosen)]]} {i}"
        for i in range(count)
    ]


def _states(rng: np.random.Generator, min_states: int, max_states: int, nasty: bool) -> tuple[State, ...]:
    size = int(rng.integers(min_states, max_states + 1))
    if not nasty:
        return tuple(f"s{i}" for i in range(size))
    kind = rng.random()
    if kind < 0.2:
        return _PLAIN_STATES[rng.integers(len(_PLAIN_STATES))][:max_states]
    words = [*NASTY_WORDS, ""]
    return tuple(words[i] for i in rng.permutation(len(words))[:size])


def _rows(rng: np.random.Generator, parents: list[Variable], child: Variable) -> np.ndarray:
    shape = [parent.num_states for parent in parents]
    rows = rng.dirichlet(np.full(child.num_states, 0.7), size=shape)
    rows = np.where(rng.random(rows.shape) < 0.15, 0.0, rows)
    certain = np.eye(child.num_states)[rng.integers(child.num_states, size=shape)]
    rows = np.where(rows.sum(axis=-1, keepdims=True) == 0, certain, rows)
    return np.asarray(rows / rows.sum(axis=-1, keepdims=True))
