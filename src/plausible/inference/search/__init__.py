"""Searches among states that operators lead to, whatever the states are."""
