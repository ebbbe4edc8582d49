# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.learn.bayesian.completion_problem import CompletionProblem as CompletionProblem
from plausible.learn.bayesian.expectation_propagation import CaseSites as CaseSites
from plausible.learn.bayesian.expectation_propagation import ExpectationPropagationFit as ExpectationPropagationFit
from plausible.learn.bayesian.expectation_propagation import ExpectationPropagationState as ExpectationPropagationState
from plausible.learn.bayesian.expectation_propagation import expectation_propagation as expectation_propagation
from plausible.learn.bayesian.expectation_propagation import (
    expectation_propagation_init as expectation_propagation_init,
)
from plausible.learn.bayesian.expectation_propagation import (
    expectation_propagation_step as expectation_propagation_step,
)
from plausible.learn.bayesian.parameter_draws import ParameterDraws as ParameterDraws
from plausible.learn.bayesian.parameter_draws import sample_parameters as sample_parameters
from plausible.learn.bayesian.samplers import BlockMetropolis as BlockMetropolis
from plausible.learn.bayesian.samplers import CellGibbs as CellGibbs
from plausible.learn.bayesian.samplers import CollapsedCellGibbs as CollapsedCellGibbs
from plausible.learn.bayesian.samplers import ParameterState as ParameterState
from plausible.learn.bayesian.samplers import ParameterWalk as ParameterWalk
from plausible.learn.bayesian.samplers import PriorWeighting as PriorWeighting
from plausible.learn.bayesian.samplers import RowGibbs as RowGibbs
from plausible.learn.bayesian.variational import VariationalFit as VariationalFit
from plausible.learn.bayesian.variational import VariationalState as VariationalState
from plausible.learn.bayesian.variational import cluster_by_variational_bayes as cluster_by_variational_bayes
from plausible.learn.bayesian.variational import variational_bayes as variational_bayes
from plausible.learn.bayesian.variational import variational_init as variational_init
from plausible.learn.bayesian.variational import variational_step as variational_step
