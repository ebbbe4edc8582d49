"""The file format of the UAI inference competitions: a network as counts, indices and tables, without names.

A file says `BAYES` or `MARKOV`, the number of variables, their numbers of states, the number of functions, the scope of
each (its length, then indices; the child comes last in a Bayesian network), and then each function's table (its length,
then numbers, the state of the last variable changing fastest). Lines that start with `c ` are comments, and so is what
follows a `#`.

The format knows no names: what is read has the variables "0", "1", ... with the states "0", "1", ..., and what is
written has its variables numbered in their order, so that names, states and notes stay behind.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from plausible.errors import NotRepresentable, suggestion
from plausible.factors import Factor
from plausible.io.assembly import LENIENTLY, Assembly
from plausible.io.formats import Format, Model, discrete_network, table_of
from plausible.io.scanner import Words, child_fastest
from plausible.io.xml_source import is_agrum_uai, last_parent_fastest
from plausible.models import BayesianNetwork, MarkovNetwork
from plausible.variables import Variable

#: A function may be over this many variables.
MAX_SCOPE = 64
#: The variables of a Markov network that are in no function may have this many states together.
MAX_FREE_STATES = 2**20

_COMMENT = re.compile(r"^c(?:[ \t][^\n]*)?\r?$|#[^\n]*", re.MULTILINE)


def parse_uai(text: str, *, lenient: bool = False) -> Model:
    """The model in a UAI text: a `BayesianNetwork` or a `MarkovNetwork`, by its first word; `lenient` as for `load`.

    Of a Bayesian network whose scopes begin with the child, as pgmpy writes them, a lenient reader takes it from there.

    >>> network = parse_uai("MARKOV 2  2 3  1  2 0 1  6 4.0 1 1  1 0 2.5")
    >>> network.factors[0].values[1]
    array([1. , 0. , 2.5])
    """
    words = Words(_COMMENT.sub(lambda comment: " " * len(comment[0]), text))
    kind = words.next("BAYES or MARKOV").upper()
    if kind not in ("BAYES", "MARKOV"):
        hint = suggestion(kind, ["BAYES", "MARKOV"])
        raise words.error(f"A UAI file starts with BAYES or MARKOV, not with {kind[:20]!r}.{hint}", 0)
    sizes = []
    for index in range(words.count("the number of variables")):
        sizes.append(words.integer(f"the number of states of variable {index}"))
        if not sizes[-1]:
            raise words.error(f"Variable {index} has no states.", words.position - 1)
    scopes = [_scope(words, len(sizes)) for _ in range(words.count("the number of functions"))]
    starts = _table_starts(words, sizes, scopes)
    words.end()
    if kind == "MARKOV":
        return _markov_network(words, sizes, scopes, starts)
    return _bayesian_network(words, sizes, scopes, starts, is_agrum_uai(text), lenient)


def _scope(words: Words, num_variables: int) -> list[int]:
    start = words.position
    length = words.count("the length of a scope")
    if length > MAX_SCOPE:
        raise words.error(f"A function over {length} variables is not read: the limit is {MAX_SCOPE}.", start)
    scope = [words.integer("the index of a variable", num_variables) for _ in range(length)]
    repeated = [index for index in scope if scope.count(index) > 1]
    if repeated:
        raise words.error(f"Variable {repeated[0]} stands twice in this scope.", start)
    return scope


def _table_starts(words: Words, sizes: Sequence[int], scopes: Iterable[Sequence[int]]) -> list[int]:
    """The position of the first number of each table; nothing is allocated for numbers that are not there."""
    starts = []
    for number, scope in enumerate(scopes):
        length = words.integer("the length of a table")
        entries = _num_entries((sizes[index] for index in scope), len(words.words))
        if length != entries:
            needs = f"{entries} numbers" if entries <= len(words.words) else "more numbers than the file has"
            raise words.error(f"The table of function {number} needs {needs}; it says {length}.", words.position - 1)
        starts.append(words.position)
        words.skip(length)
    return starts


def _num_entries(sizes: Iterable[int], limit: int) -> int:
    """The product of the sizes, or a number above `limit` if it is larger than that."""
    entries = 1
    for size in sizes:
        entries *= size
        if entries > limit:
            break
    return entries


def _bayesian_network(
    words: Words,
    sizes: Sequence[int],
    scopes: Sequence[Sequence[int]],
    starts: Sequence[int],
    is_agrum: bool,
    lenient: bool,
) -> BayesianNetwork:
    assembly = Assembly(lenient)
    begins_with_child = _check_children(words, len(sizes), scopes, lenient)
    if begins_with_child:
        assembly.mend("the first variable of each scope read as the child, which should come last", words.place(0))
    for index, size in enumerate(sizes):
        assembly.add_variable(str(index), [str(state) for state in range(size)], words.place(2 + index))
    for scope, start in zip(scopes, starts, strict=True):
        values = words.numbers_at(start, _num_entries((sizes[index] for index in scope), len(words.words)))
        if begins_with_child:
            values = child_fastest(values, sizes[scope[0]])
            scope = (*scope[1:], scope[0])
        elif is_agrum:
            values = last_parent_fastest(values, [sizes[index] for index in scope])
        *parents, child = (str(index) for index in scope)
        assembly.add_table(child, parents, values, words.place(start))
    return assembly.network()


def _check_children(words: Words, num_variables: int, scopes: Sequence[Sequence[int]], lenient: bool) -> bool:
    """Refuse scopes whose last variables are not each variable once; whether their first ones are taken instead.

    Where the first ones are the children, the last ones can't be each variable once: every child would have a parent
    that is a child with parents, round a cycle.
    """
    if not all(scopes):
        raise words.error("A function of a BAYES file has an empty scope; its child should come last in it.", 0)
    counts = Counter(scope[-1] for scope in scopes)
    wrong = next((index for index in range(num_variables) if counts[index] != 1), None)
    if wrong is None:
        return False
    begins_with_child = sorted(scope[0] for scope in scopes) == list(range(num_variables))
    if begins_with_child and lenient:
        return True
    number = f"{counts[wrong]} functions" if counts[wrong] else "no function"
    problem = f"Variable {wrong} is the child, the last in scope, of {number} of this BAYES file."
    if begins_with_child:
        raise words.place(0).error(f"{problem} The first in scope may be meant, as in old files.", LENIENTLY)
    raise words.error(problem, 0)


def _markov_network(
    words: Words, sizes: Sequence[int], scopes: Sequence[Sequence[int]], starts: Sequence[int]
) -> MarkovNetwork:
    used = {index for scope in scopes for index in scope}
    if sum(size for index, size in enumerate(sizes) if index not in used) > MAX_FREE_STATES:
        raise words.error(f"The variables outside all functions have more than {MAX_FREE_STATES} states.", 1)
    variables = [Variable(str(index), [str(state) for state in range(size)]) for index, size in enumerate(sizes)]
    factors = []
    for number, (scope, start) in enumerate(zip(scopes, starts, strict=True)):
        values = words.numbers_at(start, _num_entries((sizes[index] for index in scope), len(words.words)))
        if values.min() < 0:
            problem = f"The table of function {number} has a negative number."
            raise words.error(problem, start + int(np.argmax(values < 0)))
        factors.append(Factor.from_flat([variables[index] for index in scope], values))
    return MarkovNetwork(*factors, variables=variables)


def format_uai(model: Model) -> str:
    """A model as UAI text: variables and states by number, which loses their names.

    >>> print(format_uai(MarkovNetwork(Factor({"A": ["a", "b"]}, [1, 2.5]), Factor.scalar(3))))
    MARKOV
    1
    2
    2
    1 0
    0
    <BLANKLINE>
    2
    1.0 2.5
    <BLANKLINE>
    1
    3.0
    """
    if isinstance(model, MarkovNetwork):
        kind, factors = "MARKOV", list(model.factors)
    else:
        network = discrete_network(model, "UAI")
        kind, factors = "BAYES", [table_of(cpd, "UAI").to_factor() for cpd in network.cpds.values()]
    for factor in factors:
        if len(factor.scope) > MAX_SCOPE:
            raise NotRepresentable(f"A UAI function has at most {MAX_SCOPE} variables, not {len(factor.scope)}.")
    indices = {name: index for index, name in enumerate(model.variables)}
    sizes = " ".join(str(variable.num_states) for variable in model.variables.values())
    lines = [kind, str(len(indices)), sizes, str(len(factors))]
    lines += [" ".join(map(str, (len(factor.names), *(indices[name] for name in factor.names)))) for factor in factors]
    for factor in factors:
        rows = factor.flat.reshape(-1, factor.shape[-1] if factor.scope else 1).tolist()
        lines += ["", str(factor.size), *(" ".join(map(repr, row)) for row in rows)]
    return "\n".join([*lines, ""])


FORMAT = Format("UAI", (".uai",), parse_uai, format_uai, re.compile(r"(?:BAYES|MARKOV)\b", re.IGNORECASE))
