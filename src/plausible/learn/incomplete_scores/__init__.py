"""How well structures explain incomplete data, and how many states hidden variables should have."""
