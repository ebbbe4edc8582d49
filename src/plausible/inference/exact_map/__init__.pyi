# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.inference.exact_map.marginal_map import MarginalMap as MarginalMap
from plausible.inference.exact_map.marginal_map import marginal_map as marginal_map
from plausible.inference.exact_map.max_elimination import best_assignments as best_assignments
from plausible.inference.exact_map.max_elimination import max_product as max_product
from plausible.inference.exact_map.search import SearchProgress as SearchProgress
