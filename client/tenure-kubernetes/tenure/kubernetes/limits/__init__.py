"""Limits of the server, and objects that are set aside, so that none of them stops the others."""
