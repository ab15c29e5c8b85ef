"""Writes the status of queues, in the thread of the status writer.

Only changes are written, per queue at most every `QUIET_SECONDS`. What another controller wrote into a status
is replaced with the next change, not before: two writers never take turns.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import msgspec
from tenure.kubernetes.api.transport import LeaderTransport
from tenure.kubernetes.apply.pod_group_status import MANAGER
from tenure.kubernetes.apply.queue_status import Status, merged_status, queue_status
from tenure.kubernetes.apply.server_side_apply import apply_fields
from tenure.kubernetes.objects.meta import ObjectReference
from tenure.kubernetes.observe.queues import QueueObject
from tenure.v1.decide_pb2 import QueueStatus

QUIET_SECONDS: Final = 5.0
"""Minimum time between two writes of a queue."""
_MOST_AT_ONCE: Final = 20
"""Maximum number of queues between two looks at pod groups, whose status comes first."""


class _Wanted(NamedTuple):
    target: ObjectReference
    status: Status


class _Written(NamedTuple):
    status: Status
    at: float
    """By the monotonic clock."""


class _Meta(msgspec.Struct, rename="camel"):
    uid: str = ""
    resource_version: str = ""


class _Queue(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    status: dict[str, Any] = {}


_QUEUES: Final = msgspec.json.Decoder(_Queue)


class QueueStatusWriter:
    """`report` and `write_due` may be called from different threads."""

    def __init__(self, transport: LeaderTransport) -> None:
        self._transport = transport
        self._wanted: Mapping[str, _Wanted] = {}
        self._written: dict[str, _Written] = {}
        self._done: Mapping[str, _Wanted] | None = None
        """The wanted statuses, once all of them are written: then there is nothing to compare."""

    def report(self, queues: Iterable[QueueObject], statuses: Iterable[QueueStatus]) -> None:
        """Replace the wanted statuses. Returns at once."""
        by_name = {status.name: status for status in statuses}
        wanted = {}
        for queue in queues:
            status = None if queue.problem[0] else by_name.get(queue.target.name)
            wanted[queue.target.uid] = _Wanted(queue.target, queue_status(queue, status))
        self._wanted = wanted

    def write_due(self, attempt: Callable[[Callable[[], None]], bool]) -> None:
        """Write some of the statuses that are due. `attempt` returns whether a write need not be retried."""
        wanted, now = self._wanted, time.monotonic()
        if wanted is self._done:
            return
        self._written = {uid: one for uid, one in self._written.items() if uid in wanted}
        due = [(uid, one) for uid, one in wanted.items() if self._is_due(uid, one, now)]
        for uid, one in due[:_MOST_AT_ONCE]:
            is_done = attempt(lambda one=one: self._write(one))  # type: ignore[misc]
            self._written[uid] = _Written(one.status if is_done else {}, now)
        if {uid: one.status for uid, one in wanted.items()} == {
            uid: one.status for uid, one in self._written.items()
        }:
            self._done = wanted

    def _is_due(self, uid: str, wanted: _Wanted, now: float) -> bool:
        last = self._written.get(uid)
        return last is None or (last.status != wanted.status and now >= last.at + QUIET_SECONDS)

    def _write(self, wanted: _Wanted) -> None:
        target = wanted.target
        path = f"/apis/{target.api_version}/queues/{quote(target.name, safe='')}"
        there = _QUEUES.decode(self._transport.get(path))
        status = merged_status(wanted.status, there.status)
        if status is None or there.metadata.uid != target.uid:
            return
        version = there.metadata.resource_version
        apply_fields(self._transport, f"{path}/status", MANAGER, target, version, status=status)
