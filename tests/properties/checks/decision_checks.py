"""Rules for every cycle result, checked on the facts of the model, without ledger or other solver code."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.model.resources import GPU
from tenure.solver.testing import evictions, placements

from tests.properties.checks.constraint_checks import find_broken_constraints
from tests.properties.checks.gang_minimum import has_minimum
from tests.properties.checks.quota_checks import find_exceeded_quotas
from tests.properties.checks.victim_checks import STALE, find_forbidden_victims
from tests.properties.cycle_sequence import CycleRun


def find_violations(cycle: CycleRun) -> list[str]:
    """Descriptions of all violated rules."""
    checks: Sequence[Callable[[Cluster, CycleResult], Iterator[str]]] = (
        find_overcommitments,
        find_uncovered_reservations,
        find_partial_gangs,
        find_forbidden_victims,
        find_needless_evictions,
        find_exceeded_quotas,
        find_broken_constraints,
    )
    return [problem for check in checks for problem in check(*cycle)]


def find_overcommitments(cluster: Cluster, decision: CycleResult) -> Iterator[str]:
    """Binds must fit beside all pods that are present, reservations when terminating pods are gone."""
    after = placements(cluster, decision.groups)
    yield from _over(cluster, "now", [here for place in after for here in _current_placement(place)])
    yield from _over(cluster, "later", [_final_placement(place) for place in after])


def find_uncovered_reservations(cluster: Cluster, decision: CycleResult) -> Iterator[str]:
    """Reservations need no eviction of a later group: a caller can apply the first groups only."""
    for count in range(1, len(decision.groups)):
        after = placements(cluster, decision.groups[:count])
        for problem in _over(cluster, "later", [_final_placement(place) for place in after]):
            yield f"with only the first {count} groups, {problem}"


def _current_placement(place: Placement) -> Iterator[Placement]:
    """Where the pod is now. A reservation uses no capacity yet; a relocated pod is still on its old node."""
    if place.status is TaskStatus.PIPELINED:
        yield place.previous or Placement(TaskStatus.PENDING)
    else:
        yield place if place.status.is_active_used else Placement(TaskStatus.PENDING)


def _final_placement(place: Placement) -> Placement:
    return place if place.status.is_active_allocated else Placement(TaskStatus.PENDING)


def _over(cluster: Cluster, when: str, places: Sequence[Placement]) -> Iterator[str]:
    used: dict[int, Counter[int]] = defaultdict(Counter)
    devices: dict[int, Counter[str]] = defaultdict(Counter)
    for task, place in zip(cluster.tasks, places, strict=True):
        if place.status is TaskStatus.PENDING:
            continue
        shape = task.shape
        used[place.node].update(dict(enumerate(shape.request)))
        portion = (
            shape.gpu.memory_mib or shape.gpu.portion_milli * cluster.nodes[place.node].gpu_memory_mib // 1000
        )
        for group in place.gpu_groups:
            devices[place.node][group] += portion
    for node in cluster.nodes:
        used[node.index][GPU] += 1000 * len(devices[node.index])
        for slot, amount in sorted(used[node.index].items()):
            if amount > node.allocatable[slot]:
                used_up = f"{amount} of resource {slot} used on {node.facts.name}"
                yield f"{when}: {used_up} of {node.allocatable[slot]}"
        for group, memory in sorted(devices[node.index].items()):
            if memory > node.gpu_memory_mib:
                yield f"{when}: {memory} MiB of {group} used of {node.gpu_memory_mib}"


def find_partial_gangs(cluster: Cluster, decision: CycleResult) -> Iterator[str]:
    """Beneficiaries run with their minimum. Victims that had their minimum retain it or lose all pods.

    A victim that was below its minimum before may be relocated as it is.
    """
    after = placements(cluster, decision.groups)
    gaining = {
        cluster.tasks[step.task].pod_group for g in decision.groups for step in (*g.bindings, *g.reservations)
    }
    binding = {cluster.tasks[step.task].pod_group for g in decision.groups for step in g.bindings}
    losing = {cluster.tasks[task].pod_group for task in evictions(decision)}
    for index in sorted(gaining | losing):
        group = cluster.pod_groups[index]
        active = {t for t in group.tasks if after[t].status.is_active_allocated}
        promised = {t for t in active if after[t].status is TaskStatus.PIPELINED and not after[t].previous}
        before = {t for t in group.tasks if cluster.tasks[t].placement.status.is_active_allocated}
        is_moved = index in losing and active <= before and not has_minimum(group.root, before)
        if index in gaining and not is_moved and not has_minimum(group.root, active):
            yield f"{group.facts.name} gains, but is not whole: {len(active)} pods"
        if index in binding and not has_minimum(group.root, active - promised):
            yield f"{group.facts.name} starts, but is not whole: {len(active - promised)} pods"
        if (
            index not in gaining
            and has_minimum(group.root, before)
            and active
            and not has_minimum(group.root, active)
        ):
            yield f"{group.facts.name} is cut: {len(active)} of {len(before)} pods are left"


def find_needless_evictions(cluster: Cluster, decision: CycleResult) -> Iterator[str]:
    """The beneficiary of evictions must get capacity in the same decision group."""
    for group in decision.groups:
        gains = {cluster.tasks[step.task].pod_group for step in (*group.reservations, *group.bindings)}
        if group.action != STALE and group.evictions and group.beneficiary not in gains:
            yield f"{len(group.evictions)} pods are evicted by {group.action} for nobody"
        for evict in group.evictions:
            if evict.relocating and evict.task not in {hold.task for hold in group.reservations}:
                yield f"task {evict.task} moves nowhere"
