"""Snapshots without names: another cluster in nothing but what things are called, with the same verdicts."""

from tenure.cli.redaction.rewrite import RedactedSnapshot, redact

__all__ = ["RedactedSnapshot", "redact"]
