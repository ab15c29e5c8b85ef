"""Snapshots without names: another cluster in nothing but what things are called, with the same verdicts."""

from tenure.server.redact.redact import Redacted, redact

__all__ = ["Redacted", "redact"]
