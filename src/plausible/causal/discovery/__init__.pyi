# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.causal.discovery.fci import MarkConflict as MarkConflict
from plausible.causal.discovery.fci import PAGResult as PAGResult
from plausible.causal.discovery.fci import fci as fci
from plausible.causal.discovery.mark_confidence import MarkConfidence as MarkConfidence
from plausible.causal.discovery.mark_confidence import bootstrap_marks as bootstrap_marks
from plausible.causal.discovery.pag_readings import CausalCertainty as CausalCertainty
from plausible.causal.discovery.pag_readings import HiddenStructure as HiddenStructure
from plausible.causal.discovery.pag_readings import PAGEffect as PAGEffect
from plausible.causal.discovery.pag_readings import causal_certainty as causal_certainty
from plausible.causal.discovery.pag_readings import effect_in_pag as effect_in_pag
from plausible.causal.discovery.pag_readings import effect_is_conditional as effect_is_conditional
from plausible.causal.discovery.pag_readings import refuse_query as refuse_query
