# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.inference.buckets.mini_buckets import MarginalMapBound as MarginalMapBound
from plausible.inference.buckets.mini_buckets import MiniBucketMax as MiniBucketMax
from plausible.inference.buckets.mini_buckets import MiniBuckets as MiniBuckets
from plausible.inference.buckets.mini_buckets import ProbabilityBounds as ProbabilityBounds
from plausible.inference.buckets.submodel_bound import SubmodelBound as SubmodelBound
from plausible.inference.buckets.submodel_bound import submodel_bound as submodel_bound
