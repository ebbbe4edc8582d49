"""Messages between regions of several variables: cluster graphs, Kikuchi approximations, convex free energies."""
