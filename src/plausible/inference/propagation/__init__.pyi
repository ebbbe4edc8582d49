# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.inference.propagation.belief_propagation import LoopyBP as LoopyBP
from plausible.inference.propagation.belief_propagation import MaxProduct as MaxProduct
from plausible.inference.propagation.belief_propagation import TreeReweightedBP as TreeReweightedBP
