"""Numbers: regressions on continuous variables, their elimination, one evidence or many rows of it."""
