"""Bayesian clustering over partitions of the rows: Dirichlet processes and finite mixtures."""
