"""Inference over sets of factors."""

from plausible.inference.contradiction import smallest_contradiction
from plausible.inference.elimination import SumProduct, absorb, sum_product
from plausible.inference.enumeration import enumerate_posterior
from plausible.inference.info import QueryInfo
from plausible.inference.posterior import posterior

__all__ = [
    "QueryInfo",
    "SumProduct",
    "absorb",
    "enumerate_posterior",
    "posterior",
    "smallest_contradiction",
    "sum_product",
]
