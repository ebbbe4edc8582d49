"""Whether Markov chains are to be trusted, in words."""

from __future__ import annotations

from typing import NamedTuple

from plausible.inference.problem import Problem
from plausible.inference.sampling.chain_beliefs import FEWEST_BATCHES, ChainBeliefs
from plausible.inference.sampling.chain_diagnostics import MAX_R_HAT, told_r_hat
from plausible.inference.sampling.chain_layout import ChainLayout
from plausible.inference.sampling.chain_starts import blocking_factor

__all__ = ["ONE_CHAIN", "Moves", "chain_doubt", "cut_text"]

#: What a single chain leaves open, however well it mixes where it is.
ONE_CHAIN = "One chain can't show that it misses a mode: set num_chains=4 or more, so that they can be compared."

#: Chains that refuse most proposals are to have taken so many, all together, for their errors to mean something.
_FEWEST_MOVES, _LOW_ACCEPTANCE = 100, 0.1


class Moves(NamedTuple):
    """How chains move.

    Attributes
    ----------
    are_of_blocks
        Whether a move changes the variables of one block, not all at once.
    are_on_logs
        Whether they are decided by logarithms, which keep their digits however small the numbers are.
    acceptance
        The share of proposals that were taken; `None` where nothing is refused.
    num_draws
        The draws of all chains.
    """

    are_of_blocks: bool
    are_on_logs: bool
    acceptance: float | None
    num_draws: int

    @property
    def num_independent(self) -> float:
        """The most independent draws that they can be worth: a chain that refuses a new assignment repeats itself."""
        if self.are_of_blocks or self.acceptance is None:
            return float(self.num_draws)
        return max(1.0, self.acceptance * self.num_draws)

    @property
    def are_refused(self) -> bool:
        """Whether chains that propose whole assignments have hardly moved."""
        return self.num_independent < min(_FEWEST_MOVES, _LOW_ACCEPTANCE * self.num_draws)


def chain_doubt(problem: Problem, layout: ChainLayout, found: ChainBeliefs, moves: Moves) -> str:
    """Why the chains are not to be trusted, and what to do; "" where they are."""
    cut = blocking_factor(problem, layout.blocks) if moves.are_of_blocks else ""
    if cut:
        return f"{cut_text(cut)} Give these as one of the blocks=, or sum some out with collapsed=."
    if layout.blocks and moves.are_refused:
        return (
            f"The chains took {moves.acceptance:.2g} of the proposals, about {moves.num_independent:.0f} of "
            f"{moves.num_draws}: they hardly moved. Take another proposal=, such as 'single-site uniform', or Gibbs()."
        )
    if found.r_hat > MAX_R_HAT:
        return (
            f"{told_r_hat(found.r_hat)}: the chains have not mixed. Raise num_samples and burn_in, give dependent "
            "variables as blocks=, or sum some out with collapsed=."
        )
    if layout.blocks and found.num_batches < FEWEST_BATCHES:
        return (
            f"The draws make {found.num_batches} batches, fewer than {FEWEST_BATCHES}: too few to tell whether the "
            "chains have mixed. Raise num_samples."
        )
    if problem.has_lost_digits and layout.blocks and not moves.are_on_logs:
        return (
            "The entries of some factor lie so far apart that small ones lose their digits. Where these decide, "
            "take Metropolis() or LoopyBP(), which work on logarithms."
        )
    return ""


def cut_text(names: str) -> str:
    """That zeros keep chains from going everywhere; the names are those of `blocking_factor`."""
    return (
        f"Zeros in the factors over {names} keep the chains from assignments that are possible, since no move "
        "changes enough variables at once."
    )
