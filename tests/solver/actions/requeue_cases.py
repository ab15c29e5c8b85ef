"""Clusters for the tests of requeue: one overdue pod group, and contenders for its capacity."""

from dataclasses import replace
from typing import Any, Final

from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult
from tenure.solver.model.requeue import Nomination
from tenure.solver.plugin_api.profile import CycleOptions, Profile
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder, statuses

OVERDUE: Final = {"queue": "a", "gpus": 1, "priority": 40, "expected_runtime": "30m", "started_ago": "1h"}
"""Half an hour past its expected runtime."""


def two_queues(**options: Any) -> ClusterBuilder:
    """One GPU within the quota of both queues, so that neither queue can reclaim it from the other.

    Queue b is older, so it comes first when both queues use nothing.
    """
    return ClusterBuilder().node("n", gpus=1).queue("b", quota=1).queue("a", quota=1, **options)


def only_requeue(**options: Any) -> Profile:
    """The default profile without the actions that would free the capacity before requeue."""
    profile = default_profile()
    return replace(profile, actions=("allocate", "requeue"), options=CycleOptions(**options))


def run_cycle(builder: ClusterBuilder, **options: Any) -> tuple[Cluster, CycleResult]:
    """Build the cluster and run a cycle on it."""
    cluster = builder.build()
    return cluster, answer(cluster, only_requeue(**options))


def nomination(builder: ClusterBuilder, **options: Any) -> Nomination:
    """Nomination of the only pod group with an expected runtime."""
    (found,) = run_cycle(builder, **options)[1].nominations
    return found


def statuses_after(builder: ClusterBuilder, **options: Any) -> dict[str, str]:
    """Status of every pod after the cycle, with its node if it has one: `RELEASING n`."""
    states = statuses(*run_cycle(builder, **options))
    return {uid: f"{state.status.name} {state.node}".strip() for uid, state in states.items()}
