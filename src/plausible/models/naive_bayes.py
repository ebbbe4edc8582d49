"""Naive Bayes: features that are independent of each other given a class."""

from __future__ import annotations

from collections.abc import Iterable

from plausible.cpds import CPD
from plausible.errors import InvalidModel
from plausible.models.bayesian_network import BayesianNetwork
from plausible.models.notes import Notes

__all__ = ["naive_bayes"]


def naive_bayes(class_cpd: CPD, features: Iterable[CPD], notes: Notes | None = None) -> BayesianNetwork:
    """P(C) Π P(X_i | C) as a Bayesian network; a query for the class given features is the classifier.

    Parameters
    ----------
    class_cpd
        P(C): the class has no parents.
    features
        P(X_i | C): each has the class as its only parent.
    notes
        Name, description, positions and the like.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> spam = TableCPD("spam", [0.6, 0.4], states=["no", "yes"])
    >>> words = [
    ...     TableCPD("offer", {"no": [0.9, 0.1], "yes": [0.3, 0.7]}, parents=["spam"], states=["no", "yes"]),
    ...     TableCPD("hello", {"no": [0.4, 0.6], "yes": [0.7, 0.3]}, parents=["spam"], states=["no", "yes"]),
    ... ]
    >>> mail = naive_bayes(spam, words)
    >>> mail.query("spam", evidence={"offer": "yes", "hello": "no"}).argmax()
    Assignment(spam='yes')
    """
    name = class_cpd.variable.name
    if class_cpd.parent_names:
        raise InvalidModel(f"The class {name!r} has no parents in a naive Bayes model, not {class_cpd.parent_names}.")
    listed = list(features)
    for cpd in listed:
        if cpd.parent_names != (name,):
            raise InvalidModel(
                f"The feature {cpd.variable.name!r} must have the class {name!r} as its only parent, "
                f"not {list(cpd.parent_names)}."
            )
    return BayesianNetwork(class_cpd, *listed, notes=notes)
