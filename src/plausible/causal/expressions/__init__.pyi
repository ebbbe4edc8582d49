# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.causal.expressions.notation import Symbol as Symbol
from plausible.causal.expressions.simplification import simplify as simplify
from plausible.causal.expressions.tree import Expression as Expression
from plausible.causal.expressions.tree import Probability as Probability
from plausible.causal.expressions.tree import Product as Product
from plausible.causal.expressions.tree import Quotient as Quotient
from plausible.causal.expressions.tree import Sum as Sum
from plausible.causal.expressions.tree import probability as probability
from plausible.causal.expressions.tree import product_of as product_of
from plausible.causal.expressions.tree import sum_over as sum_over
