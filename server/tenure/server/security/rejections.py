"""Rejected calls: counted, and logged once per peer and minute, however many there are."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from opentelemetry import metrics
from tenure.server.security.callers import host_of
from tenure.wire.violations import escape_control_characters

INTERVAL_SECONDS: Final = 60.0
MAX_PEERS: Final = 100
"""Maximum number of peers that are logged by address within an interval; others are logged together."""
OTHERS: Final = "other peers"

_REJECTED: Final = metrics.get_meter("tenure.server").create_counter(
    "tenure_rejected_calls_total",
    description="Calls without valid credentials, or without permission, by reason.",
)
REASONS: Final = (
    *("missing token", "several tokens", "unknown token", "invalid token", "wrong signature"),
    *("unknown issuer", "unknown key", "wrong audience", "expired token", "expired certificate"),
    "permission denied",
)
_LOG: Final = logging.getLogger(__name__)


def initialize_counters() -> None:
    """Create the counters at zero, so that their first increase is visible."""
    for reason in REASONS:
        _REJECTED.add(0, {"reason": reason})


@dataclass
class _Peer:
    logged_at: float
    count: int = 0
    """Rejections since it was logged."""
    last: str = ""
    """The last of them."""


class Rejections:
    """Log of rejected calls. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._peers: dict[str, _Peer] = {}
        self._changing = threading.Lock()

    def add(self, peer: str, reason: str, message: str) -> None:
        """Count a rejection. The first of a peer is logged at once, the others with their number later."""
        _REJECTED.add(1, {"reason": reason})
        with self._changing:
            host = host_of(peer)
            if host not in self._peers and len(self._peers) >= MAX_PEERS:
                host = OTHERS
            known = self._peers.get(host)
            if known is None:
                self._peers[host] = _Peer(self._clock())
            else:
                known.count += 1
                known.last = message
        if known is None:
            _log(host, 1, message)

    def flush(self) -> None:
        """Log what was rejected since the last line of each peer, if that is a minute ago."""
        now, due = self._clock(), []
        with self._changing:
            for host, peer in list(self._peers.items()):
                if now - peer.logged_at < INTERVAL_SECONDS:
                    continue
                if peer.count:
                    due.append((host, peer.count, peer.last))
                    self._peers[host] = _Peer(now)
                else:
                    del self._peers[host]
        for line in due:
            _log(*line)


def _log(host: str, count: int, message: str) -> None:
    calls = "a call" if count == 1 else f"{count:,} calls"
    _LOG.warning("Rejected %s of %s: %s", calls, host, escape_control_characters(message))
