"""What it is worth to know something, or to have a say in it, before deciding."""
