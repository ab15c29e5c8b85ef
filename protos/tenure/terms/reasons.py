"""The reason catalog: one row for each reason code, read by every package that names a reason.

Numbers and names are those of `tenure.v1.ReasonCode`. A new reason is one row; no column is optional.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from tenure.terms.reason_class import ReasonClass
from tenure.terms.reason_code import ReasonCode as ReasonCode

NONE: Final = ""
"""A column that does not apply to the reason."""
LEAST_DOMINANT: Final = 180
OWN_ENDS: Final = (ReasonCode.STALE_GANG, ReasonCode.STALE_SUB_GROUP, ReasonCode.TIME_LIMIT)
"""Reasons of evictions that are for no other pod group."""


class Reason(NamedTuple):
    """A row of the catalog. Templates name `{queue}`, `{action}` and `{beneficiary}`."""

    code: ReasonCode
    reason_class: ReasonClass
    dominance: int
    """The smallest of several findings about a pending pod group is its reason."""
    clause: str
    """Follows "is pending because"."""
    victim_clause: str
    """Follows "is evicted because" or "is not evicted by ACTION because"."""
    eviction: str
    """Predicate of an evicted pod, for operators."""
    remedy: str
    """What the owner or an operator can do."""
    public: str
    """A sentence without names."""
    condition: str
    """Reason of the Kubernetes condition of a pending pod group."""
    stands: bool
    """Whether it holds until something changes, rather than until a time or the next cycle."""


# fmt: off
_ROWS: Final = (
    Reason(ReasonCode.ALLOCATED, ReasonClass.APPLIED, LEAST_DOMINANT, condition=NONE, stands=False,
           clause=NONE, victim_clause=NONE, eviction=NONE, remedy=NONE,
           public="It is scheduled on free capacity."),
    Reason(ReasonCode.PIPELINED, ReasonClass.APPLIED, LEAST_DOMINANT, condition="WaitingForRelease",
           stands=False, clause=NONE, victim_clause=NONE, eviction=NONE,
           remedy="wait until terminating pods have released their resources",
           public="Capacity is being released; it starts when that is available."),
    Reason(ReasonCode.RECLAIMED, ReasonClass.APPLIED, LEAST_DOMINANT, condition=NONE, stands=False,
           clause=NONE, victim_clause="its queue has more than it may keep, and the preemptor's queue is "
                                      "below its fair share",
           eviction="is evicted for {beneficiary}, whose queue is below its fair share", remedy=NONE,
           public="It was evicted because another queue is below its fair share."),
    Reason(ReasonCode.PREEMPTED, ReasonClass.APPLIED, LEAST_DOMINANT, condition=NONE, stands=False,
           clause=NONE, victim_clause="the preemptor has higher priority in the same queue",
           eviction="is preempted by {beneficiary}, which has higher priority in the same queue", remedy=NONE,
           public="It was preempted by a workload with higher priority in its queue."),
    Reason(ReasonCode.CONSOLIDATED, ReasonClass.APPLIED, LEAST_DOMINANT, condition=NONE, stands=False,
           clause=NONE, victim_clause="relocating it consolidates free capacity",
           eviction="is relocated to consolidate free capacity for {beneficiary}", remedy=NONE,
           public="It was relocated to consolidate free capacity."),
    Reason(ReasonCode.STALE_GANG, ReasonClass.APPLIED, LEAST_DOMINANT, condition=NONE, stands=False,
           clause=NONE, victim_clause="it ran below its minimum for longer than its grace period",
           eviction="is evicted because its gang ran below its minimum for longer than the grace period",
           remedy=NONE, public="It ran below its minimum for longer than its grace period."),
    Reason(ReasonCode.STALE_SUB_GROUP, ReasonClass.APPLIED, LEAST_DOMINANT, condition=NONE, stands=False,
           clause=NONE, victim_clause="its subgroup can never reach its minimum, and others wait",
           eviction="is evicted because its subgroup ran below its minimum longer than the grace period and "
                    "has too few pods to reach it, and another pod group waits for the capacity",
           remedy=NONE, public="Its subgroup has too few pods to reach its minimum, and others wait."),
    Reason(ReasonCode.TIME_LIMIT, ReasonClass.APPLIED, LEAST_DOMINANT, condition=NONE, stands=False,
           clause=NONE, victim_clause="it reached its time limit",
           eviction="is evicted because its pod group reached its time limit", remedy=NONE,
           public="It ran until its time limit."),
    Reason(ReasonCode.BACKFILL_ENDED, ReasonClass.APPLIED, LEAST_DOMINANT, condition=NONE, stands=False,
           clause=NONE, victim_clause="it runs on reserved capacity", public="It ran on reserved capacity.",
           eviction="is evicted for {beneficiary}, on whose reserved capacity it ran", remedy=NONE),
    Reason(ReasonCode.VICTIMS_EVICTED, ReasonClass.APPLIED, LEAST_DOMINANT, condition="WaitingForVictims",
           stands=False, clause=NONE, victim_clause=NONE, eviction=NONE,
           remedy="wait until the evicted pods have terminated",
           public="Pods are being evicted for it; it starts when they have terminated."),
    Reason(ReasonCode.NOTICE_GIVEN, ReasonClass.APPLIED, LEAST_DOMINANT, condition="WaitingForVictims",
           stands=False, clause=NONE, victim_clause=NONE, eviction=NONE,
           remedy="wait until the notice is over",
           public="It starts when other pods, which were given notice, have been evicted."),
    Reason(ReasonCode.FIELD_UPDATED, ReasonClass.APPLIED, LEAST_DOMINANT, condition=NONE, stands=False,
           clause=NONE, victim_clause=NONE, eviction=NONE, remedy=NONE,
           public="Its scheduling metadata was updated."),
    Reason(ReasonCode.REQUEUED, ReasonClass.APPLIED, LEAST_DOMINANT, condition=NONE, stands=False,
           victim_clause="it exceeded its expected runtime and the contender has higher priority",
           eviction="is requeued for {beneficiary}, which has higher priority; "
           "its pod group exceeded its expected runtime", remedy=NONE, clause=NONE,
           public="It exceeded its expected runtime and was requeued for a workload with higher priority."),
    Reason(ReasonCode.NOT_READY, ReasonClass.INVALID, 30, condition="InvalidPodGroup", stands=True,
           clause="it has fewer schedulable pods than its minimum", victim_clause=NONE, eviction=NONE,
           remedy="create the missing pods, or reduce its minimum",
           public="It has fewer pods than its minimum."),
    Reason(ReasonCode.INVALID_QUEUE, ReasonClass.INVALID, 10, condition="InvalidPodGroup", stands=True,
           clause="its queue does not exist or is not a leaf queue", victim_clause=NONE, eviction=NONE,
           remedy="move it to an existing leaf queue",
           public="Its queue does not exist or is not a leaf queue."),
    Reason(ReasonCode.OVER_LIMIT, ReasonClass.QUOTA, 50, condition="WaitingForQuota", stands=True,
           clause="it would exceed the limit of {queue} or one of its ancestors", victim_clause=NONE,
           eviction=NONE, remedy="wait until pod groups of {queue} end, or raise the limit",
           public="A limit of its queue or of an ancestor is reached."),
    Reason(ReasonCode.NON_PREEMPTIBLE_OVER_QUOTA, ReasonClass.QUOTA, 60, condition="WaitingForQuota",
           stands=True,
           clause="its non-preemptible pods would exceed the quota of {queue} or one of its ancestors",
           victim_clause=NONE, eviction=NONE, remedy="make it preemptible, or raise the quota of {queue}",
           public="The quota for non-preemptible workloads is used up."),
    Reason(ReasonCode.KEPT_FOR_LENDER, ReasonClass.QUOTA, 65, condition="WaitingForQuota", stands=True,
           clause="other queues keep a part of their quota, which they do not lend", victim_clause=NONE,
           eviction=NONE, remedy="wait until pod groups of {queue} end, or raise its quota",
           public="Other queues keep a part of their quota."),
    Reason(ReasonCode.OVER_FAIR_SHARE, ReasonClass.QUOTA, 130, condition="Unschedulable", stands=True,
           clause="{queue} would exceed its fair share, so no pods of other queues are evicted for it",
           victim_clause="its queue would be worse off than the preemptor's", eviction=NONE,
           remedy="wait until resources are free, or raise the quota of {queue}",
           public="Its queue would exceed its fair share."),
    Reason(ReasonCode.NO_NODE_MATCHES, ReasonClass.IMPOSSIBLE, 40, condition="Unschedulable", stands=True,
           clause="no node meets its requirements, even when empty", victim_clause=NONE, eviction=NONE,
           remedy="reduce the requests of its pods, relax their constraints, or add a matching node",
           public="No node meets its requirements."),
    Reason(ReasonCode.INSUFFICIENT_RESOURCES, ReasonClass.CAPACITY, 170, condition="Unschedulable",
           stands=True, clause="no eligible node has enough free resources", victim_clause=NONE,
           eviction=NONE, remedy="wait until resources are free, or add a node",
           public="Not enough free resources."),
    Reason(ReasonCode.NO_SOLUTION, ReasonClass.CAPACITY, 160, condition="Unschedulable", stands=True,
           clause="no permitted set of evictions would free enough resources",
           victim_clause="evicting it alone would not free enough resources", eviction=NONE,
           remedy="wait until resources are free, or add a node",
           public="No permitted evictions would free enough resources."),
    Reason(ReasonCode.BUDGET_EXHAUSTED, ReasonClass.EFFORT, 80, condition="SearchIncomplete", stands=False,
           clause="the search stopped before it was complete; it may still be schedulable",
           victim_clause=NONE, eviction=NONE, remedy="raise the search budget, or set a longer deadline",
           public="It was not evaluated completely; this is not a final result."),
    Reason(ReasonCode.PREEMPTION_DELAY, ReasonClass.DELAY, 70, condition="Delayed", stands=False,
           clause="its preemption delay has not elapsed", victim_clause=NONE, eviction=NONE,
           remedy="wait until the delay has elapsed, or shorten it",
           public="It cannot preempt other workloads yet."),
    Reason(ReasonCode.SIMILAR_FAILED, ReasonClass.CAPACITY, 150, condition="Unschedulable", stands=True,
           clause="a pod group with no larger request was just found unschedulable", victim_clause=NONE,
           eviction=NONE, remedy="wait until resources are free, or add a node",
           public="A similar workload of its queue could not be scheduled."),
    Reason(ReasonCode.MIN_RUNTIME, ReasonClass.PROTECTION, 90, condition="Delayed", stands=False,
           clause="the candidates have not reached their minimum runtime",
           victim_clause="it has not reached its minimum runtime", eviction=NONE,
           remedy="wait until the protection ends, or lower the minimum runtime",
           public="It is protected until it reaches its minimum runtime."),
    Reason(ReasonCode.NON_PREEMPTIBLE, ReasonClass.PROTECTION, LEAST_DOMINANT, condition="Delayed",
           stands=False, clause=NONE, victim_clause="it is non-preemptible", eviction=NONE,
           remedy="wait until the candidates end", public="It is protected: it is non-preemptible."),
    Reason(ReasonCode.PRIORITY_NOT_LOWER, ReasonClass.CAPACITY, LEAST_DOMINANT, condition="Unschedulable",
           stands=True, clause=NONE, victim_clause="its priority is not lower than the preemptor's",
           eviction=NONE, remedy="raise the priority of the preemptor", public="Its priority is not lower."),
    Reason(ReasonCode.WITHIN_FAIR_SHARE, ReasonClass.CAPACITY, 140, condition="Unschedulable", stands=True,
           clause="the other queues are within their fair share",
           victim_clause="its queue is within its fair share", eviction=NONE,
           remedy="wait until resources are free, or raise the quota of {queue}",
           public="Its queue is within its fair share."),
    Reason(ReasonCode.BLOCKED, ReasonClass.IMPOSSIBLE, 20, condition="Unschedulable", stands=True,
           clause="a resource required by one of its pods is missing", victim_clause=NONE, eviction=NONE,
           remedy="create the missing resource", public="A resource required by one of its pods is missing."),
    Reason(ReasonCode.HELD, ReasonClass.HELD, 15, condition="Held", stands=True,
           clause="it is held", victim_clause=NONE, eviction=NONE,
           remedy="release it: clear what holds it, or set its release time (tenure.scheduler/released)",
           public="It is held until it is released."),
    Reason(ReasonCode.NOT_BEFORE, ReasonClass.DELAY, 16, condition="Delayed", stands=False,
           clause="it may not start yet", victim_clause=NONE, eviction=NONE,
           remedy="wait until then, or set an earlier time (tenure.scheduler/not-before)",
           public="It waits for the time before which it may not start."),
    Reason(ReasonCode.OPTED_OUT, ReasonClass.PROTECTION, LEAST_DOMINANT, condition="Delayed", stands=False,
           clause=NONE, victim_clause="it opts out of {action}", eviction=NONE,
           remedy="wait until the candidates end", public="It is protected: it opts out."),
    Reason(ReasonCode.EVICTION_LIMIT, ReasonClass.PROTECTION, LEAST_DOMINANT, condition="Delayed",
           stands=False, clause=NONE, victim_clause="it reached its eviction limit", eviction=NONE,
           remedy="wait until the candidates end, or raise the eviction limit",
           public="It is protected: it reached its eviction limit."),
    Reason(ReasonCode.NEAR_COMPLETION, ReasonClass.PROTECTION, 120, condition="Delayed", stands=False,
           clause="the candidates are close to their expected end",
           victim_clause="it is close to its expected end", eviction=NONE,
           remedy="wait until the candidates end",
           public="It is protected: it is close to its expected end."),
    Reason(ReasonCode.WAIT_LIMIT, ReasonClass.PROTECTION, LEAST_DOMINANT, condition="Delayed", stands=False,
           clause=NONE, victim_clause="it reached its limit of time waited after evictions", eviction=NONE,
           remedy="wait until the candidates end, or raise the wait limit",
           public="It is protected: it reached its wait limit."),
    Reason(ReasonCode.EVICTION_COOLDOWN, ReasonClass.PROTECTION, 100, condition="Delayed", stands=False,
           clause="it was recently evicted for the candidates",
           victim_clause="the preemptor was recently evicted for it", eviction=NONE,
           remedy="wait until the cooldown ends",
           public="It is protected from a workload that was recently evicted for it."),
    Reason(ReasonCode.VICTIM_COOLDOWN, ReasonClass.PROTECTION, 105, condition="Delayed", stands=False,
           clause="the candidates have just started again after evictions", eviction=NONE,
           victim_clause="it has just started again after evictions", remedy="wait until the cooldown ends",
           public="It is protected: it has just started again after evictions."),
    Reason(ReasonCode.EVICTION_BACKOFF, ReasonClass.PROTECTION, 110, condition="Delayed", stands=False,
           clause="evicting the candidates was recently ineffective",
           victim_clause="evicting it for the preemptor was recently ineffective", eviction=NONE,
           remedy="wait until the backoff ends",
           public="It is protected: an earlier eviction was ineffective."),
    Reason(ReasonCode.PROTECTED, ReasonClass.PROTECTION, 115, condition="Delayed", stands=False,
           clause="a guard protects the candidates", victim_clause="a guard protects it", eviction=NONE,
           remedy="wait until the protection ends", public="It is protected."),
    Reason(ReasonCode.DISRUPTION_BUDGET, ReasonClass.DELAY, 118, condition="Delayed", stands=False,
           clause="disruption budgets of the candidates allow no more disruptions",
           victim_clause="a disruption budget allows no more disruptions", eviction=NONE,
           remedy="wait until more pods of the disruption budget are available, or change the budget",
           public="It is protected: a disruption budget allows no more disruptions."),
    Reason(ReasonCode.EVICTION_RATE, ReasonClass.DELAY, 119, condition="Delayed", stands=False,
           clause="a limit for evictions is reached", victim_clause="a limit for evictions is reached",
           eviction=NONE, remedy="wait, or raise the limit", public="A limit for evictions is reached."),
    Reason(ReasonCode.RESERVED, ReasonClass.CAPACITY, 122, condition="Unschedulable", stands=False,
           clause="capacity is reserved for other pod groups", victim_clause=NONE, eviction=NONE,
           remedy="wait until the reservation is used or ends, or add a node",
           public="Capacity is reserved for other workloads."),
    Reason(ReasonCode.QUEUE_ORDER, ReasonClass.CAPACITY, 124, condition="Unschedulable", stands=True,
           clause="capacity goes first to pod groups that precede it", victim_clause=NONE, eviction=NONE,
           remedy="wait until resources are free, or add a node",
           public="Capacity goes first to workloads that precede it."),
    Reason(ReasonCode.TOPOLOGY, ReasonClass.CAPACITY, 126, condition="Unschedulable", stands=True,
           clause="it fits on the free nodes, but not within its topology constraint", victim_clause=NONE,
           eviction=NONE,
           remedy="relax its topology constraint, or wait until nodes near each other are free",
           public="The free nodes are not within its topology constraint."),
    Reason(ReasonCode.FRAGMENTED, ReasonClass.CAPACITY, 128, condition="Unschedulable", stands=True,
           clause="enough GPUs are free, but too few on one node", victim_clause=NONE, eviction=NONE,
           remedy="request fewer GPUs for each pod, or wait until a node is free",
           public="Enough GPUs are free, but too few on one node."),
    Reason(ReasonCode.NO_CAPACITY, ReasonClass.CAPACITY, 145, condition="Unschedulable", stands=True,
           clause="no node that it may use can take its pods now", victim_clause=NONE, eviction=NONE,
           remedy="wait until resources are free, or add a node",
           public="No node that it may use can take its pods now."),
    Reason(ReasonCode.IN_PROGRESS, ReasonClass.IN_FLIGHT, LEAST_DOMINANT, condition=NONE, stands=False,
           clause=NONE, victim_clause=NONE, eviction=NONE, remedy=NONE,
           public="Its decisions are being applied."),
    Reason(ReasonCode.COMPLETED, ReasonClass.IN_FLIGHT, LEAST_DOMINANT, condition=NONE, stands=False,
           clause=NONE, victim_clause=NONE, eviction=NONE, remedy=NONE, public="Nothing is left to apply."),
    Reason(ReasonCode.EXPIRED, ReasonClass.IN_FLIGHT, LEAST_DOMINANT, condition=NONE, stands=False,
           clause=NONE, victim_clause=NONE, eviction=NONE, remedy=NONE, public="It expired."),
    Reason(ReasonCode.NOT_NEEDED, ReasonClass.IN_FLIGHT, LEAST_DOMINANT, condition=NONE, stands=False,
           clause=NONE, victim_clause=NONE, eviction=NONE, remedy=NONE,
           public="The announced eviction is withdrawn."),
    Reason(ReasonCode.GONE, ReasonClass.IN_FLIGHT, LEAST_DOMINANT, condition=NONE, stands=False, clause=NONE,
           victim_clause=NONE, eviction=NONE, remedy=NONE, public="Its target no longer exists."),
)

REASONS: Final[Mapping[int, Reason]] = MappingProxyType({int(row.code): row for row in _ROWS})
"""Rows by number; a number of a newer version is missing."""
# fmt: on
GUARDED_ACTIONS: Final = frozenset({"consolidation", "preempt", "reclaim", "requeue"})
"""Built-in actions that guards protect from; a protection from all of them is one from all pod groups."""
UNKNOWN_CLAUSE: Final = "a scheduling rule rejects it"
UNKNOWN_PUBLIC: Final = "The scheduler rejected it."

_DOMINANCE: Final = [
    REASONS[n].dominance if n in REASONS else LEAST_DOMINANT for n in range(max(ReasonCode) + 1)
]


def dominance(code: ReasonCode) -> int:
    """Smaller for a finding that explains more."""
    return _DOMINANCE[code]
