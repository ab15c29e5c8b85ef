"""Snapshots of KAI-Scheduler: its archives and the objects in them."""
