# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.decisions.sensitivity.comparison import ActionComparison as ActionComparison
from plausible.decisions.sensitivity.comparison import ActionWorth as ActionWorth
from plausible.decisions.sensitivity.comparison import compare_actions as compare_actions
from plausible.decisions.sensitivity.numbers import ProbabilityEntry as ProbabilityEntry
from plausible.decisions.sensitivity.numbers import UtilityEntry as UtilityEntry
from plausible.decisions.sensitivity.numbers import VariationState as VariationState
from plausible.decisions.sensitivity.thresholds import StableInterval as StableInterval
from plausible.decisions.sensitivity.thresholds import StrategyStability as StrategyStability
from plausible.decisions.sensitivity.thresholds import stable_interval as stable_interval
from plausible.decisions.sensitivity.thresholds import strategy_stability as strategy_stability
from plausible.decisions.sensitivity.tornado import DecisionTornado as DecisionTornado
from plausible.decisions.sensitivity.tornado import TornadoBar as TornadoBar
from plausible.decisions.sensitivity.tornado import lead_tornado as lead_tornado
from plausible.decisions.sensitivity.tornado import utility_tornado as utility_tornado
