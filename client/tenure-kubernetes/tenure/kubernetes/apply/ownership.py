"""Which objects the adapter may change: those that it described to the server itself.

The kit compares decisions with the rows. This module adds what only Kubernetes has: pods of other schedulers,
objects of pod groups, and reservations, which are shown as nominated nodes.
"""

from collections.abc import Iterable, Iterator

from tenure.integration.ownership import Refusal, Refusals, find_foreign, permits_fate, pod_of
from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.observe.snapshot_builder import SnapshotBuilder
from tenure.v1.decision_pb2 import Decision, Evict, Reserve


class Ownership:
    """Compares decisions with the rows of the last snapshot or delta. For several threads."""

    def __init__(self, caches: ObjectCaches, builder: SnapshotBuilder, scheduler_name: str) -> None:
        self._pods, self._builder = caches.pods, builder
        self._scheduler_name = scheduler_name
        self._refusals = Refusals()
        self._refused_pod_groups: frozenset[str] = frozenset()
        """Uids of pod groups with refused patches."""

    def refuse(self, decision: Decision) -> str:
        """Why the pod of a decision is not the adapter's own, which is logged and counted; "": it is."""
        pod = self._pods.find(pod_of(decision))
        if pod is None:
            return ""
        why = self._foreign_scheduler(pod) or find_foreign(decision, self._builder)
        if why:
            subject = f"pod {pod.metadata.namespace}/{pod.metadata.name}"
            self._refusals.add(decision.WhichOneof("kind") or "", subject, why)
        return why

    def has_fate(self, evict: Evict) -> bool:
        """Whether the pod group of a victim, or the nearest queue, asks for its fate."""
        return permits_fate(evict, self._builder)

    def own_pod_groups(self, uids: Iterable[str]) -> set[str]:
        """The pod groups whose objects may be changed. New refusals are logged and counted."""
        wanted = set(uids)
        own = set(filter(self._builder.owns, wanted))
        others = frozenset(uid for uid in wanted - own if self._builder.subject(uid) is not None)
        for uid in sorted(others - self._refused_pod_groups):
            there = self._builder.subject(uid)
            subject = f"pod group {there.namespace}/{there.name}" if there else f"pod group {uid}"
            self._refusals.add("patch", subject, "it is not in the snapshot")
        self._refused_pod_groups = others
        return own

    def own_pods(self) -> Iterator[Pod]:
        """The pods that the adapter schedules."""
        return (pod for pod in self._pods.all() if self._is_own(pod))

    def may_nominate(self, reserve: Reserve) -> bool:
        """Whether a reservation is of one of these pods, on a node of the node pool."""
        pod = self._pods.find(reserve.pod)
        return pod is not None and self._is_own(pod) and self._builder.has_node(reserve.node)

    def take_refusals(self) -> list[Refusal]:
        """Refusals since the last call."""
        return list(self._refusals.take())

    def _is_own(self, pod: Pod) -> bool:
        return not self._foreign_scheduler(pod) and self._builder.pod(pod.metadata.uid) is not None

    def _foreign_scheduler(self, pod: Pod) -> str:
        name = pod.spec.scheduler_name
        return "" if name == self._scheduler_name else f"the pod belongs to scheduler {name!r}"
