"""Functional causal models: every variable a function of its causes and of noise."""
