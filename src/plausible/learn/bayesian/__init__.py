"""Posteriors of parameters given rows with missing cells: by Markov chains, by weights, by variational Bayes."""
