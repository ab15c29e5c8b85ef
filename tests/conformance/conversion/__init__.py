"""Conversion of cases to snapshots and profiles."""
