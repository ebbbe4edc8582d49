"""Solving influence diagrams: expected utilities, best strategies, and proofs that they are best.

`solve` is the front door. Before numbers: `structure` (what decisions have to know, and their order), `plan` (what it
will cost). On arrays: `problem` (the tables), both together a `task`; `joint_table` and `joint_tree` with its `layout`
(what weighs decisions), `updating` (the best rule of one). Solvers: `backward_induction` and `settling` (one decision
after the other), `together` (several that rely on each other: by branch and bound on a `team`, or by `policy_sets` with
their `dominance` on `stages`, made of `blocks`), `climbing`, `enumeration`, `sum_max_sum`, `arc_reversal`,
`network_queries`. Bounds: `relaxation`, `bounding`. Answers: `finishing` makes a `solution`; `evaluating` and
`single_rule` look at given strategies.
"""
