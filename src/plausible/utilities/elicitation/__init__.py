"""Elicitation: asking people for utilities, and how far to trust what they say."""
