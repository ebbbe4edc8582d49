# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.decisions.solving.elimination import eliminate_joint as eliminate_joint
from plausible.decisions.solving.elimination import joint_factors as joint_factors
from plausible.decisions.solving.evaluating import BetterAction as BetterAction
from plausible.decisions.solving.evaluating import LocalOptimality as LocalOptimality
from plausible.decisions.solving.evaluating import StrategyCount as StrategyCount
from plausible.decisions.solving.evaluating import UtilityGap as UtilityGap
from plausible.decisions.solving.evaluating import impossible_information as impossible_information
from plausible.decisions.solving.evaluating import information_probabilities as information_probabilities
from plausible.decisions.solving.evaluating import share_of_gap as share_of_gap
from plausible.decisions.solving.evaluating import utility_gap as utility_gap
from plausible.decisions.solving.evaluating import with_negated_utilities as with_negated_utilities
from plausible.decisions.solving.problem import SolvingOptions as SolvingOptions
from plausible.decisions.solving.problem import SolvingState as SolvingState
from plausible.decisions.solving.solution import Policy as Policy
from plausible.decisions.solving.solution import Solution as Solution
from plausible.decisions.solving.solve import SolvingPlan as SolvingPlan
