"""`tenure play`."""
