"""Models: what a distribution over many variables is made of."""

from plausible.models.bayesian_network import BayesianNetwork
from plausible.models.notes import Notes, VariableNotes

__all__ = ["BayesianNetwork", "Notes", "VariableNotes"]
