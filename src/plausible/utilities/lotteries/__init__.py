"""Lotteries: preferences over uncertain outcomes, the utilities that stand for them, and attitudes to risk."""
