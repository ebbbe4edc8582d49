"""Whether preferences are rational: the six axioms, each with a witness where it fails."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise, permutations, product
from typing import Literal, TypeAlias, get_args

from plausible.base import FrozenMapping, Result, record
from plausible.errors import InvalidArgument, counted
from plausible.utilities.lotteries.lottery import Lottery, LotteryLike, as_lottery
from plausible.utilities.lotteries.preferences import (
    Indifference,
    PreferenceLike,
    PreferenceRelation,
    as_relation,
    indifference_probability,
)

Axiom: TypeAlias = Literal[
    "orderability", "transitivity", "continuity", "monotonicity", "substitutability", "decomposability"
]
AXIOMS: tuple[Axiom, ...] = get_args(Axiom)
#: Chances at which mixtures are compared.
_GRID = (0.0, 0.1, 0.5, 0.9, 1.0)


@record
class AxiomViolation(Result):
    """An axiom that fails, and the lotteries that show it.

    >>> told = PreferenceRelation.from_statements([("tea", ">", "milk"), ("milk", ">", "beer"), ("beer", "~", "tea")])
    >>> violation = check_axioms(told).violations[0]
    >>> violation.axiom, [str(lottery) for lottery in violation.witness]
    ('transitivity', ['[tea: 1]', '[milk: 1]', '[beer: 1]'])
    """

    axiom: Axiom  # Which
    witness: tuple[Lottery, ...]  # The lotteries: a pair, a cycle in order, a triple for continuity
    reason: str  # What was said about them

    def __str__(self) -> str:
        return f"{self.axiom}: {self.reason}"


@record
class AxiomReport(Result):
    """What asking about lotteries tells on rationality.

    Who feels a small chance to be larger than it is breaks substitutability (Allais 1953):

    >>> from plausible.utilities.elicitation.questions import PrelecWeighting, rank_dependent_utility
    >>> def worth(lottery):
    ...     return rank_dependent_utility(lottery, {"0": 0, "3M": 10, "4M": 12}, PrelecWeighting())
    >>> report = check_axioms(PreferenceRelation(lambda a, b: round(worth(a) - worth(b), 12)), ["0", "3M", "4M"])
    >>> report.is_rational, report.violated
    (False, ('substitutability',))
    """

    violations: tuple[AxiomViolation, ...]  # Each with its witness
    num_checks: Mapping[Axiom, int]  # How many comparisons bore on each axiom; with 0, nothing is known of it
    indifferences: tuple[Indifference, ...]  # For each triple a > b > c, the chance α with b ~ [a: α; c: 1 - α]

    @property
    def is_rational(self) -> bool:
        """Whether nothing that was asked breaks an axiom."""
        return not self.violations

    @property
    def violated(self) -> tuple[Axiom, ...]:
        """The axioms that fail, in their usual order."""
        return tuple(axiom for axiom in AXIOMS if any(found.axiom == axiom for found in self.violations))

    def __str__(self) -> str:
        checks = ", ".join(f"{axiom} {self.num_checks[axiom]}" for axiom in AXIOMS)
        head = "no axiom is broken" if self.is_rational else counted(len(self.violations), "violation")
        return "\n".join([f"{head} (checks: {checks})", *map(str, self.violations)])


class _Checks:
    """What has been found so far."""

    def __init__(self, relation: PreferenceRelation, max_witnesses: int) -> None:
        self.relation, self.max_witnesses = relation, max_witnesses
        self.violations: list[AxiomViolation] = []
        self.num_checks: dict[Axiom, int] = dict.fromkeys(AXIOMS, 0)

    def expect(self, axiom: Axiom, first: Lottery, wanted: Wanted, second: Lottery, because: str) -> None:
        """Ask one comparison and note a violation if the answer is another than the axiom's."""
        answer = self.relation.compare(first, second)
        if answer is None:
            return
        self.num_checks[axiom] += 1
        if answer not in _ALLOWED[wanted]:
            asked = f"{first} {wanted} {second}"
            self.note(axiom, (first, second), f"{because}, so {asked}, but {first} {_SIGNS[answer]} {second}")

    def note(self, axiom: Axiom, witness: Sequence[Lottery], reason: str) -> None:
        """One violation more, unless this axiom has witnesses enough."""
        if sum(found.axiom == axiom for found in self.violations) < self.max_witnesses:
            self.violations.append(AxiomViolation(axiom, tuple(witness), reason))


#: What an axiom wants of two lotteries, and the answers that agree with it.
Wanted: TypeAlias = Literal[">", "~", ">="]
_ALLOWED: dict[Wanted, tuple[int, ...]] = {">": (1,), "~": (0,), ">=": (0, 1)}
_SIGNS = {1: ">", 0: "~", -1: "<"}


def check_axioms(
    relation: PreferenceLike,
    items: Iterable[LotteryLike] | None = None,
    tolerance: float = 1e-6,
    max_witnesses: int = 5,
) -> AxiomReport:
    """Check the six axioms of rational preference, by asking (Koller & Friedman 2009, section 22.1.2).

    For lotteries a, b, c and chances α, β: orderability, a > b, a ~ b or a < b, and asking the other way round agrees;
    transitivity, no cycle of preferences; continuity, if a > b > c, some α in (0, 1) has b ~ [a: α; c: 1 - α];
    monotonicity, if a > b, then [a: α; b: 1 - α] > [a: β; b: 1 - β] just if α > β; substitutability, replacing a part
    of a lottery by one as good is not felt, by a better one is an improvement; decomposability, a nested lottery is as
    good as its flat form. Together they are equivalent to maximising an expected utility. No finite number of questions
    proves the last four: the report counts the checks.

    What is as good as b for substitutability comes of continuity: [a: α; c: 1 - α], or, where α is known to lie in a
    bracket, the gambles at its ends, of which no mixture may be better (at the lower end) or worse (at the upper end)
    than the same with b.

    Parameters
    ----------
    relation
        A `PreferenceRelation`, statements (first, ">", second), or an oracle, which is a function of two lotteries.
        What statements leave open is no violation, except of orderability.
    items
        The lotteries or outcomes to ask about; by default those of the statements.
    tolerance
        The width to which each chance α of continuity is bracketed.
    max_witnesses
        How many violations of one axiom to tell.

    Examples
    --------
    >>> print(check_axioms([("a", ">", "b"), ("b", ">", "c"), ("c", ">", "a")]).violations[0])
    transitivity: [a: 1] > [b: 1] > [c: 1] > [a: 1]
    >>> check_axioms(PreferenceRelation.from_utility({"a": 2, "b": 1, "c": 0}), ["a", "b", "c"]).is_rational
    True
    """
    relation = as_relation(relation)
    listed = tuple(dict.fromkeys(as_lottery(item) for item in (relation.items if items is None else items)))
    if not listed:
        raise InvalidArgument("There is nothing to ask about: list outcomes or lotteries with items=[...].")
    checks = _Checks(relation, max_witnesses)
    signs = _ordered(checks, listed)
    # Differences that are not felt may add up to a preference that is, but to no clear one.
    clear = {(i, j): relation.is_clear(listed[i], listed[j]) if sign > 0 else sign for (i, j), sign in signs.items()}
    for cycle in preference_cycles(clear, len(listed)):
        lotteries = [listed[place] for place in cycle]
        links = [_SIGNS[signs[pair]] for pair in pairwise((*cycle, cycle[0]))]
        told = "".join(f"{lottery} {sign} " for lottery, sign in zip(lotteries, links, strict=True)) + str(lotteries[0])
        checks.note("transitivity", lotteries, told)
    checks.num_checks["transitivity"] += sum(1 for _ in _triples(signs, len(listed)))
    found = []
    for places in () if relation.is_finite else _triples(signs, len(listed)):
        best, middle, worst = (listed[place] for place in places)
        answer = indifference_probability(relation, middle, worst, best, tolerance)
        checks.num_checks["continuity"] += 1
        if answer.is_found:
            found.append(answer)
        else:
            checks.note("continuity", (best, middle, worst), answer.reason)
    _mixtures(checks, listed, signs, found)
    return AxiomReport(tuple(checks.violations), FrozenMapping(checks.num_checks), tuple(found))


def _ordered(checks: _Checks, items: Sequence[Lottery]) -> dict[tuple[int, int], int]:
    """The answers on all pairs that can be compared, both ways round; what can't or disagrees is noted."""
    signs: dict[tuple[int, int], int] = {}
    for (i, first), (j, second) in combinations(enumerate(items), 2):
        forth, back = checks.relation.compare(first, second), checks.relation.compare(second, first)
        checks.num_checks["orderability"] += 1
        if forth is not None and back is not None and forth == -back:
            signs[i, j], signs[j, i] = forth, back
            continue
        told = f"{first} and {second} can't be compared"
        if forth is not None and back is not None:
            turned = f"{second} {_SIGNS[back]} {first}"
            told = f"{first} {_SIGNS[forth]} {second}, but asked the other way round {turned}"
        checks.note("orderability", (first, second), told)
    return signs


def _triples(signs: Mapping[tuple[int, int], int], size: int) -> Iterator[tuple[int, int, int]]:
    """The places of all a > b > c."""
    for best, middle, worst in permutations(range(size), 3):
        if signs.get((best, middle)) == 1 and signs.get((middle, worst)) == 1:
            yield best, middle, worst


def _mixtures(
    checks: _Checks,
    items: Sequence[Lottery],
    signs: Mapping[tuple[int, int], int],
    indifferences: Iterable[Indifference],
) -> None:
    """Monotonicity, substitutability and decomposability on mixtures of the items."""
    flat = "a nested lottery is as good as its flat form"
    for (first, second), sign in signs.items():
        better, other = items[first], items[second]
        if sign == 0 and first < second:
            _substitutable(checks, better, "~", other, items)
        if sign == 1:
            wanted: Wanted = ">" if checks.relation.is_clear(better, other) else ">="
            mixed = [Lottery.gamble(better, other, chance).flatten() for chance in _GRID]
            for low, high in pairwise(mixed):
                checks.expect("monotonicity", high, wanted, low, f"{better} > {other}")
            middle = mixed[len(mixed) // 2]
            checks.expect("monotonicity", middle, "~", middle, "the chances are the same")
            _substitutable(checks, better, wanted, other, items)
        if first < second:
            for third in items:
                nested = Lottery.gamble(Lottery.gamble(better, other, 0.25), third, 0.5)
                checks.expect("decomposability", nested, "~", nested.flatten(), flat)
    for found in indifferences:
        if found.is_exact:
            _substitutable(checks, found.item, "~", found.gamble, items)
            continue
        # The item may be better than the gamble at the lower end of the bracket by so little that it is not felt in a
        # mixture, so only the opposite preference is a violation; and so at the upper end.
        worse, good = found.gamble_at(found.low), found.gamble_at(found.high)
        _substitutable(checks, found.item, ">=", worse, items, f"{found.item} > {worse}")
        _substitutable(checks, good, ">=", found.item, items, f"{good} > {found.item}")
    for item in items:
        if item.is_compound:
            checks.expect("decomposability", item, "~", item.flatten(), flat)


def _substitutable(
    checks: _Checks, first: Lottery, wanted: Wanted, second: Lottery, items: Sequence[Lottery], because: str = ""
) -> None:
    """Whether the first is felt as wanted in the place of the second, in mixtures with each of the items."""
    told = because or f"{first} {wanted} {second}"
    for third, chance in product(items, _GRID[1:-1]):
        one, other = (Lottery.gamble(part, third, chance).flatten() for part in (first, second))
        checks.expect("substitutability", one, wanted, other, told)


def preference_cycles(signs: Mapping[tuple[int, int], int], size: int) -> list[tuple[int, ...]]:
    """Shortest cycles a > b ≥ ... ≥ a, no two with the same members: a breadth-first search for each strict preference.

    `signs` has 1, 0 or -1 for ordered pairs of the places: the first is better, as good, or worse. Pairs may lack.
    """
    onward: list[list[int]] = [[] for _ in range(size)]
    for (first, second), sign in signs.items():
        if sign >= 0:
            onward[first].append(second)
    found: dict[frozenset[int], tuple[int, ...]] = {}
    for (best, second), sign in signs.items():
        if sign == 1 and (path := _path(onward, second, best)):
            found.setdefault(frozenset(path), (best, *path[:-1]))
    return sorted(found.values(), key=lambda cycle: (len(cycle), cycle))


def _path(onward: list[list[int]], start: int, end: int) -> tuple[int, ...]:
    """The shortest way from one place to another, both included; empty if there is none."""
    paths: dict[int, tuple[int, ...]] = {start: (start,)}
    waiting = deque([start])
    while waiting and end not in paths:
        place = waiting.popleft()
        for following in onward[place]:
            if following not in paths:
                paths[following] = (*paths[place], following)
                waiting.append(following)
    return paths.get(end, ())
