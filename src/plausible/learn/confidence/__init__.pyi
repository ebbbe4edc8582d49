# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.learn.confidence.chains import OrderPosterior as OrderPosterior
from plausible.learn.confidence.chains import order_posterior as order_posterior
from plausible.learn.confidence.chains import sample_orders as sample_orders
from plausible.learn.confidence.chains import sample_structures as sample_structures
from plausible.learn.confidence.exact_posterior import ExactPosterior as ExactPosterior
from plausible.learn.confidence.exact_posterior import ScoreSensitivity as ScoreSensitivity
from plausible.learn.confidence.exact_posterior import edge_posterior as edge_posterior
from plausible.learn.confidence.exact_posterior import enumerate_posterior as enumerate_posterior
from plausible.learn.confidence.exact_posterior import score_sensitivity as score_sensitivity
from plausible.learn.confidence.model_average import ModelAverage as ModelAverage
from plausible.learn.confidence.posteriors import SampledPosterior as SampledPosterior
from plausible.learn.confidence.resampling import bootstrap as bootstrap
from plausible.learn.confidence.weighted_graphs import EdgeStrengths as EdgeStrengths
from plausible.learn.confidence.weighted_graphs import WeightedGraphs as WeightedGraphs
from plausible.learn.confidence.weighted_graphs import estimate_threshold as estimate_threshold
