"""Messages on factor graphs: beliefs, bounds on log Z, good assignments."""
