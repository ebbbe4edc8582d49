# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.inference.variational.mean_field import MeanField as MeanField
