"""Reasons why pod groups wait: the named obstacle is removed, and the others are tried as well."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from tenure.solver.model.caller_state import PLANNED_STARTS
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import PodGroupOutcome
from tenure.solver.model.fate import HoldReason
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.queue import Queue
from tenure.solver.model.resources import CPU, GPU, MEMORY, UNLIMITED
from tenure.solver.model.workload import PodGroup, PodSet, SubGroupSet
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api.profile import Profile
from tenure.terms.reasons import REASONS, ReasonCode

from tests.properties.checks.gang_minimum import has_minimum
from tests.properties.checks.guard_facts import NOTHING
from tests.properties.sentences.applied import (
    GONE,
    PLACED,
    with_group,
    with_placements,
    with_queues,
    without_pending,
)
from tests.properties.sentences.case import Case, Said

Reasoned = Callable[[Case, Said, PodGroupOutcome], bool]
"""Whether the reason of an outcome is true."""
NO_LIMIT: Final = (UNLIMITED, UNLIMITED, UNLIMITED)
_MANY: Final = 100
_OPEN_ENDED: Final = ("may come first", "may change that", "was not checked", "wait for", "waits for")


def pending(case: Case, said: Said) -> Iterator[str]:
    """X is pending because REASON: the clause is that of its outcome, and the reason is true."""
    outcome = case.outcome(said.about)
    assert outcome is not None, said.text
    clause = REASONS[outcome.reason.code].clause
    own = case.cluster.pod_groups[said.about]
    expected = clause.format(queue=f"queue {own.facts.queue_name}")
    detailed = outcome.reason.detail.rstrip(".")
    if expected not in said.text and detailed not in said.text:
        yield f"{said.text} The reason is {outcome.reason.code.name}"
    if not REASONED[outcome.reason.code](case, said, outcome):
        yield f"{said.text} ({outcome.reason.detail}): {outcome.reason.code.name} is not the obstacle"
    if (obstacle := unnamed_obstacle(case, said.about, outcome)) is not None:
        yield f"{said.text} ({outcome.reason.detail}): the obstacle is {obstacle}"


def by_end(case: Case, said: Said, outcome: PodGroupOutcome) -> bool:
    """With an end, it is placed then, after this cycle, if no other pod group is said to interfere."""
    until = outcome.reason.until
    if until is None:
        return REASONS[outcome.reason.code].reason_class.name in ("PROTECTION", "DELAY", "CAPACITY")
    budgets = [
        each if each.next_allowed is None or each.next_allowed > until else each._replace(allowed=_MANY)
        for each in case.cluster.disruption_budgets
    ]  # a caller sends them anew
    later = replace(case.settled(said.about), now=until, disruption_budgets=tuple(budgets))
    if case.is_placed(later, said.about):
        return True
    return any(text in outcome.reason.detail for text in _OPEN_ENDED)


def order(case: Case, said: Said, outcome: PodGroupOutcome) -> bool:
    """Without the others that wait, it is placed, or waits for a time."""
    alone = without_pending(case.cluster, said.about)
    decision = case.decide(alone)
    found = next((each for each in decision.outcomes if each.pod_group == said.about), None)
    return found is not None and (found.kind in PLACED or found.reason.until is not None)


def limit(case: Case, said: Said, outcome: PodGroupOutcome) -> bool:
    """Without limits, something else is the reason, or none is left."""
    free = with_queues(case.cluster, lambda queue: _with(queue, limit=NO_LIMIT, class_limits=()))
    return _reason(case, free, said.about) is not outcome.reason.code


def firm_quota(case: Case, said: Said, outcome: PodGroupOutcome) -> bool:
    """Without quotas to keep to, something else is the reason, or none is left."""
    free = with_queues(case.cluster, lambda queue: _with(queue, quota=NO_LIMIT))
    return _reason(case, free, said.about) is not outcome.reason.code


def kept_for_lender(case: Case, said: Said, outcome: PodGroupOutcome) -> bool:
    """Some queue keeps a part of its quota."""
    return any(status.kept is not None for status in case.decision.queues)


def no_node(case: Case, said: Said, outcome: PodGroupOutcome) -> bool:
    """It is not placed on the empty cluster."""
    others = [task.index for task in case.cluster.tasks if task.pod_group != said.about]
    empty = with_placements(case.cluster, dict.fromkeys(others, GONE))
    return not case.is_placed(replace(empty, in_flight=()), said.about)


def not_ready(case: Case, said: Said, outcome: PodGroupOutcome) -> bool:
    """Its pods that run or wait are too few."""
    group = case.cluster.pod_groups[said.about]
    alive = {task for task in group.tasks if case.cluster.tasks[task].placement.status.is_alive}
    alive -= {t for t in alive if case.cluster.tasks[t].placement.status is TaskStatus.GATED}
    return not has_minimum(group.root, alive)


def invalid_queue(case: Case, said: Said, outcome: PodGroupOutcome) -> bool:
    """Its queue is not there, or has children."""
    name = case.cluster.pod_groups[said.about].facts.queue_name
    return not any(queue.facts.name == name and not queue.children for queue in case.cluster.queues)


def blocked(case: Case, said: Said, outcome: PodGroupOutcome) -> bool:
    """One of its pods is blocked."""
    tasks = case.cluster.pod_groups[said.about].tasks
    return any(case.cluster.tasks[task].facts.blocked_reason for task in tasks)


def held(case: Case, said: Said, outcome: PodGroupOutcome) -> bool:
    """Something holds it."""
    return case.cluster.pod_groups[said.about].facts.victim.held_by is not HoldReason.UNSPECIFIED


def not_before(case: Case, said: Said, outcome: PodGroupOutcome) -> bool:
    """Its time has not come."""
    time = case.cluster.pod_groups[said.about].facts.victim.not_before
    return time is not None and time > case.cluster.now


def topology(case: Case, said: Said, outcome: PodGroupOutcome) -> bool:
    """Without its topology constraint, it fits on what the decisions leave free."""

    free = with_group(case.settled(said.about), said.about, _without_topology)
    return case.is_placed(free, said.about, only_free(case))


def _without_topology(group: PodGroup) -> PodGroup:
    def free(member: PodSet | SubGroupSet) -> PodSet | SubGroupSet:
        if isinstance(member, PodSet):
            return PodSet(member.index, member.name, member.min_available, member.tasks)
        inner = tuple([free(each) for each in member.members])
        return SubGroupSet(member.name, inner, member.min_sub_groups)

    root = free(group.root)
    assert isinstance(root, SubGroupSet)
    return replace(group, root=root, pod_sets=tuple(_leaves(root)))


def _leaves(member: PodSet | SubGroupSet) -> Iterator[PodSet]:
    if isinstance(member, PodSet):
        yield member
    else:
        for each in member.members:
            yield from _leaves(each)


def reserved(case: Case, said: Said, outcome: PodGroupOutcome) -> bool:
    """Without what others have reserved, it is placed."""
    free = replace(case.cluster, in_flight=()).carrying(PLANNED_STARTS, ())
    profile = replace(
        case.profile,
        actions=tuple([each for each in case.profile.actions if each != "reservation"]),
        plugins=tuple([each for each in case.profile.plugins if each.name != "reservation"]),
    )
    return case.is_placed(without_pending(free, said.about), said.about, profile)


def fragmented(case: Case, said: Said, outcome: PodGroupOutcome) -> bool:
    """On the free GPUs as one machine, it fits by GPUs; it does not on those that there are."""
    return not case.is_placed(case.settled(said.about), said.about, only_free(case))


def by_shares(case: Case, said: Said, outcome: PodGroupOutcome) -> bool:
    """Other queues are within their fair shares, or its own would exceed its own; and that is the obstacle.

    With fair shares that favor it, it starts, or starts by what may be evicted.
    """
    if not _shares_are_so(case, said.about, outcome):
        return False
    return starts_by_share(case, said.about) or fits_beside_evictable(case, said.about)


def _shares_are_so(case: Case, about: int, outcome: PodGroupOutcome) -> bool:
    group, tasks = case.cluster.pod_groups[about], case.cluster.tasks
    path = set() if group.queue is None else set(case.cluster.queues[group.queue].path)
    pending = [task for task in group.tasks if tasks[task].placement.status is TaskStatus.PENDING]
    wanted = [_requested(case.cluster, pending, resource) for resource in (CPU, MEMORY, GPU)]
    exceeds = {
        status.queue
        for status in case.decision.queues
        for slot, after, share in zip(wanted, status.allocated_after, status.fair_share, strict=True)
        if slot and after > share >= 0
    }
    if outcome.reason.code is ReasonCode.WITHIN_FAIR_SHARE:
        return exceeds <= path
    return any(
        slot and after + slot > share >= 0
        for status in case.decision.queues
        if status.queue in path
        for slot, after, share in zip(wanted, status.allocated_after, status.fair_share, strict=True)
    )


def _requested(cluster: Cluster, tasks: list[int], resource: int) -> int:
    shapes = [cluster.tasks[task].shape for task in tasks]
    if resource == GPU:
        parts = [each for each in shapes if each.shares_devices]
        whole = [each for each in shapes if not each.shares_devices]
        return sum(each.request_vector[GPU] for each in whole) + sum(map(_portions, parts))
    return sum(each.request_vector[resource] for each in shapes)


def _portions(shape: TaskShape) -> int:
    """Thousandths of GPUs that it shares; of an amount of memory, some."""
    return shape.gpu.devices * max(shape.gpu.portion_milli, 1)


def no_capacity(case: Case, said: Said, outcome: PodGroupOutcome) -> bool:
    """It fits nowhere on what the decisions leave free; on what evictions release, if that is the reason."""
    cluster, is_released = case.settled(said.about), outcome.reason.source == "release"
    if is_released:
        noticed = [step.task for group in case.decision.groups for step in group.notices.evictions]
        cluster = with_placements(cluster, dict.fromkeys(noticed, GONE))
    return case.is_placed(cluster, said.about, only_free(case)) == is_released


def any_time(case: Case, said: Said, outcome: PodGroupOutcome) -> bool:
    """Nothing is claimed."""
    return True


REASONED: Final[Mapping[ReasonCode, Reasoned]] = {
    ReasonCode.NOT_READY: not_ready,
    ReasonCode.INVALID_QUEUE: invalid_queue,
    ReasonCode.OVER_LIMIT: limit,
    ReasonCode.NON_PREEMPTIBLE_OVER_QUOTA: firm_quota,
    ReasonCode.KEPT_FOR_LENDER: kept_for_lender,
    ReasonCode.OVER_FAIR_SHARE: by_shares,
    ReasonCode.WITHIN_FAIR_SHARE: by_shares,
    ReasonCode.NO_NODE_MATCHES: no_node,
    ReasonCode.INSUFFICIENT_RESOURCES: no_capacity,
    ReasonCode.NO_SOLUTION: no_capacity,
    ReasonCode.NO_CAPACITY: no_capacity,
    ReasonCode.SIMILAR_FAILED: no_capacity,
    ReasonCode.BUDGET_EXHAUSTED: any_time,
    ReasonCode.PREEMPTION_DELAY: by_end,
    ReasonCode.MIN_RUNTIME: by_end,
    ReasonCode.NEAR_COMPLETION: by_end,
    ReasonCode.EVICTION_COOLDOWN: by_end,
    ReasonCode.VICTIM_COOLDOWN: by_end,
    ReasonCode.EVICTION_BACKOFF: by_end,
    ReasonCode.PROTECTED: by_end,
    ReasonCode.DISRUPTION_BUDGET: by_end,
    ReasonCode.EVICTION_RATE: by_end,
    ReasonCode.BLOCKED: blocked,
    ReasonCode.HELD: held,
    ReasonCode.NOT_BEFORE: not_before,
    ReasonCode.RESERVED: reserved,
    ReasonCode.QUEUE_ORDER: order,
    ReasonCode.TOPOLOGY: topology,
    ReasonCode.FRAGMENTED: fragmented,
}
"""Every reason with a clause. A test fails if one is missing."""


def only_free(case: Case) -> Profile:
    """The profile, with nothing but free capacity to use."""
    return replace(case.profile, actions=("allocate",))


def keeping_starts(case: Case) -> Profile:
    """A profile that only allocates, beside what is kept for planned starts."""
    plans = tuple([each for each in case.profile.actions if each == "reservation"])
    return replace(case.profile, actions=("allocate", *plans))


def anywhere(cluster: Cluster, about: int) -> Cluster:
    """Its pods care for no other pods and no topology, and nothing is kept: only amounts on nodes count."""
    free = replace(cluster, in_flight=()).carrying(PLANNED_STARTS, ())
    none: dict[str, Any] = dict.fromkeys(
        ("pod_affinity", "pod_anti_affinity", "host_ports", "topology_spread"), ()
    )
    shapes = tuple([replace(shape, constraints=replace(shape.constraints, **none)) for shape in free.shapes])
    tasks = free.tasks.next_version()
    for task in free.tasks:
        tasks.put(task.index, replace(task, shape=shapes[task.shape.index]))
    return with_group(replace(free, tasks=tasks, shapes=shapes), about, _without_topology)


def _with(queue: Queue, **facts: Any) -> Queue:
    return replace(queue, facts=replace(queue.facts, **facts))


def _reason(case: Case, cluster: Cluster, about: int) -> ReasonCode | None:
    found = next((each for each in case.decide(cluster).outcomes if each.pod_group == about), None)
    return None if found is None or found.kind in PLACED else found.reason.code


def in_favor(case: Case, about: int, cluster: Cluster) -> Cluster:
    """Its queues may have everything, and all others nothing."""
    own = case.cluster.pod_groups[about].queue
    path = () if own is None else case.cluster.queues[own].path

    def change(queue: Queue) -> Queue:
        if queue.index in path:
            return _with(queue, quota=NO_LIMIT)
        return _with(queue, quota=(0, 0, 0), weight=(0, 0, 0))

    return with_queues(cluster, change)


def starts_by_share(case: Case, about: int) -> bool:
    """Whether it is placed with fair shares in its favor, on what the decisions leave, or waits only for
    limits of evictions.
    """
    favored = case.decide(in_favor(case, about, case.settled(about)))
    found = next((each for each in favored.outcomes if each.pod_group == about), None)
    return found is not None and (found.kind in PLACED or found.reason.code in _PACED)


def evictable(case: Case, about: int, action: str) -> list[int]:
    """Running pods that neither a guard nor a priority keeps an action from evicting for it; shares are
    ignored.

    Left out are protected minimums, though some of their pods may be surplus, and pod groups with a pod that
    starts or moves: they are not evicted in the same cycle.
    """
    group, facts = case.cluster.pod_groups[about], case.guards.after_group(case.decision.groups)
    is_late = group.facts.creation + group.facts.preemption_delay > case.cluster.now
    if action not in case.profile.actions or group.facts.never_evicts or is_late:
        return []
    found, tasks = list[int](), case.cluster.tasks
    settled = (TaskStatus.RUNNING, TaskStatus.BOUND)
    for victim in case.cluster.pod_groups:
        same = victim.queue == group.queue
        after = [case.after[task] for task in victim.tasks if case.after[task].status.is_active_allocated]
        if any(each.status not in settled for each in after):
            continue
        if any(case.after[task] != tasks[task].placement for task in victim.tasks):
            continue
        if victim.index == about or same is not (action == "preempt") or victim.queue is None:
            continue
        if same and victim.facts.priority >= group.facts.priority:
            continue
        if all(verdict.protects == NOTHING for verdict in facts.verdicts(action, about, victim.index)):
            found += victim.tasks
    return [task for task in found if not tasks[task].facts.disruption_budgets]


def fits_beside_evictable(case: Case, about: int) -> bool:
    """Whether it would be placed on free capacity if all were gone that one action may evict."""
    if case.profile.options.eviction_rates or _is_paced(case):
        return False
    cluster = case.settled(about)
    for action in ("reclaim", "preempt"):
        victims = evictable(case, about, action)
        running = [each for each in victims if cluster.tasks[each].placement.status.is_active_allocated]
        gone = with_placements(cluster, dict.fromkeys(running, GONE))
        if running and case.is_placed(in_favor(case, about, gone), about, only_free(case)):
            return True
    return False


def _is_paced(case: Case) -> bool:
    options = case.profile.options
    return options.max_disrupted_per_cycle >= 0 or options.max_disrupted_per_pod_group >= 0


_PACED: Final = (ReasonCode.EVICTION_RATE, ReasonCode.DISRUPTION_BUDGET)


def unnamed_obstacle(case: Case, about: int, outcome: PodGroupOutcome) -> str | None:
    """What really keeps it waiting, where the reason says that capacity is short and it is not."""
    codes = (ReasonCode.NO_CAPACITY, ReasonCode.NO_SOLUTION, ReasonCode.INSUFFICIENT_RESOURCES)
    if outcome.reason.code not in codes or outcome.reason.source == "release":
        return None
    if "fair share" in outcome.reason.detail and "not checked" not in outcome.reason.detail:
        return None
    return "a fair share" if fits_beside_evictable(case, about) else None
