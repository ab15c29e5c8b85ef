"""Recorded calls of reclaim: eligible reclaimers, permitted victims, strategies; and the order of queues."""

from collections.abc import Mapping
from typing import Any

from tenure.solver.model.resources import UNLIMITED, Share
from tenure.solver.plugins.proportion.queue_order import queue_keys
from tenure.solver.plugins.proportion.reclaim_fairness import (
    ReclaimFairness,
    can_reclaim,
    common_level,
    is_reclaimable,
    may_reclaim,
)
from tenure.solver.plugins.proportion.shares import is_within

from tests.conformance.cases import Json
from tests.conformance.unit_cases.queues import queue_table
from tests.conformance.unit_cases.shares import ZERO, add, allocatable, column, quantities, vector
from tests.conformance.unit_cases.values import Adapter, Results, Unmapped

NOTHING_BINDS: Share = (UNLIMITED, UNLIMITED, UNLIMITED)


def _new(_: None, multiplier: float) -> Results:
    return (max(1.0, multiplier),)


def _can_reclaim(_: float, queues: Mapping[str, Json], reclaimer: Json) -> Results:
    table = queue_table(queues)
    queue = table.find(reclaimer["Queue"])
    request, used = vector(reclaimer["RequiredResources"]), table.usage.non_preemptible[queue.index]
    firm = None if reclaimer.get("IsPreemptable") else add(used, request)
    return (can_reclaim(queue, table.usage.allocated[queue.index], table.fair[queue.index], firm, request),)


def _filter_victim(_: float, queues: Mapping[str, Json], reclaimer: Json, victim: str) -> Results:
    table = queue_table(queues)
    mine, theirs = common_level(table.find(reclaimer["Queue"]), table.find(victim))
    request, allocated = vector(reclaimer["RequiredResources"]), table.usage.allocated
    fits_quota = is_within(add(allocated[mine], request), table.queues[mine].facts.quota)
    quota = table.queues[theirs].facts.quota
    return (is_reclaimable(request, fits_quota, quota, allocated[theirs], table.allocatable[theirs]),)


def _is_candidate(_: None, reclaimer: Json, queue: Json) -> Results:
    shares, request = queue["QueueResourceShare"], vector(reclaimer["RequiredResources"])
    quota, allocated = column(shares, "Deserved"), column(shares, "Allocated")
    return (is_reclaimable(request, True, quota, allocated, allocatable(shares)),)


def _reclaimable(
    multiplier: float, queues: Mapping[str, Json], reclaimer: Json, victims: Mapping[str, list[Json]]
) -> Results:
    table, request = queue_table(queues), vector(reclaimer["RequiredResources"])
    verdict = ReclaimFairness(
        table.queues,
        table.usage,
        table.fair,
        table.allocatable,
        table.find(reclaimer["Queue"]),
        request,
        multiplier,
    )
    pieces = [(table.find(name).index, vector(piece)) for name in sorted(victims) for piece in victims[name]]
    firm = None if reclaimer.get("IsPreemptable") else request
    return (verdict.find_rejection(firm, pieces) is None,)


def _maintain_fair_share(
    _: Json, _request: Any, _vectors: Any, _reclaimer: Json, victim: Json, remaining: Json
) -> Results:
    shares = victim["QueueResourceShare"]
    quota = column(shares, "Deserved")
    return (may_reclaim(quantities(remaining), allocatable(shares), quota, fits_quota=False),)


def _guarantee_quota(
    _: Json, request: Json, _vectors: Any, reclaimer: Json, victim: Json, remaining: Json
) -> Results:
    mine = reclaimer["QueueResourceShare"]
    after = add(column(mine, "Allocated"), vector(request))
    fits_quota = is_within(after, column(mine, "Deserved"))
    quota = column(victim["QueueResourceShare"], "Deserved")
    return (may_reclaim(quantities(remaining), NOTHING_BINDS, quota, fits_quota),)


def _queue_order(_: None, left: Json, right: Json, *rest: Any) -> Results:
    """Return -1 if the left queue is first. Recordings contain only jobs without tasks and victims."""
    left_job, right_job, left_victims, right_victims = rest[:4]
    if any(part.get("podInfos") for job in (left_job, right_job) for part in job["PodSets"].values()):
        raise Unmapped("GetQueueOrderResult of jobs with tasks")
    if left_victims or right_victims:
        raise Unmapped("GetQueueOrderResult with victims")
    return (-1 if _key(left, rest[6]) < _key(right, rest[6]) else 1,)


def _key(record: Json, total: Json | None) -> Any:
    (queue,) = (table := queue_table({record["Name"]: record})).queues
    used, fair, most = table.usage.allocated[0], table.fair[0], table.allocatable[0]
    (keys,) = queue_keys([queue], [fair], [most], quantities(total))
    return keys.key(used, request=ZERO, popped=ZERO)


RECLAIM_CALLS: dict[str, Adapter] = {
    "New": _new,
    "Reclaimable.CanReclaimResources": _can_reclaim,
    "Reclaimable.FilterVictim": _filter_victim,
    "Reclaimable.Reclaimable": _reclaimable,
    "canBeDeservedQuotaReclaimCandidate": _is_candidate,
}
STRATEGY_CALLS: dict[str, Adapter] = {
    "MaintainFairShareStrategy.Reclaimable": _maintain_fair_share,
    "GuaranteeDeservedQuotaStrategy.Reclaimable": _guarantee_quota,
}
QUEUE_ORDER_CALLS: dict[str, Adapter] = {"GetQueueOrderResult": _queue_order}
