"""Graphs from data: searches, and what they know beforehand."""
