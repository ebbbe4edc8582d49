"""Compiled inference: factor scopes to a `Program`, and running it."""
