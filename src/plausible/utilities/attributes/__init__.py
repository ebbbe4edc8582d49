"""Utilities over several attributes: what does not depend on what, and the smaller tables that follow from it."""
