"""Leader election by a lease, as in client-go.

An adapter acquires a lease that is free, released, or not renewed for its duration. The duration counts from
the last observed change, by the local monotonic clock: clocks of other machines have no influence. Every
write has the resource version, so that one of two concurrent writers gets a conflict.

The leader may act until a third of the duration before the lease expires, counted from before the renewal was
sent. No other adapter acquires it before it expires, so two never act at the same time, even if one of them
was paused: it checks `may_act` before each write. A lease is released only after all writes have ended.
"""

import logging
import math
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, NamedTuple

import msgspec
from tenure.integration.telemetry import IS_LEADER
from tenure.kubernetes.api.api_errors import ApiError, Conflict, NotFound
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.objects.meta import Lease, LeaseSpec, ObjectMeta

DURATION_SECONDS: Final = 15.0
SAFETY_PART: Final = 1 / 3
"""Part of the duration before its end in which the leader does not act: longer than a write may take."""
_RENEW: Final = 1 / 7
"""Part of the duration after which the lease is renewed or read."""

_LOG: Final = logging.getLogger(__name__)
_LEASES: Final = msgspec.json.Decoder(Lease)


class _Seen(NamedTuple):
    """The last observed lease, and when it was first observed, by the local clock."""

    spec: LeaseSpec
    at: float


class LeaderElector:
    """Implements Leadership. Call `run` in a thread of its own."""

    def __init__(
        self,
        transport: Transport,
        namespace: str,
        name: str,
        identity: str,
        duration: float = DURATION_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        on_lost: Callable[[], None] = lambda: None,
    ) -> None:
        self._transport = transport
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._namespace, self._name, self._identity = namespace, name, identity
        self._about = {"lease": f"{namespace}/{name}"}
        self._duration = duration
        self._clock = clock
        self._on_lost = on_lost
        """Called from the thread that renews, whenever another adapter holds the lease."""
        self._has_other_leader = False
        self._problem = ""
        self._seen: _Seen | None = None
        self._leader_until = float("-inf")
        self._transitions = 0
        self._stopped = threading.Event()

    def may_act(self) -> bool:
        """Whether the lease is held for long enough to send one more write."""
        return not self._stopped.is_set() and self._clock() < self._leader_until

    @property
    def term(self) -> int | None:
        """Number of lease transitions at the last acquisition; None while another adapter holds the lease."""
        return None if self._has_other_leader else self._transitions

    @property
    def problem(self) -> str:
        """Why the holder of the lease is unknown; "": it is known."""
        return self._problem

    @property
    def holder(self) -> str:
        """Identity of the last known holder; "": none."""
        return self._seen.spec.holder_identity if self._seen else ""

    def run(self) -> None:
        """Acquire the lease when it is free and renew it, until stopped; then release it."""
        while not self._stopped.is_set():
            self.try_once()
            IS_LEADER.set(int(self.may_act()), self._about)
            self._stopped.wait(self._duration * _RENEW)
        IS_LEADER.set(0, self._about)
        self._release()

    def stop(self) -> None:
        """Act no more, release the lease, and return from `run`. Call it when all writes have ended."""
        self._stopped.set()

    def try_once(self) -> None:
        """Renew the lease, or acquire it if it is free. Failures change nothing."""
        requested_at = self._clock()
        try:
            lease = self._read()
            if lease is None:
                self._extend(self._create(), requested_at)
            elif self._is_ours(lease) or self._is_expired(lease, requested_at):
                self._extend(self._write(lease, self._acquire(lease)), requested_at)
            else:
                self._leader_until = float("-inf")
                self._has_other_leader = True
                self._on_lost()
            self._problem = ""
        except Conflict:
            self._leader_until = float("-inf")
        except Exception as failure:  # any failure: without this thread no adapter would lead
            if not self._problem:
                _LOG.warning("Cannot renew or acquire the lease, retrying: %s", failure)
            self._problem = str(failure) or repr(failure)

    def _is_ours(self, lease: Lease) -> bool:
        return lease.spec.holder_identity == self._identity

    def _is_expired(self, lease: Lease, now: float) -> bool:
        """Whether the lease has no holder, or was not renewed for its duration."""
        if not lease.spec.holder_identity:
            return True
        if self._seen is None or self._seen.spec != lease.spec:
            self._seen = _Seen(lease.spec, now)
        return now >= self._seen.at + (lease.spec.lease_duration_seconds or self._duration)

    def _acquire(self, lease: Lease | None) -> LeaseSpec:
        now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        before = lease.spec if lease else LeaseSpec()
        is_ours = before.holder_identity == self._identity
        return LeaseSpec(
            holder_identity=self._identity,
            lease_duration_seconds=math.ceil(self._duration),
            acquire_time=before.acquire_time if is_ours else now,
            renew_time=now,
            lease_transitions=before.lease_transitions + (lease is not None and not is_ours),
        )

    def _extend(self, lease: Lease, requested_at: float) -> None:
        self._seen = _Seen(lease.spec, requested_at)
        self._transitions = lease.spec.lease_transitions
        self._has_other_leader = False
        self._leader_until = requested_at + self._duration * (1 - SAFETY_PART)

    def _read(self) -> Lease | None:
        try:
            return _LEASES.decode(self._transport.get(f"{self._collection}/{self._name}"))
        except NotFound:
            return None

    def _create(self) -> Lease:
        meta = ObjectMeta(name=self._name, namespace=self._namespace)
        return _LEASES.decode(self._transport.post(self._collection, Lease(meta, self._acquire(None))))

    def _write(self, lease: Lease, spec: LeaseSpec) -> Lease:
        """Replace the lease, unless it changed since it was read."""
        changed = msgspec.structs.replace(lease, spec=spec)
        return _LEASES.decode(self._transport.put(f"{self._collection}/{self._name}", changed))

    def _release(self) -> None:
        """Release the lease, so that another adapter leads at once."""
        try:
            lease = self._read()
            if lease is not None and self._is_ours(lease):
                self._write(lease, LeaseSpec(lease_transitions=lease.spec.lease_transitions))
        except (ApiError, msgspec.DecodeError):
            return
