"""Structures from incomplete data: structural EM, search with full rescoring, hidden variables."""
