"""Mixtures: clusters as a hidden class, with features of both kinds that may be missing."""
