"""What is open: models, each a value that never changes, and tables of rows. Nothing is kept but in memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any, Final

from plausible.data import Table
from plausible.decisions import InfluenceDiagram
from plausible.errors import InvalidArgument, NotSupported, PlausibleError, TooLarge
from plausible.inference import Budget
from plausible.models import BayesianNetwork, RelationalMarkovNetwork, RelationalModel
from plausible.models.sequences.sequence_model import SequenceModel
from plausible.plotting.focus import FocusLike
from plausible.plotting.live import Live
from plausible.plotting.scenes import Subject, scene_of
from plausible.studio.workers import Worker

#: What an answer may cost: at a click; when somebody said that he waits; and by any engine that is quick enough.
EFFORTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "quick": {"budget": Budget(seconds=2.0)},
    "patient": {"budget": Budget(seconds=600.0)},
    "approximate": {"engine": "auto", "budget": Budget(seconds=2.0)},
}
#: How many models are kept, for all steps back that somebody may want to take, and how many tables.
_MOST_MODELS, _MOST_TABLES = 4096, 8
#: How many scenes of one model are kept.
_MOST_SCENES = 8
#: Larger models are shown in part only.
MOST_WHOLE = 2500
#: How many steps of a model in time are shown at first.
FIRST_STEPS = 3


class NotOpen(PlausibleError, LookupError):
    """A model or a table that is not open, or no longer."""


@dataclass(eq=False)
class Version:
    """A model as it is at some moment; an edit makes another version of it.

    Attributes
    ----------
    number
        By which pages call it.
    name
        What people call it: that of its file.
    model
        The model itself.
    worker
        Who answers questions to it, and to all other versions of the same file.
    num_steps
        How many steps of a model in time are laid out; 0 for all others.
    """

    number: str
    name: str
    model: Any
    worker: Worker
    num_steps: int = 0
    _scenes: OrderedDict[Any, Live] = field(default_factory=OrderedDict, init=False)

    @cached_property
    def shown(self) -> Any:
        """The model that is asked: of a model in time the network of its first steps."""
        return self.model.unroll(self.num_steps) if self.num_steps else self.model

    @cached_property
    def solution(self) -> Any:
        """The best strategy of a diagram."""
        return self.model.solve(time_limit=20.0)

    def subject(self, effort: str = "quick") -> Subject:
        """What is drawn and asked."""
        if effort not in EFFORTS:
            raise InvalidArgument(f"{effort!r} is no effort: {', '.join(EFFORTS)}.")
        options = EFFORTS[effort]
        if isinstance(self.model, InfluenceDiagram):
            return Subject.of_solution(self.solution, {"budget": options["budget"]})
        if not hasattr(self.shown, "graph"):
            raise NotSupported(f"A {type(self.model).__name__} has no graph to show.")
        return Subject.of_model(self.shown, options)

    def live(self, focus: FocusLike = "auto", around: tuple[str, ...] = (), effort: str = "quick") -> Live:
        """The scene of what is around a focus, and its answers; the last ones are kept."""
        place = (tuple(focus) if isinstance(focus, list) else focus, around if focus == "auto" else (), effort)
        found = self._scenes.pop(place, None)
        if found is None:
            subject = self.subject(effort)
            if focus is None and len(subject.graph.nodes) > MOST_WHOLE:
                raise TooLarge(
                    f"Of {len(subject.graph.nodes)} nodes a part is shown: no more than {MOST_WHOLE} at once."
                )
            found = Live(subject, scene_of(subject, focus, around))
        self._scenes[place] = found
        if len(self._scenes) > _MOST_SCENES:
            self._scenes.popitem(last=False)
        return found

    def forget_scenes(self) -> None:
        """A version that was edited is seldom seen again: its scenes are laid out anew if it is."""
        self._scenes.clear()


class Desk:
    """All that is open. Models are values: a step back is an earlier one.

    >>> from plausible import examples
    >>> desk = Desk()
    >>> desk.put(examples.load("asia"), "asia").number
    'm1'
    """

    def __init__(self) -> None:
        self._versions: OrderedDict[str, Version] = OrderedDict()
        self._tables: OrderedDict[str, tuple[str, Table]] = OrderedDict()
        self._num_put, self._lock = 0, Lock()

    def put(self, model: Any, name: str, before: Version | None = None, num_steps: int | None = None) -> Version:
        """A model, made of another one if `before` says so, by a number that pages know it by."""
        if isinstance(model, RelationalModel | RelationalMarkovNetwork):
            kind, of = ("model", "tables") if isinstance(model, RelationalModel) else ("Markov network", "constants")
            raise NotSupported(
                f"{name!r} is a relational {kind}, which stands for another network on other {of}; the studio shows "
                f"networks. In Python, model.ground({of}) is one, which can be saved and opened here."
            )
        if num_steps is None:
            num_steps = before.num_steps if before is not None else FIRST_STEPS
        is_in_time = isinstance(model, SequenceModel)
        worker = before.worker if before is not None else Worker()
        if before is not None:
            before.forget_scenes()
        with self._lock:
            self._num_put += 1
            version = Version(f"m{self._num_put}", name, model, worker, num_steps if is_in_time else 0)
            self._versions[version.number] = version
            while len(self._versions) > _MOST_MODELS:
                self._versions.popitem(last=False)
        return version

    @property
    def last(self) -> Version | None:
        """The model that was opened or edited last."""
        with self._lock:
            return next(reversed(self._versions.values()), None)

    def version(self, number: str) -> Version:
        """The model that pages know by this number."""
        with self._lock:
            if number not in self._versions:
                raise NotOpen("This model is no longer open: open its file again.")
            return self._versions[number]

    def network(self, number: str) -> BayesianNetwork:
        """A model that has to be a Bayesian network."""
        model = self.version(number).model
        if not isinstance(model, BayesianNetwork):
            raise NotSupported(f"This needs a Bayesian network, not a {type(model).__name__}.")
        return model

    def put_table(self, table: Table, name: str) -> str:
        """A table by a number that pages know it by."""
        with self._lock:
            self._num_put += 1
            number = f"t{self._num_put}"
            self._tables[number] = name, table
            while len(self._tables) > _MOST_TABLES:
                self._tables.popitem(last=False)
        return number

    def table(self, number: str) -> Table:
        """The table that pages know by this number."""
        return self._named_table(number)[1]

    def table_name(self, number: str) -> str:
        """What the file of a table is called."""
        return self._named_table(number)[0]

    def _named_table(self, number: str) -> tuple[str, Table]:
        with self._lock:
            if number not in self._tables:
                raise NotOpen("These rows are no longer open: drop their file again.")
            return self._tables[number]
