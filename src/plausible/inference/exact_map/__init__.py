"""Best assignments with proof: max-product elimination, the k best, marginal MAP."""
