"""Comparison of a result with the expectations of a case."""
