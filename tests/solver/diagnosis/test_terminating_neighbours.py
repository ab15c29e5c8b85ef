"""Of a pod that only relations to terminating pods keep away: it fits once they are gone (R13.40)."""

from typing import Final

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.constraints import HostPort
from tenure.solver.model.decision import PodGroupOutcome
from tenure.solver.model.placement import TaskStatus
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder
from tenure.terms.reasons import ReasonCode

PORT: Final = [HostPort(80, "TCP")]
ONCE_GONE: Final = "; it fits once terminating pods are gone, but another pod group may come first"


def neighbours(status: TaskStatus, gpus: int = 8, **first: int) -> Cluster:
    """A pod that needs a host port, which one with this status has; `first` waits before it."""
    made = ClusterBuilder().node("n0", gpus=gpus).queue("q", quota=8)
    made.pods("old", status, node="n0", queue="q", gpus=1, priority=120, host_ports=PORT)
    for name, wanted in first.items():
        made.pending(name, queue="q", gpus=wanted, priority=120)
    return made.pending("new", queue="q", gpus=1, priority=110, host_ports=PORT).build()


def outcome_of_new(cluster: Cluster) -> PodGroupOutcome:
    new = next(group.index for group in cluster.pod_groups if group.facts.name == "new")
    return next(each for each in answer(cluster, default_profile()).outcomes if each.pod_group == new)


def test_terminating_pods_that_keep_it_away_are_said() -> None:
    reason = outcome_of_new(neighbours(TaskStatus.RELEASING)).reason
    assert (reason.code, reason.source) == (ReasonCode.NO_CAPACITY, "release")
    assert reason.detail == f"its host ports are in use on node n0{ONCE_GONE}"


@pytest.mark.parametrize(
    "cluster",
    [
        pytest.param(neighbours(TaskStatus.RUNNING), id="the other pod runs on"),
        pytest.param(neighbours(TaskStatus.RELEASING, gpus=2, other=2), id="another pod takes its place"),
    ],
)
def test_nothing_is_promised_that_would_not_come(cluster: Cluster) -> None:
    assert ONCE_GONE not in outcome_of_new(cluster).reason.detail
