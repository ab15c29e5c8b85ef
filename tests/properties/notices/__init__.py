"""Notices before evictions, on random sequences of cycles."""
