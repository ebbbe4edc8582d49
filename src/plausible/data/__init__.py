"""Tables of data, encoded."""

from plausible.data.columns import encode_column, encode_columns, encode_evidence
from plausible.data.decoding import decode

__all__ = ["decode", "encode_column", "encode_columns", "encode_evidence"]
