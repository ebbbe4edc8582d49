"""Structure from answers to questions of independence: PC, Markov blankets, and max-min hill climbing."""
