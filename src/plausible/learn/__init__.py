"""Learning models from data."""
