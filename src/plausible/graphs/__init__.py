"""Graphs: directed, undirected and mixed, and what follows from their structure alone."""

from plausible.graphs.dag import DAG
from plausible.graphs.undirected import UndirectedGraph

__all__ = ["DAG", "UndirectedGraph"]
