# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.decisions.structure.edits import with_allowed_actions as with_allowed_actions
from plausible.decisions.structure.edits import with_optional_observation as with_optional_observation
from plausible.decisions.structure.relevance import InformationReduction as InformationReduction
from plausible.decisions.structure.relevance import Recall as Recall
from plausible.decisions.structure.relevance import RelevanceGraph as RelevanceGraph
from plausible.decisions.structure.relevance import influenced_utilities as influenced_utilities
from plausible.decisions.structure.relevance import irrelevant_information as irrelevant_information
from plausible.decisions.structure.relevance import is_irrelevant as is_irrelevant
from plausible.decisions.structure.relevance import new_information as new_information
from plausible.decisions.structure.relevance import s_reachable as s_reachable
from plausible.decisions.structure.relevance import temporal_order as temporal_order
from plausible.decisions.structure.relevance import without_recall_edges as without_recall_edges
