"""Converts recorded queue attributes to Tenure's queues and their usage."""

from collections.abc import Mapping
from dataclasses import dataclass

from tenure.solver.framework.ledger import Ledger
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.facts import QueueFacts
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.model.queue import Queue
from tenure.solver.model.resources import Share
from tenure.solver.plugin_api.node_sizes import NodeSizes
from tenure.solver.plugins.proportion.initial_usage import InitialUsage
from tenure.solver.plugins.proportion.usage import Usage
from tenure.solver.registry import BUILT_IN
from tenure.solver.resolution.reference_resolution import resolve_queues

from tests.conformance.cases import Json
from tests.conformance.conversion.times import NOW_NS
from tests.conformance.unit_cases.shares import allocatable, column


@dataclass(frozen=True, slots=True)
class QueueTable:
    """Queues of a recording. Lists have the indices of `queues`."""

    queues: tuple[Queue, ...]
    usage: Usage
    fair: list[Share]
    allocatable: list[Share]

    def find(self, name: str) -> Queue:
        """Return the queue with this name."""
        return next(queue for queue in self.queues if queue.facts.name == name)

    def path_up(self, name: str) -> list[Queue]:
        """Return the queue and its ancestors, leaf first."""
        return [self.queues[index] for index in reversed(self.find(name).path)]


def queue_table(records: Mapping[str, Json]) -> QueueTable:
    """Build the queues from recorded attributes, by uid. A queue whose parent is not recorded is a root."""
    queues = resolve_queues(_spec(uid, record, records) for uid, record in records.items())
    shares = [records[queue.facts.name].get("QueueResourceShare", {}) for queue in queues]
    cluster = Cluster(NOW_NS, (), queues, PersistentVector(), PersistentVector(), ())
    ledger = Ledger(cluster)
    usage = Usage(
        cluster,
        ledger,
        InitialUsage.of(cluster, ledger, NodeSizes(cluster), BUILT_IN.guarded.fair_share_names),
    )
    usage.allocated = [column(share, "Allocated") for share in shares]
    usage.non_preemptible = [column(share, "AllocatedNotPreemptible") for share in shares]
    fair = [column(share, "FairShare") for share in shares]
    return QueueTable(queues, usage, fair, [allocatable(share) for share in shares])


def _spec(uid: str, record: Json, records: Mapping[str, Json]) -> QueueFacts:
    shares = record.get("QueueResourceShare", {})
    parent = record.get("ParentQueue", "")
    return QueueFacts(
        name=uid,
        parent_name=parent if parent in records else "",
        priority=record.get("Priority", 0),
        quota=column(shares, "Deserved"),
        limit=column(shares, "MaxAllowed"),
        preempt_min_runtime=record.get("PreemptMinRuntime"),
        reclaim_min_runtime=record.get("ReclaimMinRuntime"),
    )
