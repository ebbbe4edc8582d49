# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.utilities.attributes.additive import AdditiveIndependence as AdditiveIndependence
from plausible.utilities.attributes.additive import CAIMap as CAIMap
from plausible.utilities.attributes.additive import GeneralizedAdditiveIndependence as GeneralizedAdditiveIndependence
from plausible.utilities.attributes.additive import additive_independence as additive_independence
from plausible.utilities.attributes.additive import cai_map as cai_map
from plausible.utilities.attributes.additive import canonical_decomposition as canonical_decomposition
from plausible.utilities.attributes.additive import compare_lotteries as compare_lotteries
from plausible.utilities.attributes.additive import (
    conditional_additive_independence as conditional_additive_independence,
)
from plausible.utilities.attributes.additive import (
    generalized_additive_independence as generalized_additive_independence,
)
from plausible.utilities.attributes.additive_utility import AdditiveUtility as AdditiveUtility
from plausible.utilities.attributes.diagnosis import DiagnosisUtility as DiagnosisUtility
from plausible.utilities.attributes.fitting import UtilityFit as UtilityFit
from plausible.utilities.attributes.fitting import fit_additive_utility as fit_additive_utility
from plausible.utilities.attributes.independence import ConditionalPreference as ConditionalPreference
from plausible.utilities.attributes.independence import MultilinearForm as MultilinearForm
from plausible.utilities.attributes.independence import MutualUtilityIndependence as MutualUtilityIndependence
from plausible.utilities.attributes.independence import PreferentialIndependence as PreferentialIndependence
from plausible.utilities.attributes.independence import UtilityIndependence as UtilityIndependence
from plausible.utilities.attributes.independence import conditional_preference as conditional_preference
from plausible.utilities.attributes.independence import multilinear_form as multilinear_form
from plausible.utilities.attributes.independence import mutual_utility_independence as mutual_utility_independence
from plausible.utilities.attributes.independence import preferential_independence as preferential_independence
from plausible.utilities.attributes.independence import utility_independence as utility_independence
