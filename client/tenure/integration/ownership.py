"""What decisions may change: only what the adapter described to the server itself.

A response contains uids. Nothing else about a decision is trusted: a confused server, or a forged state, must
not make an adapter change a workload that it does not schedule, or end one that asks for something milder. An
adapter compares each decision with the rows that it sent, before the first write of a group and again
directly before each write.
"""

import logging
from collections import deque
from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol

from tenure.integration.telemetry import REFUSED
from tenure.v1.decision_pb2 import Decision, Evict
from tenure.v1.snapshot_pb2 import FATE_DELETE, FATE_SUSPEND, Fate, Pod, PodGroup, Queue
from tenure.wire.limits import MAX_DEPTH

ENDING: Final = (FATE_DELETE, FATE_SUSPEND)
"""Fates after which a workload does not wait again by itself. An owner asks for them, or a queue."""
UNREQUESTED: Final = "neither it nor its queue asks for that"
"""Why a workload does not end as a decision says."""
MAX_REFUSALS: Final = 100
"""Maximum number of refusals that are kept until they are taken; the oldest are dropped."""
_KINDS: Final = ("bind", "evict", "notify", "withdraw_notice", "patch")
"""Values of the metric label `kind`: all series exist from the start."""
_ACTIONS: Final = {
    "bind": "Binding",
    "evict": "Eviction",
    "notify": "Notice",
    "withdraw_notice": "Withdrawal of a notice",
    "patch": "Patch",
}
_LOG: Final = logging.getLogger(__name__)


class SentRows(Protocol):
    """Rows as the adapter sent them last, by key. None: it sent none."""

    def pod(self, uid: str) -> Pod | None:
        """Row of a pod."""

    def pod_group(self, uid: str) -> PodGroup | None:
        """Row of a pod group."""

    def queue(self, name: str) -> Queue | None:
        """Row of a queue."""

    def has_node(self, name: str) -> bool:
        """Whether a node has a row."""


def pod_of(decision: Decision) -> str:
    """Uid of the pod that a decision binds, evicts or tells something; "": none."""
    return decision.bind.pod or decision.evict.pod or decision.notify.pod or decision.withdraw_notice.pod


def find_foreign(decision: Decision, rows: SentRows) -> str:
    """Why the pod or the node of a decision is not the adapter's own; "": both are."""
    row = rows.pod(pod_of(decision))
    if row is None:
        return "the pod is not in the snapshot"
    kind = decision.WhichOneof("kind")
    if kind == "bind":
        node = decision.bind.node
        return "" if rows.has_node(node) else f"node {node} is not in the node pool"
    if kind not in ("evict", "notify", "withdraw_notice"):
        return ""
    named: str = getattr(decision, kind).pod_group
    if row.pod_group != named:
        return f"its pod group is {row.pod_group}, but the decision names {named or 'none'}"
    return ""


def permits_fate(evict: Evict, rows: SentRows, own: Fate | None = None) -> bool:
    """Whether the pod group of a pod may become what an eviction says.

    It can always wait again. It ends only if it asks for that, or else the nearest queue with a value: at
    evictions, or at time limits if there is one. `own` is what it asks for itself now; None: as in its row.
    """
    fate = evict.fate
    if fate not in ENDING:
        return True
    pod = rows.pod(evict.pod)
    group = None if pod is None else rows.pod_group(pod.pod_group)
    if group is None:
        return False
    on_evict, on_time_limit = group.on_evict if own is None else own, group.on_time_limit
    has_time_limit, name = group.HasField("time_limit"), group.queue
    for _ in range(MAX_DEPTH):
        if (queue := rows.queue(name)) is None:
            break
        on_evict, on_time_limit = on_evict or queue.on_evict, on_time_limit or queue.on_time_limit
        has_time_limit, name = has_time_limit or queue.HasField("time_limit"), queue.parent
    return fate == on_evict or (has_time_limit and fate == on_time_limit)


class Refusal(NamedTuple):
    """A decision or a patch that the adapter did not apply, because the object is not its own."""

    subject: str
    """What it is about, such as "pod NAMESPACE/NAME"."""
    text: str


class Refusals:
    """Logs and counts refusals, and keeps them for events. For several threads."""

    def __init__(self) -> None:
        self._last: deque[Refusal] = deque(maxlen=MAX_REFUSALS)
        for kind in _KINDS:
            REFUSED.add(0, {"kind": kind})

    def add(self, kind: str, subject: str, why: str) -> None:
        """Add a refusal. `kind` is that of the decision, or "patch"."""
        refusal = Refusal(subject, f"{_ACTIONS.get(kind, 'Decision')} of {subject} refused: {why}.")
        REFUSED.add(1, {"kind": kind})
        _LOG.warning("%s", refusal.text)
        self._last.append(refusal)

    def take(self) -> Iterator[Refusal]:
        """Refusals since the last call."""
        while self._last:
            yield self._last.popleft()
