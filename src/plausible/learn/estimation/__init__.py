"""Parameters of networks from complete data."""
