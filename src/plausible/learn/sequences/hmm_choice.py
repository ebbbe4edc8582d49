"""How many hidden states a hidden Markov model needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from plausible.base.method_names import keyword_hints
from plausible.base.pictured import chart_by
from plausible.base.records import Result, record
from plausible.data.sequences import SequencesLike
from plausible.errors import InvalidArgument
from plausible.learn.sequences.hidden_markov_model import HMMFit, hmm

if TYPE_CHECKING:
    from plausible.base.pictured import Axes, Chart


@record
class HMMScore(Result):
    """How well so many hidden states do."""

    num_states: int  # K
    score: float  # By the criterion; greater is better
    log_likelihood: float  # Of the rows that the model was learned from

    def __str__(self) -> str:
        return f"{self.num_states} states: {self.score:.6g}"


@record(eq=False)
class HMMChoice(Result):
    """The number of hidden states that does best, and how the others do."""

    fit: HMMFit  # Of the best number
    scores: tuple[HMMScore, ...]  # In the order given
    criterion: str  # What was compared

    _rows = "scores"

    @property
    def num_states(self) -> int:
        """The best number of states."""
        return self.fit.model.num_states

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw the score of each number of states; it needs matplotlib (the extra `plot`)."""
        numbers, scores = [one.num_states for one in self.scores], [one.score for one in self.scores]
        named = {"title": "Hidden states", "what": "number of states", "score": self.criterion}
        return chart_by("plot_choice", numbers, scores, self.num_states, ax, **named)

    def __str__(self) -> str:
        return f"{self.num_states} states by {self.criterion}: {'; '.join(map(str, self.scores))}"


@keyword_hints
def choose_hmm_states(
    rows: SequencesLike,
    numbers: Iterable[int] = range(1, 7),
    *,
    criterion: str = "bic",
    held_out: Any = None,
    **options: Any,
) -> HMMChoice:
    """Learn models with several numbers of hidden states and take the best.

    Parameters
    ----------
    numbers
        How many states to try.
    criterion
        "bic": log p(rows) - parameters · log(rows) / 2; or "held-out": log p of the rows `held_out`.
    options
        Those of `hmm`.

    Examples
    --------
    >>> import plausible as pb
    >>> model = pb.HiddenMarkovModel([.5, .5], [[.9, .1], [.1, .9]], pb.GaussianEmission([0, 5], [1.0, 1.0]))
    >>> rows = model.sample(400, seed=0)[["observation"]]
    >>> choose_hmm_states(rows, [1, 2, 3]).num_states
    2
    """
    if criterion not in ("bic", "held-out"):
        raise InvalidArgument(f"criterion={criterion!r}: expected 'bic' or 'held-out'.")
    if (criterion == "held-out") != (held_out is not None):
        raise InvalidArgument("criterion='held-out' and held_out= go together: rows that nothing is learned from.")
    places = {name: options[name] for name in ("sequence", "time", "gaps") if name in options}
    fits, scores = [], []
    if not isinstance(numbers, Iterable):
        raise InvalidArgument(f"numbers={numbers!r}: give the numbers of states to try, such as range(1, 5).")
    for number in numbers:
        fit = hmm(rows, number, **options)
        score = fit.bic if held_out is None else fit.model.log_likelihood(held_out, **places)
        fits.append(fit)
        scores.append(HMMScore(number, score, fit.log_likelihood))
    if not fits:
        raise InvalidArgument("numbers= is empty: give the numbers of states to try.")
    best = max(range(len(fits)), key=lambda place: scores[place].score)
    return HMMChoice(fits[best], tuple(scores), criterion)
