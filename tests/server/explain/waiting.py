"""A pod group `job` that waits for every reason there is, on clusters of a few lines."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from tenure.solver.framework.profile import PluginSetting, Profile
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.workload import Preemptibility
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder

from tests.unit.plugins.two_memories import index_of, remembering

DEFAULT = default_profile()
FIRM = Preemptibility.NON_PREEMPTIBLE


class Case(NamedTuple):
    """A cluster, what everybody may read, and the kinds of remedies that work."""

    cluster: Callable[[], Cluster]
    public: str
    remedies: tuple[str, ...] = ()
    profile: Profile = DEFAULT


def alone(gpus: int = 2, **queue: object) -> ClusterBuilder:
    """One node, one queue."""
    return ClusterBuilder().node("n1", gpus=gpus).queue("q", **queue)


def crowded(**queue: object) -> ClusterBuilder:
    """`old`, of lower priority, has the only GPU."""
    return alone(1, **queue).running("old", queue="q", gpus=1, node="n1", started_ago="5m")


def asking(**options: object) -> ClusterBuilder:
    return crowded().pending("job", queue="q", gpus=1, priority=60, **options)


def two_queues(mine: float, theirs: float) -> ClusterBuilder:
    """`old` of another queue has both GPUs."""
    builder = ClusterBuilder().node("n1", gpus=2).queue("q", quota=mine).queue("other", quota=theirs)
    return builder.running("old", queue="other", gpus=1, count=2, node="n1")


def remembered(victim: str, preemptor: str, **fields: object) -> Cluster:
    return remembering(asking().build(), victim, preemptor, evicted="30s", **fields)


def near_end() -> Cluster:
    return (
        alone(1)
        .running("old", queue="q", gpus=1, node="n1", started_ago="55m", expected_runtime="1h")
        .pending("job", queue="q", gpus=1, priority=60)
        .build()
    )


NEAR_END = replace(DEFAULT, plugins=(*DEFAULT.plugins, PluginSetting("nearend")))
WITHIN_QUEUE = replace(DEFAULT, actions=("allocate", "preempt"))
NO_SEARCH = replace(DEFAULT, options=replace(DEFAULT.options, max_simulations_per_pod_group=0))

CASES: Mapping[str, Case] = {
    "ALLOCATED": Case(
        lambda: alone().pending("job", queue="q", gpus=1).build(), "starts now: there is room for 1 pod"
    ),
    "PIPELINED": Case(
        lambda: (
            alone(1)
            .pods("old", TaskStatus.RELEASING, queue="q", gpus=1, node="n1")
            .pending("job", queue="q", gpus=1)
            .build()
        ),
        "starts as soon as pods that are already terminating have left",
    ),
    "VICTIMS_EVICTED": Case(lambda: asking().build(), "starts as soon as 1 pod of others have left"),
    "NOT_READY": Case(
        lambda: alone().pod_group("job", queue="q", min_member=2).pending("job", gpus=1).build(),
        "fewer pods that can be scheduled than its minimum",
        ("ASK_FOR_LESS",),
    ),
    "INVALID_QUEUE": Case(
        lambda: alone().queue("below", parent="q").pending("job", queue="q", gpus=1).build(),
        "its queue does not exist or has child queues",
    ),
    "OVER_LIMIT": Case(
        lambda: alone(limit=1).pending("job", queue="q", gpus=2).build(),
        "would use more than its limit",
        ("LIMIT",),
    ),
    "NON_PREEMPTIBLE_OVER_QUOTA": Case(
        lambda: alone(quota=1).pending("job", queue="q", gpus=2, preemptibility=FIRM).build(),
        "what of it cannot be taken back would exceed the quota",
        ("PREEMPTIBLE", "QUOTA"),
    ),
    "OVER_FAIR_SHARE": Case(
        lambda: two_queues(1, 2).pending("job", queue="q", gpus=1, count=2).build(),
        "more than its fair share, so it may not take room from other queues",
        ("NODES",),
    ),
    "NO_NODE_MATCHES": Case(
        lambda: alone().pending("job", queue="q", gpus=1, node_selector={"zone": "a"}).build(),
        "no node could run it, not even an empty one",
    ),
    "NO_ROOM": Case(
        lambda: asking().build(),
        "no node that it may use has enough free room",
        ("NODES",),
        replace(DEFAULT, actions=("allocate",)),
    ),
    "NO_SOLUTION": Case(
        lambda: crowded().pending("job", queue="q", gpus=1, priority=50).build(),
        "no evictions that all rules allow would make room",
        ("PRIORITY", "NODES"),
        WITHIN_QUEUE,
    ),
    "BUDGET_EXHAUSTED": Case(
        lambda: asking().build(), "the search ended before it was complete", ("NODES",), NO_SEARCH
    ),
    "PREEMPTION_DELAY": Case(
        lambda: asking(preemption_delay="25h").build(),
        "before its preemption delay is over",
        ("WAIT", "NODES"),
    ),
    "SIMILAR_FAILED": Case(
        lambda: (
            crowded()
            .pending("first", queue="q", gpus=1, priority=50)
            .pending("job", queue="q", gpus=1, priority=50)
            .build()
        ),
        "another workload of its queue that asks for no more just found no room either",
        ("PRIORITY", "NODES"),
        WITHIN_QUEUE,
    ),
    "MIN_RUNTIME": Case(
        lambda: crowded(preempt_min_runtime="10m").pending("job", queue="q", gpus=1, priority=60).build(),
        "those that might yield to it have not run for their guaranteed minimum",
        ("WAIT", "NODES"),
    ),
    "NEAR_END": Case(near_end, "close to their expected end", ("WAIT", "NODES"), NEAR_END),
    "EVICTION_COOLDOWN": Case(
        lambda: remembered("job", "old"), "it was itself evicted a short time ago", ("WAIT", "NODES")
    ),
    "EVICTION_BACKOFF": Case(
        lambda: remembered("old", "job", failures=1), "came to nothing before", ("WAIT", "NODES")
    ),
    "WITHIN_SHARE": Case(
        lambda: two_queues(2, 2).pending("job", queue="q", gpus=1).build(),
        "the other queues are within their share",
        ("NODES",),
    ),
    "BLOCKED": Case(
        lambda: alone().pending("job", queue="q", gpus=1, blocked_by="a volume").build(),
        "something that one of its pods needs is missing",
    ),
}
"""By the name of the reason code."""


def index(cluster: Cluster, name: str = "job") -> int:
    """The pod group of this name."""
    return index_of(cluster, name)
