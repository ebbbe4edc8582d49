# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.utilities.populations.choice_constraints import RationalizedChoices as RationalizedChoices
from plausible.utilities.populations.choice_constraints import rationalize_choices as rationalize_choices
from plausible.utilities.populations.choices import ChoiceModel as ChoiceModel
from plausible.utilities.populations.choices import ObservedChoices as ObservedChoices
from plausible.utilities.populations.choices import fit_choices as fit_choices
from plausible.utilities.populations.em import PopulationPrior as PopulationPrior
from plausible.utilities.populations.population import MixedUserUtility as MixedUserUtility
from plausible.utilities.populations.population import UserUtility as UserUtility
from plausible.utilities.populations.population import UtilityMixture as UtilityMixture
from plausible.utilities.populations.population import UtilityPopulation as UtilityPopulation
from plausible.utilities.populations.population import fit_population as fit_population
from plausible.utilities.populations.population import fit_population_mixture as fit_population_mixture
from plausible.utilities.populations.selection import DecompositionPrior as DecompositionPrior
from plausible.utilities.populations.selection import DecompositionScores as DecompositionScores
from plausible.utilities.populations.selection import DecompositionSearch as DecompositionSearch
from plausible.utilities.populations.selection import score_decompositions as score_decompositions
from plausible.utilities.populations.selection import search_decomposition as search_decomposition
