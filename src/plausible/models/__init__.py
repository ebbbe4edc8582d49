"""Models: what a distribution over many variables is made of."""

from plausible.models.bayesian_network import BayesianNetwork
from plausible.models.markov_network import MarkovNetwork
from plausible.models.notes import Notes, VariableNotes

__all__ = ["BayesianNetwork", "MarkovNetwork", "Notes", "VariableNotes"]
