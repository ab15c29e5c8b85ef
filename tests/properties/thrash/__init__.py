"""Simulated callers over many cycles, with counts of retaliatory and ineffective evictions."""
