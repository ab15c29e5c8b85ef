"""Hostile requests to a server process."""
