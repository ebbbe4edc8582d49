# Which folder or file has which name of this room: see plausible.base.lazy_names.
from plausible.decisions import asymmetric as asymmetric
from plausible.decisions import coordination as coordination
from plausible.decisions import information as information
from plausible.decisions import sensitivity as sensitivity
from plausible.decisions import solving as solving
from plausible.decisions import structure as structure
from plausible.decisions import trees as trees
from plausible.decisions import troubleshooting as troubleshooting
from plausible.decisions.asymmetric import *
from plausible.decisions.coordination import *
from plausible.decisions.influence_diagram import InfluenceDiagram as InfluenceDiagram
from plausible.decisions.information import *
from plausible.decisions.parts import Decision as Decision
from plausible.decisions.sensitivity import *
from plausible.decisions.solving import *
from plausible.decisions.strategy import Strategy as Strategy
from plausible.decisions.structure import *
from plausible.decisions.totals import total_utility as total_utility
from plausible.decisions.trees import *
from plausible.decisions.troubleshooting import *
