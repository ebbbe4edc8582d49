"""Relations: schemas of several tables, models over them, and formulas."""
