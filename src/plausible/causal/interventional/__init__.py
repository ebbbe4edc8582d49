"""Interventional data: classes of graphs, searches over them, choice of experiments, response types from data."""
