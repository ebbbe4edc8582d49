"""XDSL, the format of GeNIe and SMILE (BayesFusion).

A <smile> element holds <nodes>, each with its <state>s, the identifiers of its <parents> and its numbers (the child's
state changing fastest), and <extensions> with what GeNIe draws. Identifiers are letters, digits and underscores; other
names and states get stand-ins, and the user properties `plausible_name` and `plausible_states` restore them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plausible.base import Floats
from plausible.cpds import CPD, DeterministicCPD, NoisyMax, NoisyOr
from plausible.decisions import InfluenceDiagram
from plausible.decisions.structure.relevance import has_perfect_recall
from plausible.io.formats import Contents, Format, Model, contents, stand_ins, state_stand_ins, table_of
from plausible.io.xdsl_notes import (
    AUTOMATIC,
    LIMITED,
    genie_lines,
    grid_position,
    head_lines,
    identifier,
    node_attributes,
    property_lines,
    state_attributes,
)
from plausible.io.xdsl_parser import parse_xdsl


def format_xdsl(model: Model) -> str:
    """A Bayesian network or an influence diagram as XDSL, for GeNIe and SMILE; numbers exact to the last bit.

    Functions are written as `deterministic` nodes, noisy-or and noisy-max as `noisymax` nodes wherever SMILE can say
    them, other CPDs as tables. SMILE wants the states of a noisy-max from the strongest down to none, so they stand
    in the file the other way round than in the model; reading the file turns them back.

    GeNIe lets decisions see all that earlier ones saw and chose. A property says so where they don't see that here,
    which GeNIe passes over and our reader respects.

    >>> from plausible.cpds import TableCPD
    >>> from plausible.models import BayesianNetwork
    >>> print(format_xdsl(BayesianNetwork(TableCPD("toss", [0.5, 0.5], states=["heads", "tails"]))))
    <?xml version="1.0" encoding="UTF-8"?>
    ...
      <nodes>
        <cpt id="toss">
          <state id="heads" />
          <state id="tails" />
          <probabilities>0.5 0.5</probabilities>
        </cpt>
      </nodes>
    ...
    """
    parts = contents(model, "XDSL", discrete=True)
    names = dict(zip(parts.nodes, stand_ins(parts.nodes, identifier), strict=True))
    noisy = {name: gate for name, cpd in parts.cpds.items() if (gate := _gate(cpd)) is not None}
    places = {name: grid_position(number) for number, name in enumerate(names)}
    said = [AUTOMATIC] if any(parts.notes.of(name).position is None for name in names) else []
    said += [LIMITED] if isinstance(model, InfluenceDiagram) and not has_perfect_recall(model) else []
    head, genie = head_lines(parts.notes, said)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', *head, "  <nodes>"]
    for name in names:
        lines += _node_lines(parts, name, names, noisy, places[name])
    lines += ["  </nodes>", "  <extensions>", *genie]
    for name, written in names.items():
        lines += genie_lines(parts.notes.of(name), (written, name), places[name])
    return "\n".join([*lines, "    </genie>", "  </extensions>", "</smile>", ""])


@dataclass(frozen=True, slots=True)
class _Gate:
    """A noisy-max as SMILE has it."""

    kind: str  # `"or"` or `"max"`: what to read it as
    #: For each parent the positions of its states, from the strongest to the one without effect.
    orders: tuple[tuple[int, ...], ...]
    rows: Floats  # a row for each of these, and the leak's; in each the strongest effect first


def _gate(cpd: CPD) -> _Gate | None:
    """A noisy-or or noisy-max for SMILE, where every parent must have a state without effect."""
    orders, rows = [], []
    if isinstance(cpd, NoisyOr):
        if any(parent.num_states == 1 for parent in cpd.parents):
            return None
        for parent, chance in zip(cpd.parents, cpd.activation.tolist(), strict=True):
            active = parent.index(cpd.active_states[parent.name])
            orders.append((active, *(position for position in range(parent.num_states) if position != active)))
            rows += [[chance, 1 - chance], *[[0.0, 1.0]] * (parent.num_states - 1)]
        return _Gate("or", tuple(orders), np.array([*rows, [cpd.leak, 1 - cpd.leak]]))
    if not isinstance(cpd, NoisyMax):
        return None
    for effect in cpd.effects.values():
        neutral = np.flatnonzero((effect == np.eye(1, effect.shape[1])).all(axis=1))
        if not neutral.size:
            return None
        order = [*(position for position in range(len(effect)) if position != neutral[0]), int(neutral[0])]
        orders.append(tuple(order))
        rows += effect[order].tolist()
    return _Gate("max", tuple(orders), np.vstack([*rows, cpd.leak])[:, ::-1])


def _node_lines(
    parts: Contents, name: str, names: Mapping[str, str], noisy: Mapping[str, _Gate], no_position: tuple[float, float]
) -> Iterator[str]:
    notes = parts.notes.of(name)
    identifiers, states = ([], None) if name in parts.utilities else state_stand_ins(parts.variables[name], identifier)
    own = {} if names[name] == name else {"plausible_name": json.dumps(name)}
    own |= {} if states is None else {"plausible_states": states}
    own |= {"plausible_noisy": noisy[name].kind} if name in noisy else {}
    kinds = {"utility": parts.utilities, "decision": parts.decisions, "noisymax": noisy}
    is_function = isinstance(parts.cpds.get(name), DeterministicCPD)
    tag = next((kind for kind, of in kinds.items() if name in of), "deterministic" if is_function else "cpt")
    yield f'    <{tag} id="{names[name]}"{node_attributes(notes)}>'
    written = [
        f'      <state id="{state}"{attributes} />'
        for state, attributes in zip(identifiers, state_attributes(notes, len(identifiers)), strict=True)
    ]
    yield from reversed(written) if name in noisy else written
    if parents := parts.parents(name):
        yield f"      <parents>{' '.join(names[parent] for parent in parents)}</parents>"
    if name in parts.utilities:
        values = np.flip(parts.utilities[name].values, _backwards(parents, noisy))
        yield f"      <utilities>{_numbers(values)}</utilities>"
    elif name in parts.cpds:
        yield from _definition_lines(parts.cpds[name], identifiers, noisy)
    for line in property_lines(notes, (names[name], name), no_position, len(identifiers), own):
        yield f"  {line}"
    yield f"    </{tag}>"


def _backwards(parents: Sequence[str], noisy: Mapping[str, _Gate]) -> tuple[int, ...]:
    """The axes of parents whose states stand in the file the other way round."""
    return tuple(axis for axis, parent in enumerate(parents) if parent in noisy)


def _definition_lines(cpd: CPD, identifiers: list[str], noisy: Mapping[str, _Gate]) -> Iterator[str]:
    gate = noisy.get(cpd.variable.name)
    backwards = _backwards(cpd.parent_names, noisy)
    if gate is not None:
        turned = [
            [parent.num_states - 1 - position for position in order] if parent.name in noisy else order
            for parent, order in zip(cpd.parents, gate.orders, strict=True)
        ]
        yield f"      <strengths>{' '.join(str(position) for order in turned for position in order)}</strengths>"
        yield f"      <parameters>{_numbers(gate.rows)}</parameters>"
    elif isinstance(cpd, DeterministicCPD):
        results = np.flip(cpd.positions, backwards).ravel().tolist()
        yield f"      <resultingstates>{' '.join(identifiers[result] for result in results)}</resultingstates>"
    else:
        values = np.flip(table_of(cpd, "XDSL").values, backwards)
        yield f"      <probabilities>{_numbers(values)}</probabilities>"


def _numbers(values: Floats) -> str:
    return " ".join(map(repr, values.ravel().tolist()))


FORMAT = Format("XDSL", (".xdsl",), parse_xdsl, format_xdsl, re.compile(r"(?=<).*?<smile\b", re.DOTALL | re.IGNORECASE))
