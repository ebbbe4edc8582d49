"""Solving influence diagrams: expected utilities, best strategies, and proofs that they are best.

`solve` is the front door. On arrays: `problem` (structure and tables), `joint_table` and `joint_tree` with its
`clique_tree` (what weighs decisions), `updating` (the best rule of one). Decisions that rely on each other:
`joint_policies`, by branch and bound on a `team`, or by `policy_sets` on `stages`. Other methods: `elimination`,
`network_queries`. `bounds` says what no strategy exceeds, `solution` what was found; `evaluating`, `counting` and
`utility_gap` look at given strategies, or at all of them.
"""
