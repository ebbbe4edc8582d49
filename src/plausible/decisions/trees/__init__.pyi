# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.decisions.trees.nodes import Chance as Chance
from plausible.decisions.trees.nodes import Choice as Choice
from plausible.decisions.trees.nodes import Outcome as Outcome
from plausible.decisions.trees.tree import DecisionTree as DecisionTree
from plausible.decisions.trees.tree import TreeSolution as TreeSolution
from plausible.decisions.trees.tree import draw_tree as draw_tree
from plausible.decisions.trees.tree import strategy_of_tree as strategy_of_tree
