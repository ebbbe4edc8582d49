"""Bayesian networks as classifiers, in the form of scikit-learn's."""
