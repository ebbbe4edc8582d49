"""Best assignments without a clique tree: cuts, moves, relaxations, searches."""
