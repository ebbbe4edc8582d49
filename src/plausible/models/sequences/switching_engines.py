"""Ways to infer modes and states of switching linear systems: small frozen options."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from plausible.base.options import read_count
from plausible.base.remedies import Argument
from plausible.errors import InvalidArgument


@dataclass(frozen=True, slots=True)
class Exact:
    """All courses of modes, each with a Kalman filter of its own: exact, and exponential in the number of rows.

    Parameters
    ----------
    max_histories
        Where a sequence has more courses than this, the question is refused.
    """

    max_histories: int = 20_000

    def __post_init__(self) -> None:
        read_count("max_histories", self.max_histories, 1)


@dataclass(frozen=True, slots=True)
class GPB2:
    """A Gaussian for each mode; each step tries all pairs of modes and merges them (generalised pseudo-Bayes).

    An approximation, exact with one mode and for sequences of one row (Bar-Shalom & Li 1993). Smoothing goes back by
    expectation correction (Barber 2006).
    """


@dataclass(frozen=True, slots=True)
class IMM:
    """A Gaussian for each mode, merged before a step instead of after it: as many filters as modes, a little rougher.

    The interacting multiple model filter (Blom & Bar-Shalom 1988).
    """


@dataclass(frozen=True, slots=True)
class RaoBlackwellised:
    """Particles for the modes, each with an exact Kalman filter for the states (Doucet et al. 2000).

    The likelihood is an unbiased estimate. Answers tell the effective number of particles of each step. What is
    smoothed comes from few particles where the sequence is long: their ancestors are the same.

    Parameters
    ----------
    num_particles
        How many.
    seed
        The same seed gives the same answers.
    """

    num_particles: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        read_count("num_particles", self.num_particles, 1)
        read_count("seed", self.seed)


SwitchingEngine = Exact | GPB2 | IMM | RaoBlackwellised
_ENGINES: dict[str, type[SwitchingEngine]] = {
    engine.__name__: engine for engine in (Exact, GPB2, IMM, RaoBlackwellised)
}
AUTO = "auto"


def read_engine(engine: Any) -> SwitchingEngine | None:
    """What the caller named; None stands for "auto"."""
    if engine == AUTO:
        return None
    if isinstance(engine, (Exact, GPB2, IMM, RaoBlackwellised)):
        return engine
    raise InvalidArgument(
        Argument("engine", engine), f': expected "auto" or one of {", ".join(_ENGINES)}, such as GPB2().'
    )


def engine_record(engine: SwitchingEngine | None) -> Any:
    """An engine as files have it."""
    return AUTO if engine is None else {"name": type(engine).__name__, **asdict(engine)}


def engine_of(record: Any) -> SwitchingEngine | str:
    """The inverse of `engine_record`."""
    if record == AUTO:
        return AUTO
    return _ENGINES[record["name"]](**{name: value for name, value in record.items() if name != "name"})
