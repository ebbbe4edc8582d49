# Which folder or file has which name of this room: see plausible.base.lazy_names.
from plausible.plotting import charts as charts
from plausible.plotting.chains import picture_of_chain as picture_of_chain
from plausible.plotting.chains import picture_of_hidden_chain as picture_of_hidden_chain
from plausible.plotting.chains import picture_of_system as picture_of_system
from plausible.plotting.charts import *
from plausible.plotting.comparisons import picture_of_comparison as picture_of_comparison
from plausible.plotting.decision_trees import picture_of_decision_tree as picture_of_decision_tree
from plausible.plotting.decisions import picture_of_diagram as picture_of_diagram
from plausible.plotting.decisions import picture_of_solution as picture_of_solution
from plausible.plotting.graphs import picture_of_graph as picture_of_graph
from plausible.plotting.graphs import picture_of_separation as picture_of_separation
from plausible.plotting.models import picture_of_beliefs as picture_of_beliefs
from plausible.plotting.models import picture_of_structure as picture_of_structure
from plausible.plotting.notebook import widget_of_model as widget_of_model
from plausible.plotting.notebook import widget_of_solution as widget_of_solution
from plausible.plotting.parts import Box as Box
from plausible.plotting.parts import Part as Part
from plausible.plotting.parts import Path as Path
from plausible.plotting.parts import Text as Text
from plausible.plotting.picture import Picture as Picture
from plausible.plotting.trees import picture_of_plan as picture_of_plan
from plausible.plotting.trees import picture_of_tree as picture_of_tree
