"""Coordination: what each member of a team should do, when their values add up."""
