"""Structural equations with additive noise, given as Python functions of arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.base import Frozen, check_count
from plausible.causal.functional.model import causes_of
from plausible.errors import InvalidArgument, InvalidModel, UnknownVariable
from plausible.graphs import DAG
from plausible.variables import Evidence, Variable
from plausible.variables.evidence import settings_of

if TYPE_CHECKING:
    import pandas as pd
    from narwhals.typing import IntoDataFrame


Array: TypeAlias = npt.NDArray[np.float64]
#: The standard deviation of normal noise, or a function of a random generator and a number of rows.
Noise: TypeAlias = "float | Callable[[np.random.Generator, int], npt.ArrayLike]"


class AdditiveEquations(Frozen):
    """X = f(causes) + noise, the noise of all variables being independent: samples, interventions, counterfactuals.

    A unit of which all variables are seen has known noise, X - f(causes), so that its counterfactuals are numbers. See
    Hoyer, Janzing, Mooij, Peters & Schölkopf (2009), Nonlinear causal discovery with additive noise models.

    Parameters
    ----------
    functions
        Name -> a function of arrays whose arguments are named after the causes.
    noise
        Name -> the standard deviation of its normal noise, or a function `(generator, num_rows)` that draws it;
        standard normal where left out.

    Examples
    --------
    >>> model = AdditiveEquations(
    ...     {"X": lambda: 0.0, "Y": lambda X: X**2}, noise={"Y": lambda generator, rows: generator.uniform(-1, 1, rows)}
    ... )
    >>> model.graph
    DAG('X -> Y')
    >>> model.counterfactual(["X", "Y"], evidence={"X": [1.0, 2.0], "Y": [1.5, 4.0]}, do={"X": 3.0})
         X    Y
    0  3.0  9.5
    1  3.0  9.0
    """

    __slots__ = ("_causes", "_functions", "_noise", "graph")

    #: What causes what.
    graph: DAG

    def __init__(self, functions: Mapping[str, Callable[..., Any]], noise: Mapping[str, Noise] | None = None) -> None:
        self._functions = dict(functions)
        self._causes = {name: causes_of(name, function) for name, function in self._functions.items()}
        self._noise = {**dict.fromkeys(functions, 1.0), **(noise or {})}
        UnknownVariable.check_all(
            (*self._noise, *(cause for causes in self._causes.values() for cause in causes)),
            self._functions,
            "these equations",
        )
        for name, drawn in self._noise.items():
            if not callable(drawn) and not (isinstance(drawn, (int, float, np.number)) and 0 <= drawn < np.inf):
                raise InvalidModel(f"The noise of {name!r} is a standard deviation or a function, not {drawn!r}.")
        edges = [(cause, name) for name, causes in self._causes.items() for cause in causes]
        self.graph = DAG(edges, nodes=self._functions)

    @property
    def functions(self) -> Mapping[str, Callable[..., Any]]:
        """The function of each variable."""
        return MappingProxyType(self._functions)

    @property
    def noise(self) -> Mapping[str, Noise]:
        """The noise of each variable."""
        return MappingProxyType(self._noise)

    def intervene(self, do: Mapping[str, float]) -> AdditiveEquations:
        """The equations in which some variables are constants."""
        values = self._values(do)
        functions = {name: _constant(values[name]) if name in values else f for name, f in self._functions.items()}
        return AdditiveEquations(functions, self._noise | dict.fromkeys(values, 0.0))

    def sample(
        self, num_rows: int, seed: int | np.random.Generator | None = None, do: Mapping[str, float] | None = None
    ) -> pd.DataFrame:
        """Independent rows, of the equations as they are or of those under an intervention.

        The noise of all variables is drawn in their order, also of those that are set: with the same seed, the rows of
        two interventions are the same units.
        """
        import pandas as pd

        check_count("num_rows", num_rows)
        generator = np.random.default_rng(seed)
        drawn: dict[str, Array] = {}
        for name, noise in self._noise.items():
            draws = noise(generator, num_rows) if callable(noise) else noise * generator.standard_normal(num_rows)
            drawn[name] = np.asarray(draws).astype(float)
            if drawn[name].shape != (num_rows,):
                raise InvalidModel(f"The noise of {name!r} has shape {drawn[name].shape}, not {(num_rows,)}.")
        return pd.DataFrame(self._solved({name: drawn[name] for name in self._functions}, self._values(do), num_rows))

    def abduct(self, units: IntoDataFrame | Mapping[str, npt.ArrayLike]) -> pd.DataFrame:
        """The noise of units of which all variables are seen: X - f(causes).

        Parameters
        ----------
        units
            A number for each variable, or a row for each unit, without gaps.
        """
        import narwhals as nw
        import pandas as pd

        if not isinstance(units, (pd.DataFrame, Mapping)):
            units = nw.from_native(units, eager_only=True).to_dict(as_series=False)
        elif isinstance(units, Mapping):
            is_one = all(np.ndim(column) == 0 for column in units.values())
            units = pd.DataFrame([units]) if is_one else units
        frame = pd.DataFrame(units)
        for name in self._functions:
            if name not in frame:
                raise UnknownVariable.named(name, list(frame), "these units, and abduction needs all variables")
        try:
            frame = frame[list(self._functions)].astype(float)
        except (TypeError, ValueError) as error:
            raise InvalidArgument(f"The columns of units are numbers: {error}.") from None
        if gaps := [name for name, has_gaps in frame.isna().any().items() if has_gaps]:
            raise InvalidArgument(f"The column {gaps[0]!r} has gaps; abduction needs units that are fully seen.")
        columns = {name: frame[name].to_numpy() for name in self._functions}
        noise = {name: column - self._result(name, columns, len(frame)) for name, column in columns.items()}
        return pd.DataFrame(noise, index=frame.index)

    def counterfactual(
        self,
        outcome: str | Iterable[str],
        *,
        evidence: IntoDataFrame | Mapping[str, npt.ArrayLike],
        do: Mapping[str, float],
    ) -> pd.DataFrame:
        """What units of which all variables are seen would have been under `do`: a row for each.

        Parameters
        ----------
        outcome
            The name of a variable or several, in the hypothetical world.
        evidence
            The units as they are: a number for each variable, or a row for each unit, without gaps.
        do
            Name -> number set in the hypothetical world.
        """
        import pandas as pd

        listed = [outcome] if isinstance(outcome, str) else list(dict.fromkeys(outcome))
        UnknownVariable.check_all(listed, self._functions, "these equations")
        noise = self.abduct(evidence)
        columns = {str(name): column.to_numpy() for name, column in noise.items()}
        return pd.DataFrame(self._solved(columns, self._values(do), len(noise)), index=noise.index)[listed]

    def _solved(self, noise: Mapping[str, Array], do: Mapping[str, float], num_rows: int) -> dict[str, Array]:
        """All variables, causes first; returned in their own order."""
        columns: dict[str, Array] = {}
        for name in map(str, self.graph.topological_order):
            if name in do:
                columns[name] = np.full(num_rows, do[name])
            else:
                columns[name] = self._result(name, columns, num_rows) + noise[name]
        return {name: columns[name] for name in self._functions}

    def _result(self, name: str, columns: Mapping[str, Array], num_rows: int) -> Array:
        result = np.asarray(
            self._functions[name](**{cause: columns[cause] for cause in self._causes[name]}), dtype=float
        )
        if result.shape not in ((), (num_rows,)):
            raise InvalidModel(
                f"The function of {name!r} returns shape {result.shape} for {num_rows} rows: it takes arrays, and "
                "returns a number for each row."
            )
        return np.broadcast_to(result, (num_rows,))

    def _values(self, do: Mapping[str, float] | None) -> dict[str, float]:
        variables = {name: Variable(name) for name in self._functions}
        return dict(Evidence.read(settings_of(do), variables, "these equations").values)

    def __repr__(self) -> str:
        return f"<AdditiveEquations: {self.graph}>"


def _constant(value: float) -> Callable[[], float]:
    return lambda: value
