"""Branch and bound on the table of all that decisions see and do: by whole rules where these are few, else by rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from plausible.decisions.solving.rule_search import RuleSearch, can_list_rules
from plausible.decisions.solving.team import Team, read_team
from plausible.decisions.solving.team_work import Together
from plausible.search.branch_and_bound import BranchingState, branch_and_bound
from plausible.search.run import Run

__all__ = ["TableSearch"]


@dataclass(slots=True)
class TableSearch:
    """A search that can be gone on with.

    Attributes
    ----------
    work
        The decisions; they get what is found.
    team
        The table.
    branches
        What branches and bounds.
    run
        How far it is.
    """

    work: Together
    team: Team
    branches: RuleSearch | Team
    run: Run[BranchingState[tuple[int, ...]]] | None = None

    @classmethod
    def read(cls, work: Together, max_entries: int) -> TableSearch | None:
        """The search for some decisions; None where the table would be too large."""
        team = read_team(work.problem, work.members, work.rules, max_entries)
        if team is None:
            return None
        return cls(work, team, RuleSearch(team) if can_list_rules(team) else team)

    @property
    def num_entries(self) -> int:
        """The entries of the table."""
        return self.team.num_entries

    def go_on(self, seconds: float, max_nodes: int | None = None) -> None:
        """Search for some seconds, up to some number of nodes in all."""
        work, scale = self.work, self.team.scale

        def told(search: BranchingState[Any]) -> bool:
            work.upper = min(work.upper, search.upper / scale)
            value = max(work.value, search.score / scale)
            work.watch.tell(replace(work.state(search.num_steps), expected_utility=value))
            return work.watch.is_stopped

        self.run = branch_and_bound(
            self.branches,
            (),
            start=self._start() if self.run is None else None,
            run=self.run,
            max_steps=max_nodes,
            time_limit=seconds,
            progress=None if work.watch.options.progress is None else told,
        )
        state = self.run.state
        assert state.best is not None
        if state.is_finished:
            work.finish(self.branches.rules(state.best))
        else:
            work.improve(self.branches.rules(state.best))
            work.upper = min(work.upper, state.upper / scale)

    def _start(self) -> tuple[float, tuple[int, ...]]:
        """A full solution to begin with, and its score."""
        if isinstance(self.branches, RuleSearch):
            numbers = self.branches.numbers(self.work.rules)
            return self.branches.upper(numbers), numbers
        options = self.work.watch.options
        return self.team.start(options.restarts, options.generator(), lambda: self.work.watch.is_over)
