"""The randomised trial in which not everybody takes what he is assigned."""

from __future__ import annotations

import numpy.typing as npt

from plausible.causal.functional.model import FunctionalModel
from plausible.causal.functional.responses import COMPLIANCE, OUTCOME, ResponseVariable
from plausible.cpds import TableCPD
from plausible.factors import Factor
from plausible.variables import Variable

__all__ = ["trial_model"]


def trial_model(responses: npt.ArrayLike, assigned: float = 0.5) -> FunctionalModel:
    """A -> T -> O, all binary: assignment, treatment taken, outcome; types of compliance and outcome are dependent.

    Randomisation makes A independent of the types, and a placebo keeps A from O but through T; so A is an instrument.

    Parameters
    ----------
    responses
        P(U_T, U_O), 4 × 4 with 15 free numbers: rows never taker, complier, defier, always taker; columns never well,
        helped, hurt, always well. State 1 of O is "well".
    assigned
        P(A = 1).

    References
    ----------
    Balke & Pearl (1994), Counterfactual probabilities. Koller & Friedman (2009), example 21.18.

    Examples
    --------
    >>> import numpy as np
    >>> compliers = np.zeros((4, 4))
    >>> compliers[1] = [0.3, 0.4, 0.1, 0.2]
    >>> model = trial_model(compliers)
    >>> model.graph
    CausalGraph('A -> T; T -> O; T <-> O')
    >>> effect = model.query("O", do={"T": 1}) - model.query("O", do={"T": 0})
    >>> effect.values.round(6)
    array([-0.3,  0.3])
    """
    assignment, treatment, outcome = (Variable(name, 2) for name in "ATO")
    assigns = ResponseVariable(assignment)
    takes = ResponseVariable(treatment, [assignment], names=COMPLIANCE)
    fares = ResponseVariable(outcome, [treatment], names=OUTCOME)
    chance = TableCPD(assigns.noise, [1.0 - assigned, assigned])
    return FunctionalModel([assigns, takes, fares], [chance, Factor([takes.noise, fares.noise], responses)])
