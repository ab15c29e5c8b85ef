"""Decisions as bytes: notices and patches."""
