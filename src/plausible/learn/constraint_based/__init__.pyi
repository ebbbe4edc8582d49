# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.learn.constraint_based.blanket_structure import BlanketResult as BlanketResult
from plausible.learn.constraint_based.blanket_structure import markov_blanket as markov_blanket
from plausible.learn.constraint_based.blanket_structure import structure_from_blankets as structure_from_blankets
from plausible.learn.constraint_based.orientation import Conflict as Conflict
from plausible.learn.constraint_based.orientation import CopyGuard as CopyGuard
from plausible.learn.constraint_based.parents_and_children import parents_and_children as parents_and_children
from plausible.learn.constraint_based.pc import ConstraintResult as ConstraintResult
from plausible.learn.constraint_based.pc import pc as pc
