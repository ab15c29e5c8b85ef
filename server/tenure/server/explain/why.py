"""Clauses for every reason code: why a pod group waits, may not ask, or may not yield."""

from collections.abc import Mapping
from typing import Final

from tenure.server.explain.names import Names
from tenure.server.explain.text import Text, joined, moment, same, say
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.guard import GuardVerdict, Scope
from tenure.solver.model.reason import ReasonCode, Rejection

_WAITS: Final[Mapping[ReasonCode, str]] = {
    ReasonCode.NOT_READY: "it has fewer pods that can be scheduled than its minimum",
    ReasonCode.INVALID_QUEUE: "its queue does not exist or has child queues",
    ReasonCode.OVER_LIMIT: "with it, {queue} or one above would use more than its limit",
    ReasonCode.NON_PREEMPTIBLE_OVER_QUOTA: (
        "what of it cannot be taken back would exceed the quota of {queue} or one above"
    ),
    ReasonCode.OVER_FAIR_SHARE: (
        "with it, {queue} would use more than its fair share, so it may not take room from other queues"
    ),
    ReasonCode.NO_NODE_MATCHES: "no node could run it, not even an empty one",
    ReasonCode.NO_ROOM: "no node that it may use has enough free room",
    ReasonCode.NO_SOLUTION: "no evictions that all rules allow would make room for it",
    ReasonCode.BUDGET_EXHAUSTED: "the search ended before it was complete; it may still find room",
    ReasonCode.PREEMPTION_DELAY: "it may not cause evictions before its preemption delay is over",
    ReasonCode.SIMILAR_FAILED: "another workload of {queue} that asks for no more just found no room either",
    ReasonCode.MIN_RUNTIME: "those that might yield to it have not run for their guaranteed minimum",
    ReasonCode.NEAR_END: "those that might yield to it are close to their expected end",
    ReasonCode.EVICTION_COOLDOWN: "it was itself evicted a short time ago for those that might yield to it",
    ReasonCode.EVICTION_BACKOFF: "evicting those that might yield to it came to nothing before",
    ReasonCode.WITHIN_SHARE: "the other queues are within their share",
    ReasonCode.BLOCKED: "something that one of its pods needs is missing",
}
"""Why a pod group waits."""

_STAYS: Final[Mapping[ReasonCode, str]] = {
    ReasonCode.NON_PREEMPTIBLE: "it is not preemptible",
    ReasonCode.OPTED_OUT: "it opts out of being a victim of {action}",
    ReasonCode.MIN_RUNTIME: "it has not run for its guaranteed minimum",
    ReasonCode.PRIORITY: "its priority is not lower than that of the one that waits",
    ReasonCode.WITHIN_SHARE: "its queue is within its share",
    ReasonCode.OVER_FAIR_SHARE: "its queue would be left worse off than the queue of the one that waits",
    ReasonCode.EVICTION_LIMIT: "it was evicted often enough",
    ReasonCode.NEAR_END: "its expected end is near",
    ReasonCode.WAIT_LIMIT: "it has waited long enough after evictions",
    ReasonCode.EVICTION_COOLDOWN: "the one that waits was evicted for it a short time ago",
    ReasonCode.EVICTION_BACKOFF: "evicting it for the one that waits came to nothing before",
    ReasonCode.NO_SOLUTION: "evicting it alone would not make enough room",
}
"""Why a pod group is not evicted."""

_OWN_DETAIL: Final = (ReasonCode.OVER_LIMIT, ReasonCode.NON_PREEMPTIBLE_OVER_QUOTA)
"""What proportion says of these names queues above the pod group and nobody else."""
_UNKNOWN: Final = "a rule speaks against it"


def waits(cluster: Cluster, names: Names, pod_group: int, rejection: Rejection) -> Text:
    """Why this pod group waits, or may not ask anybody, as a clause; operators read the words of the rule."""
    group = cluster.pod_groups[pod_group]
    queue = same("its queue") if group.queue is None else names.queue(group.queue)
    told = say(_WAITS.get(rejection.code, _UNKNOWN), queue=queue)
    detail = rejection.detail.rstrip(".")
    is_known = rejection.code in _OWN_DETAIL and rejection.source == "proportion"
    is_given = rejection.code is ReasonCode.BLOCKED and not rejection.source
    if pod_group == names.own and (is_known or is_given):
        told = Text(told.public, detail, detail)
    elif detail and detail not in told.operator:
        told = Text(told.public, told.tenant, f"{told.operator} ({_signed(rejection)})")
    return joined([told, _until(rejection)])


def stays(names: Names, rejection: Rejection, action: str, verdict: GuardVerdict | None) -> Text:
    """Why a pod group is not evicted, as a clause; `verdict` is that of the guard that objects."""
    told = say(
        _STAYS.get(rejection.code, _WAITS.get(rejection.code, _UNKNOWN)), action=action, queue="its queue"
    )
    if rejection.code not in _STAYS and rejection.detail:
        told = Text(told.public, told.tenant, f"{told.operator} ({_signed(rejection)})")
    if verdict is None:
        return joined([told, _until(rejection)])
    if verdict.scope is Scope.CORE:
        told = say("{told}, and it has nothing beyond its minimum", told=told)
    end = f"until {moment(verdict.until)}, " if verdict.until is not None else ""
    return say("{told} ({end}says {source})", told=told, end=end, source=names.source(verdict.source))


def timeless(detail: str) -> str:
    """The words of a rule without how long is left: the time itself is said beside them."""
    return detail.rstrip(".").partition(" for another ")[0]


def _until(rejection: Rejection) -> Text:
    return same("" if rejection.until is None else f"(until {moment(rejection.until)})")


def _signed(rejection: Rejection) -> str:
    """The words of the rule, and who says them."""
    detail = timeless(rejection.detail)
    return f"{rejection.source}: {detail}" if rejection.source else detail
