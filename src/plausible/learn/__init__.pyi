# Which folder or file has which name of this room: see plausible.base.lazy_names.
from plausible.learn import bayesian as bayesian
from plausible.learn import classifiers as classifiers
from plausible.learn import confidence as confidence
from plausible.learn import constraint_based as constraint_based
from plausible.learn import estimation as estimation
from plausible.learn import evaluation as evaluation
from plausible.learn import gradients as gradients
from plausible.learn import incomplete as incomplete
from plausible.learn import incomplete_scores as incomplete_scores
from plausible.learn import incomplete_structures as incomplete_structures
from plausible.learn import independence as independence
from plausible.learn import labelling as labelling
from plausible.learn import missingness as missingness
from plausible.learn import mixtures as mixtures
from plausible.learn import partitions as partitions
from plausible.learn import relations as relations
from plausible.learn import scores as scores
from plausible.learn import sequences as sequences
from plausible.learn import structures as structures
from plausible.learn import undirected as undirected
from plausible.learn import undirected_structures as undirected_structures
from plausible.learn.bayesian import *
from plausible.learn.boltzmann import BoltzmannStack as BoltzmannStack
from plausible.learn.boltzmann import RestrictedBoltzmannMachine as RestrictedBoltzmannMachine
from plausible.learn.boltzmann import fit_stack as fit_stack
from plausible.learn.classifiers import *
from plausible.learn.confidence import *
from plausible.learn.constraint_based import *
from plausible.learn.costs import explain as explain
from plausible.learn.estimation import *
from plausible.learn.evaluation import *
from plausible.learn.gradients import *
from plausible.learn.incomplete import *
from plausible.learn.incomplete_scores import *
from plausible.learn.incomplete_structures import *
from plausible.learn.independence import *
from plausible.learn.labelling import *
from plausible.learn.learned_parameters import ExpectedCounts as ExpectedCounts
from plausible.learn.learned_parameters import ParameterFit as ParameterFit
from plausible.learn.learned_parameters import fit_parameters as fit_parameters
from plausible.learn.learned_parameters import learn_parameters as _learn_parameters
from plausible.learn.learned_structure import StructureResult as StructureResult
from plausible.learn.learned_structure import learn_structure as _learn_structure
from plausible.learn.missingness import *
from plausible.learn.mixtures import *
from plausible.learn.partitions import *
from plausible.learn.relations import *
from plausible.learn.scores import *
from plausible.learn.sequences import *
from plausible.learn.structure_methods import METHODS as METHODS
from plausible.learn.structures import *
from plausible.learn.undirected import *
from plausible.learn.undirected_structures import *
from plausible.search.ascent import LBFGS as LBFGS
from plausible.search.ascent import ConjugateGradient as ConjugateGradient
from plausible.search.ascent import SteepestAscent as SteepestAscent
from plausible.search.chains import ChainLengths as ChainLengths
from plausible.search.chains import ChainProgress as ChainProgress

# What a stub imports under another name is not passed on; what it assigns is.
parameters = _learn_parameters
structure = _learn_structure
