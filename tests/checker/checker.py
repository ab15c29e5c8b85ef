"""The entry point of the checker."""

from collections.abc import Callable, Iterator

from tenure.v1 import decide_pb2, snapshot_pb2

from tests.checker.rules.beneficiaries import beneficiary_violations
from tests.checker.rules.capacity import capacity_violations
from tests.checker.rules.claims import claim_violations
from tests.checker.rules.constraints import constraint_violations
from tests.checker.rules.gangs import gang_violations
from tests.checker.rules.guards import guard_violations
from tests.checker.rules.host_ports import port_violations
from tests.checker.rules.identity import identity_violations
from tests.checker.rules.in_flight import in_flight_violations
from tests.checker.rules.min_runtime import RuntimeGuards, runtime_violations
from tests.checker.rules.numa_zones import zone_violations
from tests.checker.rules.outcomes import outcome_violations
from tests.checker.rules.patches import patch_violations
from tests.checker.rules.pod_affinity import affinity_violations
from tests.checker.rules.pod_spread import spread_violations
from tests.checker.rules.queues import queue_violations
from tests.checker.rules.reclaims import ReclaimRights, reclaim_violations
from tests.checker.rules.requeues import requeue_violations
from tests.checker.rules.topology import topology_violations
from tests.checker.rules.victims import victim_violations
from tests.checker.snapshot_index import SnapshotIndex

_CHECKS: tuple[Callable[[SnapshotIndex], Iterator[str]], ...] = (
    identity_violations,
    capacity_violations,
    constraint_violations,
    claim_violations,
    affinity_violations,
    port_violations,
    spread_violations,
    topology_violations,
    zone_violations,
    gang_violations,
    victim_violations,
    guard_violations,
    beneficiary_violations,
    requeue_violations,
    queue_violations,
    patch_violations,
    outcome_violations,
    in_flight_violations,
)


def verify(
    snapshot: snapshot_pb2.ClusterSnapshot,
    response: decide_pb2.DecideResponse,
    guards: RuntimeGuards | None = None,
    rights: ReclaimRights | None = None,
) -> list[str]:
    """Return every rule that the response to a snapshot violates, as text; empty for a sound response.

    `guards` are the arguments of the minruntime plugin in the profile of the response. None: no defaults,
    method lca, all actions. `rights` are those of the proportion plugin. None: the default ones.
    """
    world = SnapshotIndex.of(snapshot, response)
    found = [violation for check in _CHECKS for violation in check(world)]
    found += runtime_violations(world, guards or RuntimeGuards())
    return found + list(reclaim_violations(world, rights or ReclaimRights()))
