"""Models: what a distribution over many variables is made of."""

from plausible.models.bayesian_network import BayesianNetwork
from plausible.models.comparison import NetworkComparison, compare, kl_divergence_networks
from plausible.models.compiled_engines import ExactEngine, HybridEngine
from plausible.models.conditional_random_field import ConditionalRandomField
from plausible.models.conversion import chain_rule_network, factorizes, naive_bayes, to_bayesian_network
from plausible.models.factor_graph import FactorGraph
from plausible.models.features import Feature
from plausible.models.log_linear import (
    boltzmann_machine,
    canonical_network,
    grid,
    ising,
    log_linear,
    metric_network,
)
from plausible.models.markov_network import MarkovNetwork
from plausible.models.notes import Notes, VariableNotes
from plausible.models.relations.formulas import Formula
from plausible.models.relations.plates import PlateModel
from plausible.models.relations.references import ReferenceCPD
from plausible.models.relations.relational_markov_network import RelationalMarkovNetwork
from plausible.models.relations.relational_model import RelationalModel
from plausible.models.relations.schema import Schema
from plausible.models.satisfiability import CNF, Literal
from plausible.models.sequences.boyen_koller import BoyenKoller
from plausible.models.sequences.chain_families import coupled_hmm, factorial_hmm
from plausible.models.sequences.chain_structures import higher_order_hmm
from plausible.models.sequences.cpd_emissions import CPDEmission
from plausible.models.sequences.dynamic_network import DynamicBayesianNetwork
from plausible.models.sequences.dynamic_online import DynamicFilter
from plausible.models.sequences.emissions import CategoricalEmission, Emission, ProductEmission
from plausible.models.sequences.gaussian_emissions import GaussianEmission, GaussianMixtureEmission
from plausible.models.sequences.hidden_markov_model import HiddenMarkovModel
from plausible.models.sequences.linear_dynamical_system import LinearDynamicalSystem
from plausible.models.sequences.particle_filter import ParticleFilter
from plausible.models.sequences.semi_markov import HiddenSemiMarkovModel
from plausible.models.sequences.state_paths import OnlineFilter, StatePath
from plausible.models.sequences.structural_forms import constant_velocity, local_level, local_linear_trend
from plausible.models.sequences.switching import SwitchingEstimates, SwitchingLinearDynamicalSystem
from plausible.models.sequences.switching_engines import GPB2, IMM, Exact, RaoBlackwellised
from plausible.models.sequences.trajectory import Trajectory
from plausible.models.sequences.window_engine import Window

__all__ = [
    "CNF",
    "GPB2",
    "IMM",
    "BayesianNetwork",
    "BoyenKoller",
    "CPDEmission",
    "CategoricalEmission",
    "ConditionalRandomField",
    "DynamicBayesianNetwork",
    "DynamicFilter",
    "Emission",
    "Exact",
    "ExactEngine",
    "FactorGraph",
    "Feature",
    "Formula",
    "GaussianEmission",
    "GaussianMixtureEmission",
    "HiddenMarkovModel",
    "HiddenSemiMarkovModel",
    "HybridEngine",
    "LinearDynamicalSystem",
    "Literal",
    "MarkovNetwork",
    "NetworkComparison",
    "Notes",
    "OnlineFilter",
    "ParticleFilter",
    "PlateModel",
    "ProductEmission",
    "RaoBlackwellised",
    "ReferenceCPD",
    "RelationalMarkovNetwork",
    "RelationalModel",
    "Schema",
    "StatePath",
    "SwitchingEstimates",
    "SwitchingLinearDynamicalSystem",
    "Trajectory",
    "VariableNotes",
    "Window",
    "boltzmann_machine",
    "canonical_network",
    "chain_rule_network",
    "compare",
    "constant_velocity",
    "coupled_hmm",
    "factorial_hmm",
    "factorizes",
    "grid",
    "higher_order_hmm",
    "ising",
    "kl_divergence_networks",
    "local_level",
    "local_linear_trend",
    "log_linear",
    "metric_network",
    "naive_bayes",
    "to_bayesian_network",
]
