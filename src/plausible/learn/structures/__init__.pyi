# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.learn.structures.exact.equivalence import search_classes as search_classes
from plausible.learn.structures.exact.optimal_graphs import optimal_by_orders as optimal_by_orders
from plausible.learn.structures.exact.optimal_graphs import optimal_by_subsets as optimal_by_subsets
from plausible.learn.structures.exact.optimal_parents import DirichletBound as DirichletBound
from plausible.learn.structures.exact.optimal_parents import GaussianBound as GaussianBound
from plausible.learn.structures.exact.optimal_parents import PenaltyBound as PenaltyBound
from plausible.learn.structures.exact.optimal_parents import optimal_along_order as optimal_along_order
from plausible.learn.structures.exact.optimal_parents import optimal_parents as optimal_parents
from plausible.learn.structures.exact.orders import search_orders as search_orders
from plausible.learn.structures.exact.parent_sets import find_parent_sets as find_parent_sets
from plausible.learn.structures.knowledge import FoundGraph as FoundGraph
from plausible.learn.structures.knowledge import Knowledge as Knowledge
from plausible.learn.structures.local import ClassWalks as ClassWalks
