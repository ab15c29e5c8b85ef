"""Immutable input and output of a cycle."""
