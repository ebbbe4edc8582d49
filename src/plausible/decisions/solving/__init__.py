"""Solving influence diagrams: expected utilities, best strategies, and proofs that they are best.

`solve` is the front door. On arrays: `problem` (structure and tables), `joint_tree` (what weighs
decisions), `updating` (the best rule of one). Decisions that rely on each other: `joint_policies`, by branch and bound
on a `team`, or by `policy_sets` on `stages`. Other methods: `elimination`. `solution` has what was found; `evaluating`
and `counting` look at given strategies, or at all of them.
"""

from plausible.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
