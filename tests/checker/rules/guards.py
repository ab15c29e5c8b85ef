"""Evictions name the guards that allow them, and no protection of the response contradicts them."""

from collections import Counter
from collections.abc import Iterator

from tenure.v1 import decision_pb2
from tenure.v1.decision_pb2 import PROTECTION_SCOPE_ALL, PROTECTION_SCOPE_CORE, PROTECTION_SCOPE_UNSPECIFIED

from tests.checker.losses import STALE_GANG_EVICTION, PodGroupLoss, guarded_losses
from tests.checker.rules.min_runtime import EVICTING
from tests.checker.snapshot_index import SnapshotIndex


def guard_violations(world: SnapshotIndex) -> Iterator[str]:
    """Check the guards of evictions, the protections, and that both agree."""
    for group, evict in world.evictions:
        for problem in _wrong_verdicts(group, evict):
            yield f"guard: {group.action} evicts pod {evict.pod}: {problem}"
    for protection in world.response.protections:
        for problem in _protection(world, protection):
            yield f"protection: {protection.guard} of pod group {protection.pod_group}: {problem}"
    for loss in guarded_losses(world):
        for protection in _contradicting_protections(world, loss):
            yield f"protection: {loss}, but {protection.guard} protects it"
        for name in sorted(_keeping_minimum(world, loss)) if loss.breaks_minimum else ():
            yield f"guard: {loss}, though {name} keeps its minimum"


def _wrong_verdicts(group: decision_pb2.DecisionGroup, evict: decision_pb2.Evict) -> Iterator[str]:
    if group.action == STALE_GANG_EVICTION:
        if evict.guards:
            yield "a broken gang, and guards are named"
        return
    if not evict.guards:
        yield "no guard was asked"
    elif "preemptibility" not in [check.guard for check in evict.guards]:
        yield "preemptibility, which is always on, was not asked"
    for name, count in sorted(Counter(check.guard for check in evict.guards).items()):
        if count > 1 or not name:
            yield f"guard {name!r} is named {count} times"
    for check in evict.guards:
        if check.scope == PROTECTION_SCOPE_ALL:
            yield f"{check.guard} protects all of its pod group"


def _keeping_minimum(world: SnapshotIndex, loss: PodGroupLoss) -> set[str]:
    """Return the guards that the evictions name with scope core."""
    evicts = [step.evict for step in loss.group.decisions if step.WhichOneof("kind") == "evict"]
    own = [
        evict
        for evict in evicts
        if evict.pod in world.pods and world.pods[evict.pod].pod_group == loss.victim.uid
    ]
    return {check.guard for evict in own for check in evict.guards if check.scope == PROTECTION_SCOPE_CORE}


def _protection(world: SnapshotIndex, protection: decision_pb2.Protection) -> Iterator[str]:
    if protection.pod_group not in world.pod_groups:
        yield "it is not in the snapshot"
    if not protection.actions or not set(protection.actions) <= set(EVICTING):
        yield f"protected from {list(protection.actions)}"
    is_over = protection.until.ToNanoseconds() <= world.snapshot.now.ToNanoseconds()
    if protection.scope != PROTECTION_SCOPE_UNSPECIFIED and protection.HasField("until") and is_over:
        yield "its end is past"


def _contradicting_protections(world: SnapshotIndex, loss: PodGroupLoss) -> Iterator[decision_pb2.Protection]:
    narrowest_by_guard: dict[str, decision_pb2.Protection] = {}
    circles = _possible_scopes(world, loss.group.beneficiary)
    for protection in world.protections[loss.victim.uid]:
        if _against(protection) not in circles:
            continue
        if loss.group.action in protection.actions:
            known = narrowest_by_guard.setdefault(protection.guard, protection)
            if circles.index(_against(protection)) > circles.index(_against(known)):
                narrowest_by_guard[protection.guard] = protection
    for protection in narrowest_by_guard.values():
        of_minimum = protection.scope == PROTECTION_SCOPE_CORE and loss.breaks_minimum
        if protection.scope == PROTECTION_SCOPE_ALL or of_minimum:
            yield protection


def _against(protection: decision_pb2.Protection) -> tuple[str, str]:
    return protection.against, protection.against_pod_group


def _possible_scopes(world: SnapshotIndex, beneficiary: str) -> list[tuple[str, str]]:
    """Return the scopes that apply to a beneficiary: all, its queues from the top, the pod group itself."""
    if beneficiary not in world.pod_groups:
        return [("", "")]
    circles, queue = [("", beneficiary)], world.pod_groups[beneficiary].queue
    while queue in world.queues:
        circles.insert(0, (queue, ""))
        queue = world.queues[queue].parent
    return [("", ""), *circles]
