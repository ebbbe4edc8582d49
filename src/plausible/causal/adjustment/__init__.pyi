# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.causal.adjustment.mediators import FrontDoorCheck as FrontDoorCheck
from plausible.causal.adjustment.mediators import MediationCheck as MediationCheck
from plausible.causal.adjustment.mediators import check_front_door as check_front_door
from plausible.causal.adjustment.mediators import check_mediation as check_mediation
from plausible.causal.adjustment.mediators import front_door_set as front_door_set
from plausible.causal.adjustment.mediators import front_door_sets as front_door_sets
from plausible.causal.adjustment.mediators import mediation_set as mediation_set
from plausible.causal.adjustment.sets import AdjustmentCheck as AdjustmentCheck
from plausible.causal.adjustment.sets import Instrument as Instrument
from plausible.causal.adjustment.sets import InstrumentCheck as InstrumentCheck
from plausible.causal.adjustment.sets import adjustment_set as adjustment_set
from plausible.causal.adjustment.sets import adjustment_sets as adjustment_sets
from plausible.causal.adjustment.sets import check_adjustment as check_adjustment
from plausible.causal.adjustment.sets import check_instrument as check_instrument
from plausible.causal.adjustment.sets import instruments as instruments
from plausible.causal.adjustment.sets import is_adjustment_set as is_adjustment_set
from plausible.causal.adjustment.sets import optimal_adjustment_set as optimal_adjustment_set
