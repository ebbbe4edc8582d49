# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.learn.incomplete.accelerated_em import HybridEM as HybridEM
from plausible.learn.incomplete.accelerated_em import OverrelaxedEM as OverrelaxedEM
from plausible.learn.incomplete.accelerated_em import SquaredEM as SquaredEM
from plausible.learn.incomplete.cases import Cases as Cases
from plausible.learn.incomplete.em import EMFit as EMFit
from plausible.learn.incomplete.em import em_run as em_run
from plausible.learn.incomplete.em import learn_em as _learn_em
from plausible.learn.incomplete.expectations import EngineExpectations as EngineExpectations
from plausible.learn.incomplete.expectations import ExactExpectations as ExactExpectations
from plausible.learn.incomplete.expectations import Expectations as Expectations
from plausible.learn.incomplete.expectations import ExpectationStep as ExpectationStep
from plausible.learn.incomplete.expectations import FamilyCounts as FamilyCounts
from plausible.learn.incomplete.expected_statistics import ExpectedStatistics as ExpectedStatistics
from plausible.learn.incomplete.expected_statistics import completed_table as completed_table
from plausible.learn.incomplete.gaussian_expectations import HybridExpectations as HybridExpectations
from plausible.learn.incomplete.gaussian_maximization import GaussianMomentLearner as GaussianMomentLearner
from plausible.learn.incomplete.methods import FamilyEM as FamilyEM
from plausible.learn.incomplete.methods import FrozenFamily as FrozenFamily
from plausible.learn.incomplete.methods import HardEM as HardEM
from plausible.learn.incomplete.methods import IncrementalEM as IncrementalEM
from plausible.learn.incomplete.methods import VariationalEM as VariationalEM
from plausible.learn.incomplete.online_em import OnlineEM as OnlineEM
from plausible.learn.incomplete.problem import EMFunctional as EMFunctional
from plausible.learn.incomplete.problem import EMMethod as EMMethod
from plausible.learn.incomplete.problem import EMProblem as EMProblem
from plausible.learn.incomplete.problem import EMState as EMState
from plausible.learn.incomplete.problem import em_functional as em_functional
from plausible.learn.incomplete.problem import expected_log_likelihood as expected_log_likelihood
from plausible.learn.incomplete.problem import observed_log_likelihood as observed_log_likelihood
from plausible.learn.incomplete.problem import read_problem as read_problem
from plausible.learn.incomplete.searching_em import AnnealedEM as AnnealedEM
from plausible.learn.incomplete.searching_em import BeamEM as BeamEM
from plausible.learn.incomplete.searching_em import PerturbedEM as PerturbedEM
from plausible.learn.incomplete.searching_em import ReweightedEM as ReweightedEM
from plausible.learn.incomplete.starts_and_stops import ExtrapolatedGain as ExtrapolatedGain
from plausible.learn.incomplete.starts_and_stops import ObjectiveGain as ObjectiveGain
from plausible.learn.incomplete.starts_and_stops import ParameterChange as ParameterChange
from plausible.learn.incomplete.starts_and_stops import SymmetricStart as SymmetricStart
from plausible.learn.incomplete.starts_and_stops import ValidationGain as ValidationGain
from plausible.learn.incomplete.starts_and_stops import remaining_error as remaining_error
from plausible.learn.incomplete.starts_and_stops import symmetric_hidden as symmetric_hidden

# What a stub imports under another name is not passed on; what it assigns is.
em = _learn_em
