"""Speedups: modules that only save time. The search finds the same decisions without them."""
