"""Tables of data, encoded."""

from plausible.data.columns import encode_column, encode_columns, encode_evidence

__all__ = ["encode_column", "encode_columns", "encode_evidence"]
