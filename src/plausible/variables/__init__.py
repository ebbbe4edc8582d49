"""Variables, assignments of states to them, and evidence about them."""

from plausible.variables.evidence import Evidence, EvidenceLike, Jeffrey, Likelihood, jeffrey, likelihood
from plausible.variables.variable import Assignment, State, Variable

__all__ = [
    "Assignment",
    "Evidence",
    "EvidenceLike",
    "Jeffrey",
    "Likelihood",
    "State",
    "Variable",
    "jeffrey",
    "likelihood",
]
