"""Client of a Tenure server. Snapshots in files: see `tenure.client.snapshot_file`."""

from tenure.client.client import Client
from tenure.client.errors import (
    DeadlineExceeded,
    FieldViolation,
    InternalError,
    InvalidCredentials,
    InvalidSnapshot,
    MessageTooLarge,
    PermissionDenied,
    StateMismatch,
    TenureError,
    TlsHandshakeFailed,
    Unauthenticated,
    Unavailable,
    UnsupportedFeature,
)
from tenure.client.session import StateSession

__all__ = [
    "Client",
    "DeadlineExceeded",
    "FieldViolation",
    "InternalError",
    "InvalidCredentials",
    "InvalidSnapshot",
    "MessageTooLarge",
    "PermissionDenied",
    "StateMismatch",
    "StateSession",
    "TenureError",
    "TlsHandshakeFailed",
    "Unauthenticated",
    "Unavailable",
    "UnsupportedFeature",
]
