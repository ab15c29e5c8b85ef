"""Servers that are killed and restarted under a client."""
