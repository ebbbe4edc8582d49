# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.learn.incomplete_structures.available import AvailableStatistics as AvailableStatistics
from plausible.learn.incomplete_structures.available import PairwiseStatistics as PairwiseStatistics
from plausible.learn.incomplete_structures.available import complete_rows as complete_rows
from plausible.learn.incomplete_structures.completion import DisconnectedHidden as DisconnectedHidden
from plausible.learn.incomplete_structures.hidden_variables import HiddenSearch as HiddenSearch
from plausible.learn.incomplete_structures.hidden_variables import HiddenTrial as HiddenTrial
from plausible.learn.incomplete_structures.hidden_variables import SelectiveClustering as SelectiveClustering
from plausible.learn.incomplete_structures.hidden_variables import dependence_graph as dependence_graph
from plausible.learn.incomplete_structures.hidden_variables import find_hidden as find_hidden
from plausible.learn.incomplete_structures.hidden_variables import (
    learn_selective_clustering as learn_selective_clustering,
)
from plausible.learn.incomplete_structures.hidden_variables import semi_cliques as semi_cliques
from plausible.learn.incomplete_structures.latent_trees import LatentTree as LatentTree
from plausible.learn.incomplete_structures.latent_trees import hierarchy_by_information as hierarchy_by_information
from plausible.learn.incomplete_structures.latent_trees import hierarchy_graph as hierarchy_graph
from plausible.learn.incomplete_structures.latent_trees import learn_latent_tree as learn_latent_tree
from plausible.learn.incomplete_structures.latent_trees import overlapping_graph as overlapping_graph
from plausible.learn.incomplete_structures.rescoring import RescoringFit as RescoringFit
from plausible.learn.incomplete_structures.rescoring import RescoringRules as RescoringRules
from plausible.learn.incomplete_structures.rescoring import RescoringState as RescoringState
from plausible.learn.incomplete_structures.rescoring import learn_by_rescoring as learn_by_rescoring
from plausible.learn.incomplete_structures.structural_em import SEMRules as SEMRules
from plausible.learn.incomplete_structures.structural_em import SEMState as SEMState
from plausible.learn.incomplete_structures.structural_em import StructuralEMFit as StructuralEMFit
from plausible.learn.incomplete_structures.structural_em import completed_scores as completed_scores
from plausible.learn.incomplete_structures.structural_em import learn_structural_em as _learn_structural_em

# What a stub imports under another name is not passed on; what it assigns is.
structural_em = _learn_structural_em
