"""Tables of data, encoded, and what is counted in them."""

from plausible.data.columns import decode, encode_column, encode_columns, encode_evidence
from plausible.data.discretization import Discretizer
from plausible.data.doubtful import DoubtfulColumns
from plausible.data.events import DataEvent, empirical_distribution, event_count, event_probability, where
from plausible.data.statistics import MomentStatistics, Request, Statistics
from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics

__all__ = [
    "DataEvent",
    "Discretizer",
    "DoubtfulColumns",
    "MomentStatistics",
    "Request",
    "Statistics",
    "Table",
    "TableStatistics",
    "decode",
    "empirical_distribution",
    "encode_column",
    "encode_columns",
    "encode_evidence",
    "event_count",
    "event_probability",
    "where",
]
