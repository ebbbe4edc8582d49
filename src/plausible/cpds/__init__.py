"""Conditional probability distributions, one kind in each file."""

from plausible.cpds.aggregate import AggregateCPD
from plausible.cpds.base import CPD
from plausible.cpds.conditional_gaussian import ConditionalGaussianCPD
from plausible.cpds.contexts import Context
from plausible.cpds.deterministic import DeterministicCPD
from plausible.cpds.linear_gaussian import LinearGaussianCPD
from plausible.cpds.logistic import LogisticCPD
from plausible.cpds.multiplexer import Multiplexer
from plausible.cpds.noisy_max import NoisyMax
from plausible.cpds.noisy_or import NoisyOr
from plausible.cpds.rules import Rule, RuleCPD
from plausible.cpds.splits import Split
from plausible.cpds.table import TableCPD
from plausible.cpds.tree import TreeCPD

__all__ = [
    "CPD",
    "KINDS",
    "AggregateCPD",
    "ConditionalGaussianCPD",
    "Context",
    "DeterministicCPD",
    "LinearGaussianCPD",
    "LogisticCPD",
    "Multiplexer",
    "NoisyMax",
    "NoisyOr",
    "Rule",
    "RuleCPD",
    "Split",
    "TableCPD",
    "TreeCPD",
]

#: The kinds by the name that they have in files.
KINDS: dict[str, type[CPD]] = {
    cpd.kind: cpd
    for cpd in (
        TableCPD,
        DeterministicCPD,
        TreeCPD,
        RuleCPD,
        NoisyOr,
        NoisyMax,
        Multiplexer,
        AggregateCPD,
        LogisticCPD,
        LinearGaussianCPD,
        ConditionalGaussianCPD,
    )
}
