# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.causal.identification.algorithm import EdgeSensitivity as EdgeSensitivity
from plausible.causal.identification.algorithm import blocking_bows as blocking_bows
from plausible.causal.identification.algorithm import edge_sensitivity as edge_sensitivity
from plausible.causal.identification.algorithm import find_hedge as find_hedge
from plausible.causal.identification.algorithm import identify as identify
from plausible.causal.identification.algorithm import is_identifiable as is_identifiable
from plausible.causal.identification.districts import Hedge as Hedge
from plausible.causal.identification.question import Effect as Effect
from plausible.causal.identification.question import Estimand as Estimand
from plausible.causal.identification.question import IDDerivation as IDDerivation
from plausible.causal.identification.question import IDStep as IDStep
