"""One slice of a network over time as a clique tree, with what passes between slices as messages of cliques."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from plausible.base.arrays import Floats, Ints, starts_of
from plausible.base.remedies import Argument, Call, Remedy
from plausible.cpds import CPD
from plausible.engine.compilation import TreeTooLarge, compile_program
from plausible.engine.program import Program
from plausible.engine.run import Semiring, Workspace
from plausible.errors import TooLarge
from plausible.factors import Factor
from plausible.inference.budget import Budget, too_large
from plausible.kernels.slices import Joint, Slice
from plausible.models.lowering import lower
from plausible.models.sequences.template import Lagged, Template, lagged
from plausible.variables import Variable

#: Groups of variables whose joints pass from slice to slice: for each one a message.
Clusters = tuple[tuple[Lagged, ...], ...]
#: Where maxima are wanted, no variable may be summed first: families get tables up to this size.
_WHOLE_TABLES = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class SliceProgram:
    """The tree of one slice, in which neighbouring slices are stood for by messages."""

    variables: Mapping[str, Variable]  # those of the slice first, then those of slices before, as "X[-1]", then others
    num_told: int  # how many of them are those of the slice
    follows: bool  # whether there is a slice before
    program: Program
    sources: Floats
    incoming: Clusters  # as the slice before calls them
    outgoing: Clusters
    varying: tuple[CPD, ...]  # the distributions whose factors differ from step to step, in the order of their numbers
    observed: tuple[str, ...]  # the variables that are observed at some steps
    piece: Slice  # what the kernels need besides the program

    @property
    def starts(self) -> Ints:
        """Where the states of each variable of the slice begin, in a row of beliefs."""
        return starts_of(self.program.sizes[: self.num_told])

    @property
    def num_numbers(self) -> int:
        """How many numbers of factors are given anew at each step."""
        return int(self.program.layout.operands["length"][self.piece.varying].sum())

    def workspace(self, semiring: Semiring) -> Workspace:
        """Buffers for a question."""
        workspace = Workspace.of(self.program, self.sources, semiring, threads=1)
        workspace.buffers.observed[self.piece.observed] = 1
        return workspace

    def number(self, name: str) -> int:
        """The number of a variable in the program."""
        return list(self.variables).index(name)

    def joint(self, names: Sequence[str]) -> Joint:
        """How to read off the joint of some variables, which must share a clique; those beyond this slice are left out.

        The joint has an axis for each variable that there is.
        """
        numbers = [self.number(name) for name in names if name in self.variables]
        (clique,) = self.program.smallest_cliques([numbers])
        assert clique is not None
        return Joint(clique, *self.program.lie_of(numbers, clique))

    def sides(self, clusters: Clusters, older: int) -> Ints:
        """The variables of the one cluster that passes, as called so many steps later, and their strides in it."""
        names = [str(one.older(older)) for cluster in clusters for one in cluster]
        sizes = [self.variables[name].num_states for name in names]
        strides = [math.prod(sizes[place + 1 :]) for place in range(len(sizes))]
        return np.array([(self.number(n), s) for n, s in zip(names, strides, strict=True)], np.int64).reshape(-1, 2)


def compile_slice(
    template: Template,
    number: int,
    *,
    known: Collection[str],
    observed: Collection[str],
    varying: Collection[str] = (),
    clusters: Clusters | None = None,
    together: Collection[Sequence[str]] = (),
    for_maxima: bool = False,
    budget: Budget,
) -> SliceProgram:
    """Lay out the inference within one of the slices of a template.

    Parameters
    ----------
    number
        Of the slice in `template.slices`.
    known
        The variables whose values are known at all steps, all that are continuous among them: the tree has only what
        they make of the distributions, which differs from step to step.
    observed
        Those of the others that may be observed.
    varying
        Those whose distributions are given anew at each step, too.
    clusters
        What passes from slice to slice, as groups of variables; all together where left out, which is exact.
    together
        Groups of variables whose joints are to be read off; those before the first slice are left out.
    for_maxima
        Whether best states are asked for.

    Raises
    ------
    TooLarge
        Before anything large is allocated.
    """
    asked = [lagged(name) for group in together for name in group]
    outgoing = _clusters(template, number, clusters, known, asked)
    incoming = _clusters(template, number - 1, clusters, known, asked) if number else ()
    wanted = [variable for variable in template.variables.values() if variable.name not in known]
    variables = {variable.name: variable for variable in wanted}
    for cluster in incoming:
        for one in cluster:
            later = one.older()
            variables[str(later)] = template.variables[one.name].renamed(str(later))
    cpds = template.slices[number]
    changing = tuple(
        cpd for name, cpd in cpds.items() if name in varying or len(hidden_scope(cpd, known)) < len(cpd.scope)
    )
    given_anew = {cpd.variable.name for cpd in changing}
    fixed = [cpd for name, cpd in cpds.items() if name not in given_anew]
    _check_messages((*incoming, *outgoing), template, budget)
    lowered = lower(fixed, variables, {}, tables_up_to=_WHOLE_TABLES if for_maxima else 0)
    factors = [*lowered.factors, *(_placeholder(hidden_scope(cpd, known)) for cpd in changing)]
    first_varying, last_varying = len(lowered.factors), len(factors)
    for factor in factors:
        variables |= {variable.name: variable for variable in factor.scope if variable.name not in variables}
    names = iter(f"message {place}" for place in count())
    ends_in = [_message(names, [variables[str(one.older())] for one in cluster]) for cluster in incoming]
    ends_out = [_message(names, [variables[str(one)] for one in cluster]) for cluster in outgoing]
    is_exact = clusters is None
    roots, leaves = (ends_out, ends_in) if is_exact else ([], [*ends_in, *ends_out])
    held = [tuple(name for name in group if name in variables) for group in together]
    plain = factors
    for beside in ([], [_message(names, end.scope[:-1]) for end in leaves]):
        factors = [*plain, *beside, *ends_in, *ends_out]
        named = variables | {end.scope[-1].name: end.scope[-1] for end in (*beside, *ends_in, *ends_out)}
        named = named or {" ": Variable(" ", 1)}  # where all is known, it carries the constants
        program = _compiled(factors, named, held, beside, roots, leaves, budget, outgoing)
        starts = starts_of([factor.size for factor in factors])[:-1]
        places = _Places(program, list(named))
        if places.are_whole(leaves, starts[-len(ends_in) - len(ends_out) :][: len(leaves)]):
            break
    variables = named
    sources = np.concatenate([np.zeros(0), *(factor.flat for factor in factors)])
    seen = tuple(variable.name for variable in wanted if variable.name in observed)
    num_ends = len(ends_in) + len(ends_out)
    first_out, first_in = len(starts) - len(ends_out), len(starts) - num_ends
    varying_ends = places.ends(starts[first_varying:last_varying])
    piece = Slice(
        weight_starts=np.array(program.weight_starts),
        observed=np.array([places.numbers[name] for name in seen], dtype=np.int64),
        varying=varying_ends[:, 0].copy(),
        varying_cliques=varying_ends[:, 1].copy(),
        incoming=places.ends(starts[first_in:first_out]),
        outgoing=places.ends(starts[first_out:]),
        incoming_places=places.orders(ends_in, starts[first_in:first_out]),
        outgoing_places=places.orders(ends_out, starts[first_out:]),
        told=np.arange(len(wanted)),
    )
    return SliceProgram(variables, len(wanted), number > 0, program, sources, incoming, outgoing, changing, seen, piece)


def _whole(handed_on: tuple[Lagged, ...]) -> Clusters:
    return (handed_on,) if handed_on else ()


def _clusters(
    template: Template, number: int, clusters: Clusters | None, known: Collection[str], asked: Collection[Lagged]
) -> Clusters:
    """What one of the slices hands on, as groups of variables."""
    handed_on = template.handed_on(number, known, asked)
    if clusters is None:
        return _whole(handed_on)
    kept = (tuple(one for one in cluster if one in handed_on) for cluster in clusters)
    return tuple(cluster for cluster in kept if cluster)


def hidden_scope(cpd: CPD, known: Collection[str]) -> list[Variable]:
    """The variables of a distribution that are not known."""
    return [variable for variable in cpd.scope if lagged(variable.name).name not in known]


def _placeholder(scope: Sequence[Variable]) -> Factor:
    """A factor of ones."""
    return Factor.from_flat(scope, np.ones(math.prod(variable.num_states for variable in scope)))


def _message(names: Iterator[str], cluster: Sequence[Variable]) -> Factor:
    """A factor of ones over a cluster and a variable with one state, which gives it a clique of its own."""
    return Factor.from_flat([*cluster, Variable(next(names), 1)], np.ones(math.prod(v.num_states for v in cluster)))


def _compiled(
    factors: Sequence[Factor],
    variables: Mapping[str, Variable],
    held: Sequence[tuple[str, ...]],
    beside: Sequence[Factor],
    roots: Sequence[Factor],
    leaves: Sequence[Factor],
    budget: Budget,
    outgoing: Clusters,
) -> Program:
    """The tree in which each message of `roots` and `leaves` has a clique of its own.

    Those of `beside` have some, too: over the same variables as the leaves', which hang on them then.
    """
    numbers = {name: number for number, name in enumerate(variables)}
    scopes = tuple(tuple(numbers[name] for name in factor.names) for factor in factors)
    sizes = tuple(variable.num_states for variable in variables.values())
    groups = tuple(tuple(numbers[name] for name in group) for group in held if group)
    hooks, tops, tips = (tuple(numbers[end.names[-1]] for end in ends) for ends in (beside, roots, leaves))
    try:
        try:
            order = compile_program(scopes, sizes, None, groups).order
            ends = (*hooks, *tops, *tips)  # first, so that their cliques hold nothing else
            order = (*ends, *(number for number in order if number not in ends))
            program = compile_program(scopes, sizes, order, groups, tops, tips)
        except TreeTooLarge as error:
            raise too_large(error.entries, error.clique, error.clique_entries, list(variables)) from None
        budget.check(program, list(variables))
    except TooLarge as error:
        raise _too_much(error.args[0].partition(" Raise ")[0] + " ", outgoing, variables) from None
    return program


def _check_messages(clusters: Clusters, template: Template, budget: Budget) -> None:
    """Refuse messages that would not fit, before they are made."""
    for cluster in clusters:
        if not budget.holds(math.prod(template.variables[one.name].num_states for one in cluster)):
            raise _too_much("", (cluster,), {str(one): template.variables[one.name] for one in cluster})


def _too_much(reason: str, clusters: Clusters, variables: Mapping[str, Variable]) -> TooLarge:
    """The error that names what passes between slices."""
    passed = [str(one) for cluster in clusters for one in cluster]
    entries = math.prod(variables[name].num_states for name in passed)
    shown = ", ".join(passed[:8]) + (", ..." if len(passed) > 8 else "")
    return TooLarge(
        f"{reason}What one slice hands on to the next, ({shown}), has {float(entries):.3g} joint states.",
        remedies=(
            Remedy("approximate with ", Argument("engine", Call("BoyenKoller"))),
            Remedy("with ", Argument("engine", Call("ParticleFilter"))),
            Remedy("raise ", Argument("budget")),
        ),
    )


class _Places:
    """Where factors, variables and messages lie in a program."""

    def __init__(self, program: Program, names: Sequence[str]) -> None:
        self.program = program
        self.numbers = {name: number for number, name in enumerate(names)}
        operands, cliques = program.layout.operands, program.layout.cliques
        self.operands = {int(start): place for place, start in reversed(list(enumerate(operands["start"])))}
        self.firsts = cliques["first"]

    def ends(self, starts: Ints) -> Ints:
        """The operand and the clique of factors, by where they start in the store: a row each."""
        found = [self.operands[int(start)] for start in starts]
        cliques = [int(np.searchsorted(self.firsts, place, side="right")) - 1 for place in found]
        return np.array(list(zip(found, cliques, strict=True)), dtype=np.int64).reshape(-1, 2)

    def are_whole(self, leaves: Sequence[Factor], starts: Ints) -> bool:
        """Whether the cliques of some messages share all of their variables with their parents."""
        for leaf, (_, clique) in zip(leaves, self.ends(starts).tolist(), strict=True):
            own = {self.numbers[variable.name] for variable in leaf.scope[:-1]}
            is_root = self.program.layout.cliques["parent"][clique] < 0
            if is_root or not own <= set(self.program.separator(clique)):
                return False
        return True

    def orders(self, messages: Sequence[Factor], starts: Ints) -> Ints:
        """Message after message the place of each number of its clique's rows, or of a root's table."""
        orders = [np.zeros(0, dtype=np.int64)]
        for message, (_, clique) in zip(messages, self.ends(starts).tolist(), strict=True):
            own = [self.numbers[variable.name] for variable in message.scope[:-1]]
            is_root = self.program.layout.cliques["parent"][clique] < 0
            axes = self.program.clique(clique) if is_root else self.program.separator(clique)
            rows = [variable for variable in axes if variable in own]
            sizes = [int(self.program.sizes[variable]) for variable in own]
            places = np.arange(math.prod(sizes)).reshape(sizes)
            orders.append(places.transpose([own.index(variable) for variable in rows]).ravel())
        return np.concatenate(orders)
