"""Learning undirected models: features and weights, objectives, priors, optimisers."""
