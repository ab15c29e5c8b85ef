"""Larger random clusters: what differs, and why."""
