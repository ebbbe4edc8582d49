# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.inference.polytree.clustering import Clustering as Clustering
from plausible.inference.polytree.clustering import cluster_variables as cluster_variables
from plausible.inference.polytree.clustering import suggest_clusters as suggest_clusters
from plausible.inference.polytree.pearl import Propagation as Propagation
from plausible.inference.polytree.pearl import propagate as propagate
from plausible.inference.polytree.pearl import virtual_leaf as virtual_leaf
from plausible.inference.polytree.structure import loop_cutset as loop_cutset
