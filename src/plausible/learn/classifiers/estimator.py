"""What scikit-learn asks of an estimator, without needing scikit-learn: it is looked at only where it is loaded."""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from typing import Any, Self

from plausible.errors import InvalidArgument, PlausibleError, close_match


class NotFitted(PlausibleError, ValueError, AttributeError):
    """A classifier that is asked before it has seen data; also scikit-learn's own error where that is loaded."""


class Estimator:
    """Parameters that are stored as they were given, by the names of the arguments of `__init__`.

    Subclasses set nothing but these in `__init__`; what is learned has a name that ends in `_`.
    """

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Name -> parameter, as it was given; `deep` makes no difference, as none of them is an estimator."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **parameters: Any) -> Self:
        """Change some parameters; those learned stay until the next `fit`."""
        known = self._parameter_names()
        for name, value in parameters.items():
            if name not in known:
                raise InvalidArgument(
                    f"{name!r} is no parameter of {type(self).__name__}.{close_match(name, known)} "
                    f"It has {', '.join(known)}."
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = {n: v for n, v in self.get_params().items() if repr(v) != repr(defaults[n].default)}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    def __sklearn_is_fitted__(self) -> bool:
        """Whether data has been seen; asked by scikit-learn."""
        return hasattr(self, "classes_")

    def __sklearn_tags__(self) -> Any:
        """What this classifier can do; asked by scikit-learn, which is then there."""
        utils = import_module("sklearn.utils")
        return utils.Tags(
            estimator_type="classifier",
            target_tags=utils.TargetTags(required=True),
            classifier_tags=utils.ClassifierTags(),
            input_tags=utils.InputTags(allow_nan=True, categorical=True, string=True),
        )

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise _not_fitted_class()(f"This {type(self).__name__} has not seen any data yet: call fit first.")


class Clusterer(Estimator):
    """An estimator that puts rows into clusters, without a class to learn from: `labels_` once it has."""

    def __sklearn_is_fitted__(self) -> bool:
        """Whether data has been seen; asked by scikit-learn."""
        return hasattr(self, "labels_")

    def __sklearn_tags__(self) -> Any:
        """What this estimator can do; asked by scikit-learn, which is then there."""
        utils = import_module("sklearn.utils")
        return utils.Tags(
            estimator_type="clusterer",
            target_tags=utils.TargetTags(required=False),
            input_tags=utils.InputTags(allow_nan=True, categorical=True, string=True),
        )


def _not_fitted_class() -> type[NotFitted]:
    """`NotFitted`; where scikit-learn is loaded, a kind of it that code written for scikit-learn catches, too."""
    if "sklearn" not in sys.modules:
        return NotFitted
    also = import_module("sklearn.exceptions").NotFittedError
    return type("NotFitted", (NotFitted, also), {})
