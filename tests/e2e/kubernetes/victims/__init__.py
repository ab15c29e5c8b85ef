"""Victims on a real API server: their notices, and the work that they lose."""
