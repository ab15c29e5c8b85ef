"""Asking a Tenure server for decisions. Snapshots in files: see `tenure.client.snapshot_file`."""

from tenure.client.client import Client
from tenure.client.errors import (
    BadCredentials,
    DeadlineExceeded,
    FieldViolation,
    InvalidSnapshot,
    ServerDefect,
    StaleState,
    TenureError,
    TooLarge,
    Unauthenticated,
    Unavailable,
    Untrusted,
)
from tenure.client.session import StateSession

__all__ = [
    "BadCredentials",
    "Client",
    "DeadlineExceeded",
    "FieldViolation",
    "InvalidSnapshot",
    "ServerDefect",
    "StaleState",
    "StateSession",
    "TenureError",
    "TooLarge",
    "Unauthenticated",
    "Unavailable",
    "Untrusted",
]
