# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.inference.sensitivity.derivatives import Derivatives as Derivatives
from plausible.inference.sensitivity.functions import EventSensitivity as EventSensitivity
from plausible.inference.sensitivity.functions import SensitivityFunction as SensitivityFunction
from plausible.inference.sensitivity.parameters import Parameter as Parameter
from plausible.inference.sensitivity.surfaces import SensitivitySurface as SensitivitySurface
