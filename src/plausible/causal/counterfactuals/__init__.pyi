# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.causal.counterfactuals.contrasts import Contrast as Contrast
from plausible.causal.counterfactuals.contrasts import NaturalEffects as NaturalEffects
from plausible.causal.counterfactuals.contrasts import effect_on_treated as effect_on_treated
from plausible.causal.counterfactuals.contrasts import natural_effects as natural_effects
from plausible.causal.counterfactuals.contrasts import probability_of_necessity as probability_of_necessity
from plausible.causal.counterfactuals.contrasts import (
    probability_of_necessity_and_sufficiency as probability_of_necessity_and_sufficiency,
)
from plausible.causal.counterfactuals.contrasts import probability_of_sufficiency as probability_of_sufficiency
from plausible.causal.counterfactuals.identification import identify_counterfactual as identify_counterfactual
from plausible.causal.counterfactuals.potential import CounterfactualEstimand as CounterfactualEstimand
from plausible.causal.counterfactuals.potential import Potential as Potential
from plausible.causal.counterfactuals.query import ParallelWorlds as ParallelWorlds
from plausible.causal.counterfactuals.query import abduct as abduct
from plausible.causal.counterfactuals.query import counterfactual as counterfactual
from plausible.causal.counterfactuals.query import parallel_worlds as parallel_worlds
from plausible.causal.counterfactuals.query import twin_network as twin_network
from plausible.causal.counterfactuals.repair import Repair as Repair
from plausible.causal.counterfactuals.repair import rank_repairs as rank_repairs
from plausible.causal.counterfactuals.repair import repair as repair
from plausible.causal.counterfactuals.repair import single_fault_repairs as single_fault_repairs
