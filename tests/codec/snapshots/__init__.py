"""Snapshots for the tests of the codec and of the service."""
