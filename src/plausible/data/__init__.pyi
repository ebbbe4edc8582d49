# Which file has which name of this room: see plausible.base.lazy_names.
from plausible.data.column_types import DoubtfulColumns as DoubtfulColumns
from plausible.data.columns import decode as decode
from plausible.data.columns import encode_column as encode_column
from plausible.data.columns import encode_columns as encode_columns
from plausible.data.columns import encode_evidence as encode_evidence
from plausible.data.discretization import Discretizer as Discretizer
from plausible.data.events import DataEvent as DataEvent
from plausible.data.events import empirical_distribution as empirical_distribution
from plausible.data.events import event_count as event_count
from plausible.data.events import event_probability as event_probability
from plausible.data.events import where as where
from plausible.data.statistics import MomentStatistics as MomentStatistics
from plausible.data.statistics import Request as Request
from plausible.data.statistics import Statistics as Statistics
from plausible.data.table import Table as Table
from plausible.data.table_statistics import TableStatistics as TableStatistics
