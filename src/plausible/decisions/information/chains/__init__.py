"""What to observe along a chain of variables, looking beyond the next observation."""
