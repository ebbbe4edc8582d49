# Which folder or file has which name of this room: see plausible.base.lazy_names.
from plausible.causal import adjustment as adjustment
from plausible.causal import calculus as calculus
from plausible.causal import counterfactuals as counterfactuals
from plausible.causal import discovery as discovery
from plausible.causal import estimation as estimation
from plausible.causal import expressions as expressions
from plausible.causal import functional as functional
from plausible.causal import identification as identification
from plausible.causal import interventional as interventional
from plausible.causal import partial as partial
from plausible.causal import queries as queries
from plausible.causal.adjustment import *
from plausible.causal.calculus import *
from plausible.causal.counterfactuals import *
from plausible.causal.discovery import *
from plausible.causal.estimation import *
from plausible.causal.expressions import *
from plausible.causal.functional import *
from plausible.causal.identification import *
from plausible.causal.interventional import *
from plausible.causal.partial import *
from plausible.causal.queries import *
