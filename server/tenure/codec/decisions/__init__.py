"""Decisions as bytes (notices, patches), and in numbers."""
