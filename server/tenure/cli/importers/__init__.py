"""Snapshots from other people's data."""
