"""Models of what happens in time: one question, one reader of rows."""
