# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.causal.calculus.derive import DerivationSearch as DerivationSearch
from plausible.causal.calculus.derive import derive as derive
from plausible.causal.calculus.derive import effect_is_absent as effect_is_absent
from plausible.causal.calculus.derive import effect_is_association as effect_is_association
from plausible.causal.calculus.derive import has_requisite_cpd as has_requisite_cpd
from plausible.causal.calculus.derive import requisite_cpds as requisite_cpds
from plausible.causal.calculus.rules import Quantity as Quantity
from plausible.causal.calculus.rules import RuleStep as RuleStep
from plausible.causal.calculus.rules import rule_1 as rule_1
from plausible.causal.calculus.rules import rule_2 as rule_2
from plausible.causal.calculus.rules import rule_3 as rule_3
from plausible.causal.calculus.search import Derivation as Derivation
from plausible.causal.calculus.search import ProbabilityStep as ProbabilityStep
