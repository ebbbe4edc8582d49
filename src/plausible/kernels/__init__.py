"""Loops on plain arrays, interpreted or compiled; see `plausible.kernels.jit`."""
