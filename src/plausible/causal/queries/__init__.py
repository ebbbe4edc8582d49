"""Questions about causal networks: what an intervention changes, and why things are associated."""
