"""Graphs: directed, undirected and mixed, and what follows from their structure alone."""

from plausible.graphs.ancestral import MAG, PAG, mag_of
from plausible.graphs.ancestral_class import is_member, pag_member, pag_members, pag_of, stands_for_class
from plausible.graphs.causal_graph import CausalGraph, latent_projection
from plausible.graphs.chordal import (
    chordless_cycle,
    is_chordal,
    maximum_cardinality_search,
    minimal_triangulation,
    perfect_elimination_order,
    triangulate,
)
from plausible.graphs.class_size import class_members, class_size
from plausible.graphs.cliques import all_cliques, elimination_cliques, is_clique, is_maximal_clique, maximal_cliques
from plausible.graphs.cluster_graph import (
    CliqueTree,
    ClusterGraph,
    assign_factors,
    bethe_cluster_graph,
    has_running_intersection,
    is_clique_tree,
    is_family_preserving,
)
from plausible.graphs.comparison import Agreement, StructureComparison, compare_structure
from plausible.graphs.consistent_extension import consistent_extension
from plausible.graphs.cycles import cycles, is_cycle, is_path, is_walk
from plausible.graphs.dag import DAG
from plausible.graphs.elimination import (
    Elimination,
    eliminate,
    elimination_cost,
    elimination_order,
    fill_edges,
    induced_graph,
    induced_width,
)
from plausible.graphs.equivalence import (
    compelled_edges,
    covered_edges,
    essential_graph,
    is_essential_graph,
    is_i_equivalent,
    reversible_edges,
)
from plausible.graphs.immoralities import Immorality, immoralities
from plausible.graphs.independence_maps import (
    find_unentailed,
    find_violation,
    is_i_map,
    is_minimal_i_map,
    is_perfect_map,
    minimal_i_map,
    minimal_undirected_i_map,
)
from plausible.graphs.independencies import (
    Independence,
    all_independencies,
    global_independencies,
    local_independencies,
    markov_blanket_independencies,
    pairwise_independencies,
)
from plausible.graphs.interventional_classes import (
    interventional_class_members,
    interventional_class_size,
    interventional_essential_graph,
    is_interventionally_equivalent,
)
from plausible.graphs.junction import clique_tree, junction_tree, tree_from_elimination
from plausible.graphs.marks import Edge, Mark
from plausible.graphs.matrices import adjacency_matrix, clique_matrix, count_walks, incidence_matrix
from plausible.graphs.meek import Orientation, apply_meek_rules
from plausible.graphs.mixed import PDAG, MixedGraph
from plausible.graphs.pag_questions import (
    ancestry,
    definite_ancestors,
    is_visible,
    pag_separated,
    possible_ancestors,
    possibly_directed_paths,
    visible_edges,
)
from plausible.graphs.random import bounded_dag, erdos_renyi_dag, random_polytree, random_tree, uniform_dag
from plausible.graphs.spanning import (
    SpanningForest,
    maximum_spanning_forest,
    maximum_spanning_tree,
    minimum_spanning_forest,
    minimum_spanning_tree,
)
from plausible.graphs.trails import Junction, SeparationExplanation, Trail
from plausible.graphs.undirected import UndirectedGraph

__all__ = [
    "DAG",
    "MAG",
    "PAG",
    "PDAG",
    "Agreement",
    "CausalGraph",
    "CliqueTree",
    "ClusterGraph",
    "Edge",
    "Elimination",
    "Immorality",
    "Independence",
    "Junction",
    "Mark",
    "MixedGraph",
    "Orientation",
    "SeparationExplanation",
    "SpanningForest",
    "StructureComparison",
    "Trail",
    "UndirectedGraph",
    "adjacency_matrix",
    "all_cliques",
    "all_independencies",
    "ancestry",
    "apply_meek_rules",
    "assign_factors",
    "bethe_cluster_graph",
    "bounded_dag",
    "chordless_cycle",
    "class_members",
    "class_size",
    "clique_matrix",
    "clique_tree",
    "compare_structure",
    "compelled_edges",
    "consistent_extension",
    "count_walks",
    "covered_edges",
    "cycles",
    "definite_ancestors",
    "eliminate",
    "elimination_cliques",
    "elimination_cost",
    "elimination_order",
    "erdos_renyi_dag",
    "essential_graph",
    "fill_edges",
    "find_unentailed",
    "find_violation",
    "global_independencies",
    "has_running_intersection",
    "immoralities",
    "incidence_matrix",
    "induced_graph",
    "induced_width",
    "interventional_class_members",
    "interventional_class_size",
    "interventional_essential_graph",
    "is_chordal",
    "is_clique",
    "is_clique_tree",
    "is_cycle",
    "is_essential_graph",
    "is_family_preserving",
    "is_i_equivalent",
    "is_i_map",
    "is_interventionally_equivalent",
    "is_maximal_clique",
    "is_member",
    "is_minimal_i_map",
    "is_path",
    "is_perfect_map",
    "is_visible",
    "is_walk",
    "junction_tree",
    "latent_projection",
    "local_independencies",
    "mag_of",
    "markov_blanket_independencies",
    "maximal_cliques",
    "maximum_cardinality_search",
    "maximum_spanning_forest",
    "maximum_spanning_tree",
    "minimal_i_map",
    "minimal_triangulation",
    "minimal_undirected_i_map",
    "minimum_spanning_forest",
    "minimum_spanning_tree",
    "pag_member",
    "pag_members",
    "pag_of",
    "pag_separated",
    "pairwise_independencies",
    "perfect_elimination_order",
    "possible_ancestors",
    "possibly_directed_paths",
    "random_polytree",
    "random_tree",
    "reversible_edges",
    "stands_for_class",
    "tree_from_elimination",
    "triangulate",
    "uniform_dag",
    "visible_edges",
]
