"""Tables of data, encoded."""

from plausible.data.columns import encode_column, encode_columns

__all__ = ["encode_column", "encode_columns"]
