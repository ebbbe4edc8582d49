# Which file has which name of this room: see plausible.lazy_names.
from plausible.decisions.diagram import InfluenceDiagram as InfluenceDiagram
from plausible.decisions.parts import Decision as Decision
from plausible.decisions.parts import Utility as Utility
from plausible.decisions.strategy import Strategy as Strategy
