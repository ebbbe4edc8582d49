# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.learn.undirected_structures.edge_tests import l1_sample_size as l1_sample_size
from plausible.learn.undirected_structures.edge_tests import num_independence_tests as num_independence_tests
from plausible.learn.undirected_structures.gains import FeatureGain as FeatureGain
from plausible.learn.undirected_structures.gains import feature_gains as feature_gains
from plausible.learn.undirected_structures.learning import learn_markov_structure as _learn_markov_structure
from plausible.learn.undirected_structures.result import MarkovStructure as MarkovStructure
from plausible.learn.undirected_structures.result import PathPoint as PathPoint

# What a stub imports under another name is not passed on; what it assigns is.
markov_structure = _learn_markov_structure
