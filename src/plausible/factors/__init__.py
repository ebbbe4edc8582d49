"""Factors: tables over named variables, and Gaussians."""

from plausible.factors.factor import Factor, product
from plausible.factors.gaussian import GaussianFactor, gaussian_product, linear_gaussian
from plausible.factors.moments import MomentGaussian

__all__ = ["Factor", "GaussianFactor", "MomentGaussian", "gaussian_product", "linear_gaussian", "product"]
