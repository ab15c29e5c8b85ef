"""Which objects the adapter may change: those that it described to the server itself.

A response contains uids. Nothing else about a decision is trusted: a confused server, or a forged state, must
not make the adapter evict or bind a pod of another scheduler, node pool or pod group, or change a pod group
that it does not schedule.
"""

import logging
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.observe.snapshot_builder import SnapshotBuilder
from tenure.kubernetes.telemetry import REFUSED
from tenure.v1.decision_pb2 import Bind, Decision, Evict, Reserve

_MOST_REFUSALS: Final = 100
"""Maximum number of refusals without an event; the oldest are dropped."""
_KINDS: Final = ("bind", "evict", "notify", "withdraw_notice", "patch")
"""Values of the metric label `kind`: all series exist from the start."""
_ACTIONS: Final = {"bind": "Binding", "notify": "Notice", "withdraw_notice": "Withdrawal of a notice"}
_LOG: Final = logging.getLogger(__name__)


class Refusal(NamedTuple):
    """A decision or a patch that the adapter did not apply, because the object is not its own."""

    subject: str
    """Kind, namespace and name of the object."""
    text: str


def pod_of(decision: Decision) -> str:
    """Uid of the pod that a decision binds, evicts or tells something; "": none."""
    return decision.bind.pod or decision.evict.pod or decision.notify.pod or decision.withdraw_notice.pod


class Ownership:
    """Compares decisions with the rows of the last snapshot or delta. For several threads."""

    def __init__(self, caches: ObjectCaches, builder: SnapshotBuilder, scheduler_name: str) -> None:
        self._pods, self._builder = caches.pods, builder
        self._scheduler_name = scheduler_name
        self._refusals: deque[Refusal] = deque(maxlen=_MOST_REFUSALS)
        self._refused_pod_groups: frozenset[str] = frozenset()
        """Uids of pod groups with refused patches."""
        for kind in _KINDS:
            REFUSED.add(0, {"kind": kind})

    def refuse(self, decision: Decision) -> str:
        """Why the pod of a decision is not the adapter's own, which is logged and counted; "": it is."""
        kind = decision.WhichOneof("kind") or ""
        pod = self._pods.find(pod_of(decision))
        if pod is None:
            return ""
        why = self._foreign_pod(pod)
        if not why and kind == "evict":
            why = self._foreign_victim(decision.evict)
        if not why and kind == "bind":
            why = self._foreign_node(decision.bind)
        if why:
            action = _ACTIONS.get(kind, "Eviction")
            subject = f"pod {pod.metadata.namespace}/{pod.metadata.name}"
            self._add(kind, Refusal(subject, f"{action} of {subject} refused: {why}."))
        return why

    def has_fate(self, evict: Evict) -> bool:
        """Whether the fate of a victim is what its pod group, or the nearest queue, sets."""
        group = self._builder.pod_group(evict.pod_group)
        fate, queue = (group.on_evict, group.queue) if group is not None else (0, "")
        while not fate and (row := self._builder.queues.rows.get(queue)) is not None:
            fate, queue = row.on_evict, row.parent
        return fate == evict.fate

    def own_pod_groups(self, uids: Iterable[str]) -> set[str]:
        """The pod groups whose objects may be changed. New refusals are logged and counted."""
        wanted = set(uids)
        own = set(filter(self._builder.owns, wanted))
        others = frozenset(uid for uid in wanted - own if self._builder.subject(uid) is not None)
        for uid in sorted(others - self._refused_pod_groups):
            there = self._builder.subject(uid)
            subject = f"pod group {there.namespace}/{there.name}" if there else f"pod group {uid}"
            self._add("patch", Refusal(subject, f"Patch of {subject} refused: it is not in the snapshot."))
        self._refused_pod_groups = others
        return own

    def own_pods(self) -> Iterator[Pod]:
        """The pods that the adapter schedules."""
        return (pod for pod in self._pods.all() if not self._foreign_pod(pod))

    def may_nominate(self, reserve: Reserve) -> bool:
        """Whether a reservation is of one of these pods, on a node of the node pool."""
        pod = self._pods.find(reserve.pod)
        is_own = pod is not None and not self._foreign_pod(pod)
        return is_own and self._builder.has_node(reserve.node)

    def take_refusals(self) -> list[Refusal]:
        """Refusals since the last call."""
        found = []
        while self._refusals:
            found.append(self._refusals.popleft())
        return found

    def _foreign_pod(self, pod: Pod) -> str:
        if pod.spec.scheduler_name != self._scheduler_name:
            return f"the pod belongs to scheduler {pod.spec.scheduler_name!r}"
        if self._builder.pod(pod.metadata.uid) is None:
            return "the pod is not in the snapshot"
        return ""

    def _foreign_victim(self, evict: Evict) -> str:
        row = self._builder.pod(evict.pod)
        if row is not None and row.pod_group != evict.pod_group:
            return f"its pod group is {row.pod_group}, but the decision names {evict.pod_group or 'none'}"
        return ""

    def _foreign_node(self, bind: Bind) -> str:
        return "" if self._builder.has_node(bind.node) else f"node {bind.node} is not in the node pool"

    def _add(self, kind: str, refusal: Refusal) -> None:
        REFUSED.add(1, {"kind": kind})
        _LOG.warning("%s", refusal.text)
        self._refusals.append(refusal)
