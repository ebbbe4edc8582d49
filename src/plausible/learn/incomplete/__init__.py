"""Learning from rows with missing cells and from variables that were never seen."""
