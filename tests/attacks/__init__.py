"""Hostile requests to a server process, and how their calls end."""
