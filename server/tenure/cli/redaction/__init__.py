"""Redaction of snapshots: new names, identical decisions."""

from tenure.cli.redaction.rewrite import RedactedSnapshot, redact

__all__ = ["RedactedSnapshot", "redact"]
