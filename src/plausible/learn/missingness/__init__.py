"""Missing cells: where they come from, what they allow to conclude, and how they are filled."""
