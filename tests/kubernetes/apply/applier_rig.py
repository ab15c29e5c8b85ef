"""An applier on a constructed cluster, and what it sent."""

from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.integration.applier import GroupApplier
from tenure.integration.journal_entry import JournalEntry
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.apply.applier import PodApplier
from tenure.kubernetes.apply.owner_writes import OwnerWriter
from tenure.kubernetes.apply.ownership import Ownership
from tenure.kubernetes.apply.pod_writes import PodWriter
from tenure.kubernetes.choices import EvictionMode
from tenure.kubernetes.owners.kinds import built_in_kinds
from tenure.v1.decision_pb2 import Decision
from tenure.v1.report_pb2 import ApplyStatus

from tests.kubernetes.apply import decision_groups
from tests.kubernetes.apply.decision_groups import NOW
from tests.kubernetes.apply.scripted_api_server import ScriptedApiServer, ScriptedResponse
from tests.kubernetes.observe.cached_cluster import CachedCluster, node, pod, running

Served = tuple[ScriptedApiServer, Transport]


def evict(name: str) -> Decision:
    """Evict a pod whose pod group is derived from it."""
    return decision_groups.evict(name, victim=f"uid-{name}")


class ApplierRig:
    """An applier on a constructed cluster, with a clock that tests advance."""

    def __init__(self, served: Served) -> None:
        self.server, transport = served
        self.world = CachedCluster()
        self.node = self.world.put("nodes", node("n1"))
        self.may_act = True
        self.seconds = NOW.seconds
        calls = PodWriter(transport, lambda: self.may_act, EvictionMode.EVICTION)
        self.builder = self.world.builder()
        ownership = Ownership(self.world.mirrors, self.builder, "kai-scheduler")
        owners = OwnerWriter(transport, built_in_kinds(), lambda: self.may_act)
        self.applier = GroupApplier(
            PodApplier(calls, self.world.mirrors, ownership, owners), lambda: Timestamp(seconds=self.seconds)
        )

    def pods(self, *names: str, **more: Any) -> None:
        for name in names:
            self.world.put("pods", pod(name, **more))

    def running(self, *names: str, **more: Any) -> None:
        for name in names:
            self.world.put("pods", running(name, **more))

    def apply(self, *entries: JournalEntry) -> list[str]:
        """Check and apply entries; return the requests that were sent."""
        before = len(self.server.writes())
        self.builder.delta(NOW)
        self.applier.check([entry for entry in entries if not entry.check_first])
        self.applier.apply(entries)
        return sorted(self.server.writes()[before:])

    def messages(self, subresource: str, name: str, *answers: ScriptedResponse) -> None:
        self.server.on("POST", f"/api/v1/namespaces/team/pods/{name}/{subresource}", *answers)


def results(entry: JournalEntry) -> dict[str, str]:
    return {
        id: ApplyStatus.Name(step.status).removeprefix("APPLY_STATUS_") for id, step in entry.results.items()
    }


def sent(subresource: str, *names: str) -> list[str]:
    return [f"POST /api/v1/namespaces/team/pods/{name}/{subresource}" for name in names]
