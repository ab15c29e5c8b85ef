"""Callers that take slots, turns, threads or memory, and what is left to others."""
