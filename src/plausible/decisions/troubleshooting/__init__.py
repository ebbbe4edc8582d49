"""Troubleshooting: what to look at, to test and to repair next, and what that will cost."""
