"""Linear dynamical systems: states that move linearly with Gaussian noise, of which linear functions are observed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self, final, get_args

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Floats
from plausible.base.hints import UNROLLED_HINTS
from plausible.base.method_names import keyword_hints, own_methods
from plausible.base.options import read_count
from plausible.base.records import TextTable
from plausible.base.remedies import Argument
from plausible.errors import InvalidArgument, InvalidModel
from plausible.models.bayesian_network import BayesianNetwork
from plausible.models.sequences.kalman_online import LinearFilter
from plausible.models.sequences.linear_answers import Form, LinearAnswers
from plausible.models.sequences.shown_models import system_tables
from plausible.models.sequences.system_matrices import (
    num_rows,
    read_columns,
    read_covariance,
    read_matrix,
    read_start,
)
from plausible.models.sequences.unrolling import system_slices, unrolled_system
from plausible.variables import Variable

if TYPE_CHECKING:
    from plausible.models.sequences.dynamic_network import DynamicBayesianNetwork

_MATRICES = ("transition", "observation", "transition_noise", "observation_noise")
_GAINS = ("transition_input", "observation_input")


@final
@keyword_hints
@own_methods
class LinearDynamicalSystem(LinearAnswers):
    """States x_t = A x_t-1 + B u_t + w_t, of which y_t = C x_t + D u_t + v_t is observed; w ~ N(0, Q), v ~ N(0, R).

    The first state x_1 is N(m, P) before its observation, and no input moves it. Inputs u_t are columns of the rows:
    those of a row act on the state and on the observation of that row. What a row does not have, or has as NaN, is not
    observed, be it one number of several. Covariances may be singular, zero too. Questions are exact and cost
    O(rows d³), less once the covariances have settled; O(rows d²) then (Kalman 1960; Durbin & Koopman 2012).

    Parameters
    ----------
    transition, observation
        A, with a row and a column for each state, and C, with a row for each observed number.
    transition_noise, observation_noise
        The covariances Q and R: matrices, or vectors of variances.
    initial_mean
        m; zero by default.
    initial_covariance
        P: a matrix or variances. An infinite variance says that nothing is known of a state ("diffuse" says so of all,
        which is the default): the exact limit of ever greater variances σ², in which log p + log σ for each of these
        stands for log p. "stationary" is the covariance that the states have in the long run.
    transition_input, observation_input
        B and D, with a column for each input.
    states, observations, inputs
        Names; by default x1, x2, ..., y1, ... and u1, ...
    form
        "joseph", or "square-root" for covariances that are very badly conditioned: some times slower.

    Examples
    --------
    A car on a line, whose position is measured:

    >>> car = LinearDynamicalSystem(transition=[[1, 1], [0, 1]], observation=[[1, 0]], transition_noise=[0, 0.1],
    ...                             observation_noise=1.0, states=["position", "speed"], observations=["measured"])
    >>> car.smooth([0.1, 1.2, None, 2.9]).to_frame().round(3)
    state position            speed
              mean deviation   mean deviation
    0        0.169     0.851  0.928     0.525
    1        1.097     0.616  0.921     0.485
    2        2.017     0.680  0.917     0.513
    3        2.934     0.965  0.917     0.602
    >>> car.forecast([0.1, 1.2, None, 2.9])["measured"].round(3)
           mean  lower  upper
    step
    1     3.852  0.991  6.712
    """

    __slots__ = (
        "form",
        "initial",
        "inputs",
        "observation",
        "observation_input",
        "observation_noise",
        "observations",
        "states",
        "transition",
        "transition_input",
        "transition_noise",
    )

    _hints = UNROLLED_HINTS

    kind: ClassVar[str] = "linear-dynamical-system"

    def __init__(
        self,
        transition: npt.ArrayLike,
        observation: npt.ArrayLike,
        transition_noise: npt.ArrayLike,
        observation_noise: npt.ArrayLike,
        initial_mean: npt.ArrayLike | None = None,
        initial_covariance: npt.ArrayLike | str | None = None,
        *,
        transition_input: npt.ArrayLike | None = None,
        observation_input: npt.ArrayLike | None = None,
        states: Iterable[str] | None = None,
        observations: Iterable[str] | None = None,
        inputs: Iterable[str] | None = None,
        form: Form = "joseph",
    ) -> None:
        size = max(num_rows("transition", transition))
        self.states = read_columns("states", states, size, "x")
        is_column = size == 1 and np.ndim(observation) == 1  # of one state, a number for each observed one
        num_observed = np.size(observation) if is_column else num_rows("observation", observation)[0]
        self.observations = read_columns("observations", observations, num_observed, "y")
        self.inputs = _read_inputs(inputs, transition_input, observation_input)
        _refuse_repeated(self.states, self.observations, self.inputs)
        self.transition = read_matrix("transition", transition, self.states, self.states)
        self.observation = read_matrix("observation", observation, self.observations, self.states)
        self.transition_noise = read_covariance("transition_noise", transition_noise, self.states)
        self.observation_noise = read_covariance("observation_noise", observation_noise, self.observations)
        self.transition_input = _read_gains("transition_input", transition_input, self.states, self.inputs)
        self.observation_input = _read_gains("observation_input", observation_input, self.observations, self.inputs)
        self.initial = read_start(initial_mean, initial_covariance, self.states, self.transition, self.transition_noise)
        if form not in get_args(Form):
            raise InvalidArgument(Argument("form", form), ': expected "joseph" or "square-root".')
        self.form = form

    # --- what is there ---

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable, of all columns that rows may have: what is observed, and inputs."""
        return MappingProxyType({name: Variable(name) for name in (*self.observations, *self.inputs)})

    @property
    def initial_mean(self) -> Floats:
        """The mean of the first state, before its observation."""
        return self.initial.mean

    @property
    def initial_covariance(self) -> Floats:
        """Its covariance; infinite variances where nothing is known."""
        return self.initial.told

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinearDynamicalSystem) and self.to_record() == other.to_record()

    def __hash__(self) -> int:
        return hash((self.states, self.observations, self.inputs, self.transition.tobytes()))

    def __repr__(self) -> str:
        inputs = f" and the inputs {', '.join(self.inputs)}" if self.inputs else ""
        return f"<LinearDynamicalSystem: {', '.join(self.observations)} from {', '.join(self.states)}{inputs}>"

    def _shown(self) -> list[TextTable]:
        return system_tables(self)

    def to_record(self) -> dict[str, Any]:
        """The model in plain types; infinite variances are "inf"."""
        covariance = [["inf" if np.isinf(x) else x for x in row] for row in self.initial.told.tolist()]
        matrices = {name: getattr(self, name).tolist() for name in self._matrix_names}
        names = {name: list(getattr(self, name)) for name in ("states", "observations", "inputs")}
        start = {"initial_mean": self.initial.mean.tolist(), "initial_covariance": covariance}
        return {**matrices, **start, **names, "form": self.form}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """The inverse of `to_record`."""
        covariance = [[float(x) for x in row] for row in record["initial_covariance"]]
        return cls(**{**record, "initial_covariance": covariance})

    def with_parameters(self, **matrices: Any) -> LinearDynamicalSystem:
        """The same system with other matrices, by the names that the constructor has for them."""
        parts = {name: getattr(self, name) for name in self._matrix_names}
        parts |= {"initial_mean": self.initial.mean, "initial_covariance": self.initial.told, "form": self.form}
        names = {name: getattr(self, name) for name in ("states", "observations", "inputs")}
        return LinearDynamicalSystem(**{**parts, **names, **matrices})

    @property
    def _matrix_names(self) -> tuple[str, ...]:
        return (*_MATRICES, *_GAINS) if self.inputs else _MATRICES

    # --- other forms ---

    def online(self) -> LinearFilter:
        """A filter to feed rows to, one by one."""
        return LinearFilter.start(self)

    def to_dynamic_network(self) -> DynamicBayesianNetwork:
        """The dynamic Bayesian network of the states and what is observed of them; it gives the same answers.

        >>> walk = LinearDynamicalSystem(0.9, 1.0, 0.5, 1.0, 0.0, 1.0)
        >>> walk.to_dynamic_network().graph
        DAG('x1[-1] -> x1; x1 -> y1')
        """
        from plausible.models.sequences.dynamic_network import DynamicBayesianNetwork

        return DynamicBayesianNetwork(*system_slices(self), inputs=[Variable(name) for name in self.inputs])

    def unroll(self, length: int, inputs: Any = None) -> BayesianNetwork:
        """The Bayesian network over `x[0]`, `y[0]`, ... of so many steps; it gives the same answers.

        Numbers whose noises are correlated hang on one another there.
        """
        count = read_count("length", length, 1)
        return unrolled_system(self, self._future_inputs(inputs, count))


def _read_inputs(inputs: Any, *gains: Any) -> tuple[str, ...]:
    """Names of inputs, from what is said of them."""
    given = [matrix for matrix in gains if matrix is not None]
    if not given:
        if inputs is not None and tuple(inputs):
            raise InvalidModel(
                Argument("inputs"), " act by ", Argument("transition_input"), " or ", Argument("observation_input"), "."
            )
        return ()
    listed = None if inputs is None else tuple(inputs)
    return read_columns("inputs", listed, len(listed) if listed else np.atleast_2d(given[0]).shape[-1], "u")


def _read_gains(option: str, matrix: Any, rows: tuple[str, ...], inputs: tuple[str, ...]) -> Floats:
    return read_matrix(option, np.zeros((len(rows), len(inputs))) if matrix is None else matrix, rows, inputs)


def _refuse_repeated(*groups: tuple[str, ...]) -> None:
    names = [name for group in groups for name in group]
    if repeated := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise InvalidModel(f"{repeated[0]!r} stands twice: states, observations and inputs have names of their own.")
