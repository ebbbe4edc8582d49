# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.decisions.coordination.graph import CoordinationGraph as CoordinationGraph
from plausible.decisions.coordination.graph import JointAction as JointAction
from plausible.decisions.coordination.local_values import ValueRule as ValueRule
