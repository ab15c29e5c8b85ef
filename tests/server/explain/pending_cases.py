"""A pod group `job` that is pending for each possible reason, on small clusters."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.disruption_limits import EVICTION_RATES, EvictionRate, EvictionRateState
from tenure.solver.model.fate import HoldReason
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder
from tenure.solver.testing.facts import NOW
from tenure.terms.durations import SECOND

from tests.solver.plugins.guards.eviction_pair import index_of, with_eviction_record

DEFAULT = default_profile()
NON_PREEMPTIBLE = Preemptibility.NON_PREEMPTIBLE


class PendingCase(NamedTuple):
    """A cluster, the public text of the reason, and the kinds of remedies that work."""

    cluster: Callable[[], Cluster]
    public: str
    remedies: tuple[str, ...] = ()
    profile: Profile = DEFAULT


def single_queue(gpus: int = 2, **queue: object) -> ClusterBuilder:
    """Build one node and one queue."""
    return ClusterBuilder().node("n1", gpus=gpus).queue("q", **queue)


def full_node(**queue: object) -> ClusterBuilder:
    """Build a node whose only GPU is used by `old`, which has lower priority."""
    return single_queue(1, **queue).running("old", queue="q", gpus=1, node="n1", started_ago="5m")


def evicted_for_job(**options: object) -> Cluster:
    """`job` preempts `old`, which uses the GPU in the same queue."""
    builder = single_queue(1).running("old", queue="q", gpus=1, node="n1", **{"started_ago": "5m", **options})
    return builder.pending("job", queue="q", gpus=1, priority=60).build()


def preempting(**options: object) -> ClusterBuilder:
    return full_node().pending("job", queue="q", gpus=1, priority=60, **options)


def fixed_halves() -> ClusterBuilder:
    """Build two nodes with one free GPU each, and one used by a non-preemptible pod group."""
    builder = ClusterBuilder().queue("q", quota=4)
    for name in ("n1", "n2"):
        builder.node(name, gpus=2).running(
            f"on-{name}", queue="q", gpus=1, node=name, preemptibility=NON_PREEMPTIBLE
        )
    return builder


def two_queues(mine: float, theirs: float) -> ClusterBuilder:
    """Build two queues; `old` of the other queue uses both GPUs."""
    builder = ClusterBuilder().node("n1", gpus=2).queue("q", quota=mine).queue("other", quota=theirs)
    return builder.running("old", queue="other", gpus=1, count=2, node="n1")


def over_fair_share() -> ClusterBuilder:
    """Build two queues without a claim to unused quotas; `old` uses more than its quota, and all GPUs."""
    builder = ClusterBuilder().node("n1", gpus=12).queue("q", quota=4, weight=0)
    builder.queue("other", quota=4, weight=0).running("mine", queue="q", gpus=1, count=2, node="n1")
    return builder.running("old", queue="other", gpus=1, count=10, min_member=1, node="n1")


def with_recent_eviction(victim: str, preemptor: str, **fields: object) -> Cluster:
    return with_eviction_record(preempting().build(), victim, preemptor, evicted="30s", **fields)


def near_completion() -> Cluster:
    return (
        single_queue(1)
        .running("old", queue="q", gpus=1, node="n1", started_ago="55m", expected_runtime="1h")
        .pending("job", queue="q", gpus=1, priority=60)
        .build()
    )


def cooling_down() -> Cluster:
    return (
        single_queue(1)
        .running("old", queue="q", gpus=1, node="n1", started_ago="5m", evictions_without_progress=1)
        .pending("job", queue="q", gpus=1, priority=60)
        .build()
    )


VICTIM_COOLDOWN = replace(DEFAULT, plugins=(*DEFAULT.plugins, PluginConfig("victimcooldown")))
NEAR_COMPLETION = replace(DEFAULT, plugins=(*DEFAULT.plugins, PluginConfig("nearcompletion")))
WITHIN_QUEUE = replace(DEFAULT, actions=("allocate", "preempt"))
NO_SEARCH = replace(DEFAULT, options=replace(DEFAULT.options, max_simulations_per_pod_group=0))

SLOW = EvictionRate("slow", 1, 3_600 * SECOND, 1)
RATED = replace(WITHIN_QUEUE, options=replace(DEFAULT.options, eviction_rates=(SLOW,)))


def budgeted() -> Cluster:
    """`old` has a disruption budget that allows nothing."""
    builder = single_queue(1).disruption_budget("web", 0)
    builder.running("old", queue="q", gpus=1, node="n1", started_ago="5m", disruption_budgets=["web"])
    return builder.pending("job", queue="q", gpus=1, priority=60).build()


CASES: Mapping[str, PendingCase] = {
    "ALLOCATED": PendingCase(
        lambda: single_queue().pending("job", queue="q", gpus=1).build(),
        "is scheduled: 1 pod bound to free capacity",
    ),
    "PIPELINED": PendingCase(
        lambda: (
            single_queue(1)
            .pods("old", TaskStatus.RELEASING, queue="q", gpus=1, node="n1")
            .pending("job", queue="q", gpus=1)
            .build()
        ),
        "waits for terminating pods to release their resources",
    ),
    "VICTIMS_EVICTED": PendingCase(
        lambda: preempting().build(), "waits for 1 pod of other pod groups to terminate"
    ),
    "NOT_READY": PendingCase(
        lambda: single_queue().pod_group("job", queue="q", min_member=2).pending("job", gpus=1).build(),
        "fewer schedulable pods than its minimum",
        ("REDUCE_MINIMUM",),
    ),
    "INVALID_QUEUE": PendingCase(
        lambda: single_queue().queue("below", parent="q").pending("job", queue="q", gpus=1).build(),
        "its queue has child queues, and takes no pod groups itself",
    ),
    "OVER_LIMIT": PendingCase(
        lambda: single_queue(limit=1).pending("job", queue="q", gpus=2).build(),
        "it would exceed the limit of its queue",
        ("RAISE_LIMIT",),
    ),
    "NON_PREEMPTIBLE_OVER_QUOTA": PendingCase(
        lambda: (
            single_queue(quota=1).pending("job", queue="q", gpus=2, preemptibility=NON_PREEMPTIBLE).build()
        ),
        "its non-preemptible pods would exceed the quota",
        ("MAKE_PREEMPTIBLE", "RAISE_QUOTA"),
    ),
    "OVER_FAIR_SHARE": PendingCase(
        lambda: over_fair_share().pending("job", queue="q", gpus=1, count=3).build(),
        "its fair share, so no pods of other queues are evicted for it",
        ("REDUCE_MINIMUM", "RAISE_QUOTA", "ADD_NODES"),
    ),
    "NO_NODE_MATCHES": PendingCase(
        lambda: single_queue().pending("job", queue="q", gpus=1, node_selector={"zone": "a"}).build(),
        "no node meets its requirements, even when empty",
    ),
    "NO_CAPACITY": PendingCase(
        lambda: full_node().pending("job", queue="q", gpus=1, priority=50).build(),
        "no node that it may use can take its pods now",
        ("RAISE_PRIORITY", "ADD_NODES"),
        WITHIN_QUEUE,
    ),
    "QUEUE_ORDER": PendingCase(
        lambda: (
            single_queue(1)
            .pending("first", queue="q", gpus=1, priority=60)
            .pending("job", queue="q", gpus=1, priority=50)
            .build()
        ),
        "capacity goes first to pod groups that precede it",
        ("RAISE_PRIORITY", "ADD_NODES"),
    ),
    "FRAGMENTED": PendingCase(
        lambda: fixed_halves().pending("job", queue="q", gpus=2).build(),
        "enough GPUs are free, but too few on one node",
        ("ADD_NODES",),
    ),
    "BUDGET_EXHAUSTED": PendingCase(
        lambda: preempting().build(), "the search stopped before it was complete", ("ADD_NODES",), NO_SEARCH
    ),
    "PREEMPTION_DELAY": PendingCase(
        lambda: preempting(preemption_delay="25h").build(),
        "its preemption delay has not elapsed",
        ("WAIT", "ADD_NODES"),
    ),
    "MIN_RUNTIME": PendingCase(
        lambda: full_node(preempt_min_runtime="10m").pending("job", queue="q", gpus=1, priority=60).build(),
        "the candidates have not reached their minimum runtime",
        ("WAIT", "ADD_NODES"),
    ),
    "NEAR_COMPLETION": PendingCase(
        near_completion, "close to their expected end", ("WAIT", "ADD_NODES"), NEAR_COMPLETION
    ),
    "VICTIM_COOLDOWN": PendingCase(
        cooling_down, "just started again after evictions", ("WAIT", "ADD_NODES"), VICTIM_COOLDOWN
    ),
    "DISRUPTION_BUDGET": PendingCase(
        budgeted, "disruption budgets of the candidates allow no more disruptions", ("ADD_NODES",)
    ),
    "EVICTION_RATE": PendingCase(
        lambda: preempting().carrying(EVICTION_RATES, EvictionRateState("slow", 0, NOW)).build(),
        "a limit for evictions is reached",
        ("WAIT", "ADD_NODES"),
        RATED,
    ),
    "EVICTION_COOLDOWN": PendingCase(
        lambda: with_recent_eviction("job", "old"),
        "it was recently evicted for the candidates",
        ("WAIT", "ADD_NODES"),
    ),
    "EVICTION_BACKOFF": PendingCase(
        lambda: with_recent_eviction("old", "job", consecutive_failures=1),
        "evicting the candidates was recently ineffective",
        ("WAIT", "ADD_NODES"),
    ),
    "WITHIN_FAIR_SHARE": PendingCase(
        lambda: two_queues(2, 2).pending("job", queue="q", gpus=1).build(),
        "the other queues are within their fair share",
        ("ADD_NODES",),
    ),
    "BLOCKED": PendingCase(
        lambda: single_queue().pending("job", queue="q", gpus=1, blocked_reason="a volume").build(),
        "a resource required by one of its pods is missing",
    ),
    "KEPT_FOR_LENDER": PendingCase(
        lambda: (
            single_queue(4, quota=0)
            .queue("lender", quota=2, lending_limit=1)
            .pending("job", queue="q", gpus=4)
            .build()
        ),
        "other queues keep a part of their quota",
        ("ADD_NODES",),
    ),
    "NOT_BEFORE": PendingCase(
        lambda: single_queue().pending("job", queue="q", gpus=1, start_in="10m").build(),
        "it may not start yet",
        ("WAIT",),
    ),
    "HELD": PendingCase(
        lambda: single_queue().pending("job", queue="q", gpus=1, held_by=HoldReason.EVICTED).build(),
        "it is held",
    ),
}
"""Cases by the name of the reason code."""


def index(cluster: Cluster, name: str = "job") -> int:
    """Return the index of the pod group with this name."""
    return index_of(cluster, name)
