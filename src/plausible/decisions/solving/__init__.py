"""Solving influence diagrams: expected utilities, best strategies, and proofs that they are best.

`solve` is the front door. Before numbers: `structure` (what decisions have to know, and their order), `plan` (what it
will cost). On arrays: `problem` (the tables), `joint_table` and `joint_tree` with its `layout` (what weighs decisions),
`updating` (the best rule of one). Solvers: `backward_induction` and `settling` (one decision after the other), `team`
(several together), `sum_max_sum`, `arc_reversal`, `network_queries`. Bounds: `relaxation`. Answers: `finishing` makes a
`solution`; `evaluating` and `single_rule` look at given strategies.
"""
