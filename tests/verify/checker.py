"""The one function tests call."""

from collections.abc import Callable, Iterator

from tenure.v1 import decision_service_pb2, snapshot_pb2

from tests.verify.beneficiaries import beneficiary_violations
from tests.verify.capacity import capacity_violations
from tests.verify.claims import claim_violations
from tests.verify.constraints import constraint_violations
from tests.verify.gangs import gang_violations
from tests.verify.guards import guard_violations
from tests.verify.identity import identity_violations
from tests.verify.inflight import in_flight_violations
from tests.verify.outcomes import outcome_violations
from tests.verify.patches import patch_violations
from tests.verify.podaffinity import affinity_violations
from tests.verify.queues import queue_violations
from tests.verify.requeues import requeue_violations
from tests.verify.runtime import RuntimeGuards, runtime_violations
from tests.verify.victims import victim_violations
from tests.verify.world import World
from tests.verify.zones import zone_violations

_CHECKS: tuple[Callable[[World], Iterator[str]], ...] = (
    identity_violations,
    capacity_violations,
    constraint_violations,
    claim_violations,
    affinity_violations,
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
    response: decision_service_pb2.DecideResponse,
    guards: RuntimeGuards | None = None,
) -> list[str]:
    """Every rule that the answer to this snapshot breaks, in words; empty when it is sound.

    `guards` are the minruntime plugin's arguments of the profile that decided; None: no defaults, method lca,
    all actions.
    """
    world = World.of(snapshot, response)
    found = [violation for check in _CHECKS for violation in check(world)]
    return found + list(runtime_violations(world, guards or RuntimeGuards()))
