"""The likelihood of observed data as a function of the parameters: gradients, curvature, and learners that climb it."""
