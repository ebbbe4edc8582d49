"""Prenatal diagnosis: a utility over five attributes, in four parts."""

from __future__ import annotations

from plausible.factors import Factor
from plausible.utilities.attributes.additive_utility import AdditiveUtility
from plausible.variables import Variable

__all__ = ["prenatal_utility"]


def prenatal_utility() -> AdditiveUtility:
    """What the outcome of a pregnancy is worth to one couple; 100 at best.

    U_1(testing) + U_2(knowledge) + U_3(down, loss) + U_4(loss, future): the form that Chajewska & Koller (2000) found
    for most couples asked by Kuppermann et al. (Koller & Friedman 2009, box 22.A). The numbers are made up for this
    example. A table over all outcomes would have 108 entries; the parts have 18, with 13 free parameters.

    >>> utility = prenatal_utility()
    >>> utility.num_outcomes, utility.num_entries, utility.num_free_parameters
    (108, 18, 13)
    >>> utility.graph
    UndirectedGraph('down - loss; loss - future; testing; knowledge')
    """
    testing = Variable("testing", ["none", "CVS", "amniocentesis"])
    knowledge = Variable("knowledge", ["none", "accurate", "inaccurate"])
    down = Variable("down", ["normal", "down"])
    loss = Variable("loss", ["none", "miscarriage", "termination"])
    future = Variable("future", ["yes", "no"])
    return AdditiveUtility(
        [
            Factor([testing], [0.0, -2.0, -3.0]),
            Factor([knowledge], [4.0, 8.0, 0.0]),
            Factor([down, loss], [[72.0, 38.0, 25.0], [30.0, 42.0, 40.0]]),
            Factor([loss, future], [[20.0, 15.0], [18.0, 3.0], [16.0, 4.0]]),
        ],
        variables=[testing, knowledge, down, loss, future],
    )
