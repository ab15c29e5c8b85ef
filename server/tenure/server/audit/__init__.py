"""Audit log: one JSON line per call, each with the digest of the line before, so that changes are seen.

    a call ──► FileAuditLog ──► thread ──► FILE ──► verify
               (no wait)

| module | contents |
|---|---|
| `entry` | what a line contains, and its digest |
| `log` | the queue and the thread that writes |
| `chain_file` | the file: its lock, its end, and complete lines only |
| `verify` | the check of files |
"""

from tenure.server.audit.chain_file import AuditError
from tenure.server.audit.entry import AuditEntry
from tenure.server.audit.log import NO_AUDIT, AuditLog, FileAuditLog

__all__ = ["NO_AUDIT", "AuditEntry", "AuditError", "AuditLog", "FileAuditLog"]
