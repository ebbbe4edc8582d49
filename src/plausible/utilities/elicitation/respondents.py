"""People to practise on: simulated respondents with noise and with biases."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from plausible.base.seeds import Seed, generator_of
from plausible.errors import InvalidArgument
from plausible.utilities.elicitation.questions import Answer, Question
from plausible.utilities.elicitation.weighting import Weighting
from plausible.utilities.lotteries.outcome_utilities import UtilityLike, read_utility, utility_of


class SimulatedRespondent:
    """Somebody with known utilities who answers questions, more or less as people do (section 22.6).

    Without noise and biases every method finds the utilities.

    Parameters
    ----------
    utility
        The true utilities, of items and of anchors.
    noise
        The standard deviation of errors of judgment, as a share of the distance between the anchors.
    weighting
        How chances are felt, such as `PrelecWeighting()`; by default as they are.
    anchoring
        By which share the judgment of an item moves towards the level that was shown with it before.
    time_exponent
        Years t are worth t to this power: below 1, years far away count less.
    scale_exponent
        Places on a scale are v to this power: above 1, scales understate.

    Examples
    --------
    >>> from plausible.utilities.elicitation.methods import standard_gamble
    >>> from plausible.utilities.elicitation.session import run_session
    >>> respondent = SimulatedRespondent({"dead": 0.0, "blind": 0.4, "healthy": 1.0})
    >>> session = standard_gamble(["blind"], "dead", "healthy", tolerance=0.001)
    >>> round(run_session(session, respondent).result["blind"], 2)
    0.4
    """

    def __init__(
        self,
        utility: UtilityLike,
        *,
        noise: float = 0.0,
        weighting: Weighting | None = None,
        anchoring: float = 0.0,
        time_exponent: float = 1.0,
        scale_exponent: float = 1.0,
        seed: Seed = 0,
    ) -> None:
        if noise < 0 or not 0 <= anchoring < 1:
            raise InvalidArgument(f"noise={noise!r} must not be negative, and anchoring={anchoring!r} lie in [0, 1).")
        if time_exponent <= 0 or scale_exponent <= 0:
            raise InvalidArgument("The exponents of time and scale must be positive.")
        self._utility = read_utility(utility)
        self._noise, self._weighting, self._anchoring = noise, weighting, anchoring
        self._exponents: Mapping[str, float] = {"time": time_exponent, "scale": scale_exponent}
        self._rng = generator_of(seed)
        self._levels_before: dict[tuple[str, Hashable], float] = {}

    def __call__(self, question: Question) -> Answer:
        """The answer to a question."""
        value = self.worth(question) + self._noise * float(self._rng.standard_normal())
        if question.kind == "scale":
            low, high = question.limits
            place: float = min(1.0, max(0.0, value)) ** self._exponents["scale"]
            return low + (high - low) * place
        felt = self._felt(question.kind, question.level)
        topic = (question.kind, question.item)
        if self._anchoring and topic in self._levels_before:
            value += self._anchoring * (self._felt(question.kind, self._levels_before[topic]) - value)
        self._levels_before[topic] = question.level
        if value == felt:
            return "same"
        return question.choices[0] if value > felt else question.choices[1]

    def worth(self, question: Question) -> float:
        """Where the item truly lies between the anchors of a question."""
        item, worst, best = (
            utility_of(self._utility, thing) for thing in (question.item, question.worst, question.best)
        )
        if not worst < best:
            raise InvalidArgument(f"{question.best!r} is no better than {question.worst!r} to this respondent.")
        return (item - worst) / (best - worst)

    def _felt(self, kind: str, level: float) -> float:
        """What a level of the second thing is felt to be worth."""
        if kind == "time":
            return float(level ** self._exponents["time"])
        return self._weighting(level) if self._weighting is not None else level
