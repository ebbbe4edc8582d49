"""Conditional probability distributions."""

from plausible.cpds.base import CPD
from plausible.cpds.table import TableCPD

__all__ = ["CPD", "TableCPD"]
