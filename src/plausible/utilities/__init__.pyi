# Which folder or file has which name of this room: see plausible.base.lazy_names.
from plausible.utilities import attributes as attributes
from plausible.utilities import elicitation as elicitation
from plausible.utilities import lotteries as lotteries
from plausible.utilities import populations as populations
from plausible.utilities.attributes import *
from plausible.utilities.elicitation import *
from plausible.utilities.local import Utility as Utility
from plausible.utilities.lotteries import *
from plausible.utilities.populations import *
