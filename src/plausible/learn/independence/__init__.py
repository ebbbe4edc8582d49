"""Tests of conditional independence: of counts, of correlations, of both, by permutation, by a graph."""
