# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.inference.regions.convex_propagation import ConvexBP as ConvexBP
from plausible.inference.regions.counting_numbers import ConvexSplit as ConvexSplit
from plausible.inference.regions.counting_numbers import CountingNumbers as CountingNumbers
from plausible.inference.regions.counting_numbers import bethe_counts as bethe_counts
from plausible.inference.regions.counting_numbers import bethe_like_counts as bethe_like_counts
from plausible.inference.regions.counting_numbers import convex_split as convex_split
from plausible.inference.regions.counting_numbers import covering_counts as covering_counts
from plausible.inference.regions.counting_numbers import tree_counts as tree_counts
from plausible.inference.regions.region_graph import RegionGraph as RegionGraph
from plausible.inference.regions.region_graph import bethe_regions as bethe_regions
from plausible.inference.regions.region_graph import join_graph as join_graph
from plausible.inference.regions.region_graph import kikuchi_regions as kikuchi_regions
from plausible.inference.regions.region_graph import short_loops as short_loops
from plausible.inference.regions.region_propagation import ClusterBP as ClusterBP
from plausible.inference.regions.region_propagation import RegionBP as RegionBP
