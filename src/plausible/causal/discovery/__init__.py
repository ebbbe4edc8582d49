"""Causal discovery where causes may be hidden: FCI, partial ancestral graphs, and what they can answer."""
