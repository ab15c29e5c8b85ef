"""Clusters with a pod group past its expected runtime.

The queue of the contender comes first among equals, so it holds the capacity afterwards.
"""

from typing import Any, Final

from tests.requirements.cluster import ClusterText

REQUEUE: Final = ("allocate", "requeue")

"""Without the actions that could take the capacity before requeue."""

EXPECTED: Final = "kai.scheduler/expected-runtime"

DELAY: Final = "kai.scheduler/requeue-delay"

NOT_BEFORE: Final = "kai.scheduler/requeue-not-before"

CONTENDER: Final[dict[str, Any]] = {"priority": 75, "mode": "PREEMPTIBLE"}


def two_queues(gpus: int = 1, **queue: Any) -> ClusterText:
    """One node within the quota of both queues, so that neither can reclaim from the other."""
    cluster = ClusterText().node(gpus=gpus).queue("b", quota=gpus).queue("a", quota=gpus, **queue)
    cluster.snapshot.queues[0].priority = 200
    return cluster


def overdue(gpus: int = 1, values: dict[str, Any] | None = None, **job: Any) -> ClusterText:
    """`old` of queue `a`, which has these values, is half an hour past its expected runtime."""
    return two_queues(gpus, **(values or {})).runs(
        "old", "a", **{"expected_runtime": "30m", "mode": "PREEMPTIBLE", **job}
    )


def contended(queue: str = "b", **job: Any) -> ClusterText:
    return overdue(**job).waits("new", queue, **CONTENDER)


def annotated(**annotations: Any) -> ClusterText:
    """`old` ran for two days and has only these annotations; its queue has a delay of ten minutes."""
    keys = {"expected": EXPECTED, "delay": DELAY, "not_before": NOT_BEFORE}
    cluster = two_queues(requeue_delay="10m")
    cluster.runs(
        "old", "a", ran="2d", mode="PREEMPTIBLE", annotations={keys[k]: v for k, v in annotations.items()}
    )
    return cluster.waits("new", "b", **CONTENDER)
