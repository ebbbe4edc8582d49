"""Measurements against other libraries, on the same inputs in the same run."""
