"""Recorded unit tests of the reference scheduler, run on Tenure's functions."""
