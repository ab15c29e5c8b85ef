"""Tests of snapshots and responses as text and tables."""
