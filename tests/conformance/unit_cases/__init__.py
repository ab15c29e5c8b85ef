"""Recorded unit tests of the reference scheduler, run on our functions."""
