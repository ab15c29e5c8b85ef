"""What open decision groups show on pods: nominated nodes, and notices, which end with the groups.

A pod whose victims still terminate has its node already: with `status.nominatedNodeName`, an autoscaler adds
no other node for it. Binding clears the name; when the reservation is given up, the adapter does.

A notice ends with its eviction, or with a decision that withdraws it. If the eviction was given up, or the
journal was lost, there is neither: then the adapter takes the notice back by itself.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

from tenure.integration.journal_entry import JournalEntry
from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.api.transport import LeaderTransport
from tenure.kubernetes.apply.events import NOTICE_WITHDRAWN, PendingEvent
from tenure.kubernetes.apply.ownership import Ownership
from tenure.kubernetes.apply.pod_writes import NOTICE_MANAGER, PodName
from tenure.kubernetes.apply.server_side_apply import apply_fields
from tenure.kubernetes.objects import names
from tenure.kubernetes.objects.meta import pod_reference
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.rows.pods import ENDED

MANAGER: Final = "tenure-nomination"
"""Field manager of this name alone: applied without it, only the adapter's own value is removed."""


class NominationWriter:
    """Writes the nodes of reservations. `report` and `write_due` are for one thread each."""

    def __init__(self, transport: LeaderTransport, caches: ObjectCaches, ownership: Ownership) -> None:
        self._transport, self._pods, self._ownership = transport, caches.pods, ownership
        self._wanted: Mapping[str, str] = {}
        """Node by uid of a pod."""
        self._nominated: dict[str, str] | None = None
        """Nodes last written to pods, by uid. None: no decision has been reported yet."""

    def report(self, entries: Iterable[JournalEntry]) -> None:
        """Replace the reservations by those of groups in flight."""
        in_flight = (entry.group.decisions for entry in entries if entry.row() is not None)
        reserved = (step.reserve for decisions in in_flight for step in decisions if step.HasField("reserve"))
        self._wanted = {each.pod: each.node for each in reserved if self._ownership.may_nominate(each)}
        if self._nominated is None:  # an earlier adapter may have nominated nodes
            there = ((pod.metadata.uid, pod.status.nominated_node_name) for pod in self._ownership.own_pods())
            self._nominated = {uid: node for uid, node in there if node}

    def write_due(self, attempt: Callable[[Callable[[], None]], bool]) -> None:
        """Write what has changed. `attempt` returns whether a write need not be repeated."""
        wanted, nominated = self._wanted, self._nominated
        if nominated is None:
            return
        for uid in [uid for uid in {**nominated, **wanted} if nominated.get(uid) != wanted.get(uid)]:
            node, pod = wanted.get(uid, ""), self._pods.find(uid)
            is_over = pod is None or bool(pod.spec.node_name)  # binding has cleared it
            if is_over or (pod is not None and attempt(self._write(pod, node))):
                nominated.pop(uid, None)
                if node:
                    nominated[uid] = node

    def _write(self, pod: Pod, node: str) -> Callable[[], None]:
        where, target = f"{_name(pod).path}/status", pod_reference(pod.metadata)
        status = {"nominatedNodeName": node} if node else {}
        return lambda: apply_fields(self._transport, where, MANAGER, target, status=status)


class NoticeCleaner:
    """Takes back the notices that no open group has. `report` and `write_due` are for one thread each."""

    def __init__(self, transport: LeaderTransport, caches: ObjectCaches, ownership: Ownership) -> None:
        self._transport, self._pods, self._ownership = transport, caches.pods, ownership
        self._noticed: set[str] | None = None
        """Pods that may have a notice. None: no decision has been reported yet."""
        self._stale: Mapping[str, Pod] = {}
        """Pods whose notice is to be taken back, by uid."""
        self._done: set[str] = set()
        """Pods whose notice was taken back: another value of the annotation is not the adapter's."""

    def report(self, entries: Iterable[JournalEntry]) -> list[PendingEvent]:
        """Find notices that no group in flight has. Returns events about them."""
        noticed = self._noticed
        if noticed is None:
            noticed = {pod.metadata.uid for pod in self._ownership.own_pods() if _has_notice(pod)}
        groups = [(entry.row() is not None, entry.group.decisions) for entry in entries]
        in_flight = [step for is_in_flight, steps in groups if is_in_flight for step in steps]
        current = {step.notify.pod or step.evict.pod for step in in_flight}
        self._done -= current
        over = self._done | {step.withdraw_notice.pod for _, steps in groups for step in steps}
        noticed = (noticed | {step.notify.pod for step in in_flight}) - over
        found = {uid: self._pods.find(uid) for uid in sorted(noticed)}
        there = {uid: pod for uid, pod in found.items() if pod is not None and _runs(pod)}
        before, stale = self._stale, {uid: there[uid] for uid in there if uid not in current}
        self._stale = {uid: pod for uid, pod in stale.items() if _has_notice(pod)}
        self._noticed = {uid for uid in there if uid in current or uid in self._stale}
        return [_withdrawn(pod) for uid, pod in self._stale.items() if uid not in before]

    def write_due(self, attempt: Callable[[Callable[[], None]], bool]) -> None:
        """Take back what is stale. `attempt` returns whether a write need not be repeated."""
        for uid, pod in self._stale.items():
            if uid in self._done or uid not in self._stale:  # it may have been given notice again meanwhile
                continue
            where = f"{_name(pod).path}/status"
            target = pod_reference(pod.metadata)
            if attempt(partial(apply_fields, self._transport, where, NOTICE_MANAGER, target, status={})):
                self._done.add(uid)


def _name(pod: Pod) -> PodName:
    return PodName(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)


def _has_notice(pod: Pod) -> bool:
    return names.EVICT_TIME in pod.metadata.annotations


def _runs(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is None and pod.status.phase not in ENDED


def _withdrawn(pod: Pod) -> PendingEvent:
    note = "The announced eviction was given up: the pod runs on."
    about, key = pod_reference(pod.metadata), f"given up {pod.metadata.annotations[names.EVICT_TIME]}"
    return PendingEvent(about, key, NOTICE_WITHDRAWN, note, "Notifying", is_counted=True, is_warning=False)
