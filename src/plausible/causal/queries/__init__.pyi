# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.causal.queries.association import CausalIndependence as CausalIndependence
from plausible.causal.queries.association import EffectComparison as EffectComparison
from plausible.causal.queries.association import causally_independent as causally_independent
from plausible.causal.queries.association import compare_effect as compare_effect
from plausible.causal.queries.explanation import AssociationExplanation as AssociationExplanation
from plausible.causal.queries.explanation import AssociationSource as AssociationSource
from plausible.causal.queries.explanation import SpuriousAssociation as SpuriousAssociation
from plausible.causal.queries.explanation import explain_association as explain_association
from plausible.causal.queries.explanation import spurious_association as spurious_association
from plausible.causal.queries.observed import ObservedModel as ObservedModel
from plausible.causal.queries.observed import augmented as augmented
from plausible.causal.queries.observed import augmented_graph as augmented_graph
from plausible.causal.queries.observed import intervention_name as intervention_name
from plausible.causal.queries.observed import observed_model as observed_model
