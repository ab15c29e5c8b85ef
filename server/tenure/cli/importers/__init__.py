"""Readers of data from other schedulers and traces."""
