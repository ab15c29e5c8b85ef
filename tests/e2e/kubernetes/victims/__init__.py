"""Victims on a real API server: what they are told, and what they lose."""
