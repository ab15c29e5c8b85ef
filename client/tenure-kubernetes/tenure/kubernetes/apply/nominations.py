"""The nodes that pending pods wait for, as `status.nominatedNodeName` of the pods.

A pod whose victims still terminate has its node already: with the name, an autoscaler adds no other node for
it. Binding clears the name; when the reservation is given up, the adapter does.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from tenure.integration.journal_entry import JournalEntry
from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.api.transport import LeaderTransport
from tenure.kubernetes.apply.ownership import Ownership
from tenure.kubernetes.apply.pod_writes import PodName
from tenure.kubernetes.apply.server_side_apply import apply_fields
from tenure.kubernetes.objects.meta import pod_reference
from tenure.kubernetes.objects.pod import Pod

MANAGER: Final = "tenure-nomination"
"""Field manager of this name alone: applied without it, only the adapter's own value is removed."""


class NominationWriter:
    """Writes the nodes of reservations. `report` and `write_due` are for one thread each."""

    def __init__(self, transport: LeaderTransport, caches: ObjectCaches, ownership: Ownership) -> None:
        self._transport, self._pods, self._ownership = transport, caches.pods, ownership
        self._wanted: Mapping[str, str] = {}
        """Node by uid of a pod."""
        self._told: dict[str, str] | None = None
        """What pods were told last. None: no decision has been reported yet."""

    def report(self, entries: Iterable[JournalEntry]) -> None:
        """Replace the reservations by those of groups in flight."""
        in_flight = (entry.group.decisions for entry in entries if entry.row() is not None)
        reserved = (step.reserve for decisions in in_flight for step in decisions if step.HasField("reserve"))
        self._wanted = {each.pod: each.node for each in reserved if self._ownership.may_nominate(each)}
        if self._told is None:  # an earlier adapter may have told something
            there = ((pod.metadata.uid, pod.status.nominated_node_name) for pod in self._ownership.own_pods())
            self._told = {uid: node for uid, node in there if node}

    def write_due(self, attempt: Callable[[Callable[[], None]], bool]) -> None:
        """Write what has changed. `attempt` returns whether a write need not be repeated."""
        wanted, told = self._wanted, self._told
        if told is None:
            return
        for uid in [uid for uid in {**told, **wanted} if told.get(uid) != wanted.get(uid)]:
            node, pod = wanted.get(uid, ""), self._pods.find(uid)
            is_over = pod is None or bool(pod.spec.node_name)  # binding has cleared it
            if is_over or (pod is not None and attempt(self._write(pod, node))):
                told.pop(uid, None)
                if node:
                    told[uid] = node

    def _write(self, pod: Pod, node: str) -> Callable[[], None]:
        meta = pod.metadata
        where = f"{PodName(meta.namespace, meta.name, meta.uid).path}/status"
        status = {"nominatedNodeName": node} if node else {}
        return lambda: apply_fields(self._transport, where, MANAGER, pod_reference(meta), status=status)
