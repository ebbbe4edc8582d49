"""NET, the language in which Hugin and programs like it keep networks."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from plausible.base import Floats
from plausible.cpds import CPD, ConditionalGaussianCPD, LinearGaussianCPD
from plausible.errors import NotRepresentable
from plausible.io.formats import Format, Model, contents, stand_ins, state_stand_ins, table_of
from plausible.io.hugin_parser import legal, parse_hugin
from plausible.models import VariableNotes
from plausible.variables import Variable

#: Fields of the language whose values are no strings; other properties are written as strings.
_UNQUOTED: Final = frozenset(("node_size", "subtype", "state_values"))
_UNQUOTED_VALUE: Final = re.compile(r"\w+|\([-+.\w\s]*\)")
_FIELD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TAKEN: Final = frozenset(("name", "reference", "label", "position", "states", "HR_Desc", "data"))


def format_hugin(model: Model) -> str:
    """The NET text of a Bayesian network or an influence diagram.

    Discrete and conditional Gaussian distributions can be written; those of other kinds as their tables.

    >>> from plausible.cpds import TableCPD
    >>> from plausible.models import BayesianNetwork
    >>> print(format_hugin(BayesianNetwork(TableCPD("coin", [0.5, 0.5], states=["heads", "tails"]))))
    net
    {
    }
    node coin
    {
      states = ("heads" "tails");
    }
    potential ( coin )
    {
      data = (0.5 0.5);
    }
    <BLANKLINE>
    """
    parts = contents(model, "NET")
    names = dict(zip(parts.nodes, stand_ins(parts.nodes, legal), strict=True))
    titles = {"name": parts.notes.name, "HR_Desc": parts.notes.description, "reference": parts.notes.reference}
    lines = _block("net", [*_text_fields(titles), *_property_fields(parts.notes.properties)])
    for name, written in names.items():
        variable = parts.variables.get(name)
        kind = "continuous node" if variable is not None and variable.is_continuous else "node"
        kind = "utility" if variable is None else "decision" if name in parts.decisions else kind
        lines += _block(f"{kind} {written}", _node_fields(variable, name, written, parts.notes.of(name)))
    for name, written in names.items():
        parents = parts.parents(name)
        given = f" | {' '.join(names[parent] for parent in parents)}" if parents else ""
        if name in parts.decisions:
            fields = []
        elif name in parts.utilities:
            fields = [f"data = {_table(parts.utilities[name].values)}"]
        elif parts.variables[name].is_continuous:
            texts, sizes = _normal_texts(parts.cpds[name], names)
            fields = [f"data = {_nested(texts, sizes) if sizes else f'({texts[0]})'}"]
        else:
            fields = [f"data = {_table(table_of(parts.cpds[name], 'NET').values)}"]
        lines += _block(f"potential ( {written}{given} )", fields)
    return "\n".join((*lines, ""))


def _block(head: str, fields: Iterable[str]) -> list[str]:
    return [head, "{", *(f"  {field};" for field in fields), "}"]


def _text_fields(texts: Mapping[str, str]) -> list[str]:
    return [f"{key} = {_string(text)}" for key, text in texts.items() if text]


def _node_fields(variable: Variable | None, name: str, written: str, notes: VariableNotes) -> Iterator[str]:
    if variable is not None and not variable.is_continuous:
        texts, listed = state_stand_ins(variable, str)
        yield f"states = ({' '.join(map(_string, texts))})"
        if listed is not None:
            yield f"plausible_states = {_string(listed)}"
    yield from _text_fields({"label": notes.label, "HR_Desc": notes.description})
    if notes.position is not None:
        # The language has whole numbers here, and programs that insist on them.
        yield "position = ({} {})".format(*map(round, notes.position))
        if not all(float(coordinate).is_integer() for coordinate in notes.position):
            yield "plausible_position = ({!r} {!r})".format(*map(float, notes.position))
    if written != name:
        yield f"plausible_name = {_string(name)}"
    yield from _property_fields(notes.properties)


def _property_fields(properties: Mapping[str, str]) -> Iterator[str]:
    exact = {}
    for key, value in properties.items():
        if key in _UNQUOTED and _UNQUOTED_VALUE.fullmatch(value):
            yield f"{key} = {value}"
        elif _FIELD.fullmatch(key) and key not in _TAKEN and not key.startswith("plausible_"):
            yield f"{key} = {_string(value)}"
        else:
            exact[key] = value
    if exact:
        yield f"plausible_properties = {_string(json.dumps(exact))}"


def _normal_texts(cpd: CPD, names: Mapping[str, str]) -> tuple[list[str], list[int]]:
    """`normal ( ... )` for each assignment to the discrete parents, and the sizes of these; `names` as written."""
    if isinstance(cpd, LinearGaussianCPD):
        slopes = dict(zip(cpd.parent_names, cpd.coefficients.tolist(), strict=True))
        return [_normal(cpd.intercept, slopes, cpd.variance, names)], []
    if not isinstance(cpd, ConditionalGaussianCPD):
        raise NotRepresentable(
            f"NET files hold continuous variables as conditional Gaussians; {cpd.variable.name!r} has a "
            f"{type(cpd).__name__}. Save as .json."
        )
    coefficients = {name: array.ravel().tolist() for name, array in cpd.coefficients.items()}
    rows = enumerate(zip(cpd.intercept.ravel().tolist(), cpd.variance.ravel().tolist(), strict=True))
    texts = [
        _normal(intercept, {name: listed[row] for name, listed in coefficients.items()}, variance, names)
        for row, (intercept, variance) in rows
    ]
    return texts, [parent.num_states for parent in cpd.discrete_parents]


def _normal(intercept: float, coefficients: Mapping[str, float], variance: float, names: Mapping[str, str]) -> str:
    terms = [repr(intercept)]
    for name, coefficient in coefficients.items():
        sign = "-" if math.copysign(1, coefficient) < 0 else "+"
        terms.append(f"{sign} {abs(coefficient)!r} * {names[name]}")
    return f"normal ( {' '.join(terms)}, {variance!r} )"


def _table(values: Floats) -> str:
    """The numbers in nested lists, a list for each parent's states; a single one in a list of its own."""
    shape = values.shape or (1,)
    rows = values.reshape(-1, shape[-1]).tolist()
    return _nested([f"({' '.join(map(repr, row))})" for row in rows], shape[:-1])


def _nested(texts: list[str], sizes: Sequence[int]) -> str:
    for size in reversed(sizes):
        groups = (texts[i : i + size] for i in range(0, len(texts), size))
        texts = ["(" + "\n    ".join(group) + ")" for group in groups]
    return texts[0]


def _string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


FORMAT = Format(
    "NET",
    (".net", ".hugin", ".oobn"),
    parse_hugin,
    format_hugin,
    re.compile(r"net\s*\{|class\b|(?:discrete\s+|continuous\s+)?(?:node|decision|utility)\b"),
)
