"""Runs the reference scheduler's own test cases, kept as data, through Tenure's public contract."""
