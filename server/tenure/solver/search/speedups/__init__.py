"""Speedups: modules that only save time. The search makes the same decisions without them."""
