"""Snapshots that tests of the codec and of the service start from."""
