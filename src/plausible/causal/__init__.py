"""Causes: interventions, identification, counterfactuals, bounds and discovery."""
