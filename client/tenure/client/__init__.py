"""Asking a Tenure server for decisions. Snapshots in files: see `tenure.client.snapshot_file`."""

from tenure.client.client import Client
from tenure.client.errors import (
    DeadlineExceeded,
    FieldViolation,
    InvalidSnapshot,
    ServerDefect,
    TenureError,
    TooLarge,
    Unavailable,
)

__all__ = [
    "Client",
    "DeadlineExceeded",
    "FieldViolation",
    "InvalidSnapshot",
    "ServerDefect",
    "TenureError",
    "TooLarge",
    "Unavailable",
]
