# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.causal.functional.additive_equations import AdditiveEquations as AdditiveEquations
from plausible.causal.functional.linear_equations import LinearEquations as LinearEquations
from plausible.causal.functional.model import FunctionalModel as FunctionalModel
from plausible.causal.functional.model import functional_model as functional_model
from plausible.causal.functional.model import observational_network as observational_network
from plausible.causal.functional.model import trial_model as trial_model
from plausible.causal.functional.responses import COMPLIANCE as COMPLIANCE
from plausible.causal.functional.responses import HIRING as HIRING
from plausible.causal.functional.responses import OUTCOME as OUTCOME
from plausible.causal.functional.responses import ParameterCounts as ParameterCounts
from plausible.causal.functional.responses import ResponseVariable as ResponseVariable
from plausible.causal.functional.responses import Vocabulary as Vocabulary
