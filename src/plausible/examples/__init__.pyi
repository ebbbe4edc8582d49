# Which file has which name of this room: see plausible.base.lazy_names.
from plausible.examples.cell_signalling import SignallingDesign as SignallingDesign
from plausible.examples.cell_signalling import learn_cell_signalling as learn_cell_signalling
from plausible.examples.cell_signalling import simulate_cells as simulate_cells
from plausible.examples.images import ColourModel as ColourModel
from plausible.examples.images import Labelling as Labelling
from plausible.examples.images import denoise as denoise
from plausible.examples.images import denoise_binary as denoise_binary
from plausible.examples.images import segment as segment
from plausible.examples.library import Example as Example
from plausible.examples.library import get as get
from plausible.examples.library import load as load
from plausible.examples.library import names as names
from plausible.examples.library import prenatal_utility as prenatal_utility
from plausible.examples.library import printer_costs as printer_costs
from plausible.examples.library import printer_network as printer_network
from plausible.examples.library import printer_troubleshooter as printer_troubleshooter
