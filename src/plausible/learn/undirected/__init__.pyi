# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.learn.undirected.climbing import PartialEM as PartialEM
from plausible.learn.undirected.constrained_entropy import ConstrainedEntropy as ConstrainedEntropy
from plausible.learn.undirected.contrastive import ContrastiveDivergence as ContrastiveDivergence
from plausible.learn.undirected.crf import FieldFit as FieldFit
from plausible.learn.undirected.crf import learn_crf as _learn_crf
from plausible.learn.undirected.fit import MarkovFit as MarkovFit
from plausible.learn.undirected.graphical_lasso import PenaltyPoint as PenaltyPoint
from plausible.learn.undirected.graphical_lasso import PrecisionFit as PrecisionFit
from plausible.learn.undirected.graphical_lasso import covariance_selection as covariance_selection
from plausible.learn.undirected.graphical_lasso import graphical_lasso as graphical_lasso
from plausible.learn.undirected.learning import ConstantFeature as ConstantFeature
from plausible.learn.undirected.learning import learn_markov as _learn_markov
from plausible.learn.undirected.margin import MaxMargin as MaxMargin
from plausible.learn.undirected.maximum_entropy import maximum_entropy as maximum_entropy
from plausible.learn.undirected.objectives import CompositeLikelihood as CompositeLikelihood
from plausible.learn.undirected.objectives import ConditionalLikelihood as ConditionalLikelihood
from plausible.learn.undirected.objectives import Likelihood as Likelihood
from plausible.learn.undirected.objectives import Multiconditional as Multiconditional
from plausible.learn.undirected.objectives import ObjectiveMethod as ObjectiveMethod
from plausible.learn.undirected.objectives import Piecewise as Piecewise
from plausible.learn.undirected.objectives import Pseudolikelihood as Pseudolikelihood
from plausible.learn.undirected.objectives import SubmodelLikelihood as SubmodelLikelihood
from plausible.learn.undirected.objectives import Viterbi as Viterbi
from plausible.learn.undirected.prior_choice import ChosenPrior as ChosenPrior
from plausible.learn.undirected.prior_choice import choose_prior as choose_prior
from plausible.learn.undirected.priors import GaussianPrior as GaussianPrior
from plausible.learn.undirected.priors import GroupPrior as GroupPrior
from plausible.learn.undirected.priors import HyperbolicPrior as HyperbolicPrior
from plausible.learn.undirected.priors import LaplacePrior as LaplacePrior
from plausible.learn.undirected.priors import PseudoData as PseudoData
from plausible.learn.undirected.priors import WeightPrior as WeightPrior
from plausible.learn.undirected.relational import RelationalMarkovFit as RelationalMarkovFit
from plausible.learn.undirected.relational import learn_relational_markov as _learn_relational_markov
from plausible.learn.undirected.sampled import SampledLikelihood as SampledLikelihood
from plausible.learn.undirected.weight_draws import WeightDraws as WeightDraws
from plausible.learn.undirected.weight_draws import WeightState as WeightState
from plausible.learn.undirected.weight_draws import sample_weights as sample_weights

# What a stub imports under another name is not passed on; what it assigns is.
crf = _learn_crf
markov = _learn_markov
relational_markov = _learn_relational_markov
