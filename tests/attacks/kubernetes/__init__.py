"""Attacks on a real API server."""
