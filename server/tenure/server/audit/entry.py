"""A line of the audit log: who called what, about which cluster, and with what result."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final, NamedTuple

GENESIS: Final = "0" * 64
"""Digest before the first line of a log."""


class AuditEntry(NamedTuple):
    """One call, or one message of a stream of deltas."""

    caller: str
    """Identity; empty on a server without authentication."""
    authentication: str
    """How the caller was identified: none, token, certificate, jwt."""
    peer: str
    method: str
    cluster: str
    node_pool: str
    version: int | None
    """Version of the state that was named, made or read; None: the request names none."""
    result: str
    """Name of the gRPC status, or of the state error of a message."""


class Position(NamedTuple):
    """Where a log ends."""

    sequence: int
    """Number of the last line; 0: there is none."""
    digest: str
    """SHA-256 of the last line, in hexadecimal digits."""


START: Final = Position(0, GENESIS)


def digest_of(line: bytes) -> str:
    """Digest of a line, without its newline."""
    return sha256(line).hexdigest()


def encode_line(entry: AuditEntry, recorded_at: int, before: Position, lost: int) -> bytes:
    """Line of an entry, without its newline. ASCII, so that no text of a caller breaks it.

    `recorded_at` is in nanoseconds since the Unix epoch; `lost` is the number of entries that were lost since
    the line before.
    """
    moment = datetime.fromtimestamp(recorded_at // 1_000 / 1e6, UTC)
    line: Mapping[str, object] = {
        "sequence": before.sequence + 1,
        "time": moment.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        **entry._asdict(),
        **({"lost": lost} if lost else {}),
        "previous": before.digest,
    }
    return json.dumps(line, separators=(",", ":")).encode("ascii")
