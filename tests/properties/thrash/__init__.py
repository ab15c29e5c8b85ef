"""Simulated callers over many cycles, and how often pod groups evict each other."""
