"""Decision trees: their nodes, rollback, text, and the trees that diagrams abbreviate."""
