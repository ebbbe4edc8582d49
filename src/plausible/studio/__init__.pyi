# Which file has which name of this room: see plausible.base.lazy_names.
from plausible.studio.start import serve as serve
