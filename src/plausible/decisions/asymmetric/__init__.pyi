# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.decisions.asymmetric.plan import NextStep as NextStep
from plausible.decisions.asymmetric.plan import PlanBranch as PlanBranch
from plausible.decisions.asymmetric.problems import FreeDecision as FreeDecision
from plausible.decisions.asymmetric.sequential import SequentialDiagram as SequentialDiagram
from plausible.decisions.asymmetric.sequential import SequentialSolution as SequentialSolution
from plausible.decisions.asymmetric.unconstrained import UnconstrainedDiagram as UnconstrainedDiagram
from plausible.decisions.asymmetric.unconstrained import UnconstrainedSolution as UnconstrainedSolution
