"""The tests of `tests/requirements/test_api_server.py` on a real API server."""

import json
from pathlib import Path

import pytest
from tenure.kubernetes.api.api_errors import RequestRejected

from tests.kubernetes.adapter.adapter_stage import Stage
from tests.kubernetes.cluster import UserCluster, wait_until
from tests.kubernetes.environment.control_plane import ControlPlane
from tests.requirements.conftest import tenure
from tests.requirements.test_api_server import (
    CLASSES,
    test_migration_keeps_every_decision,
    test_preemptibility_counts_where_users_write_it,
    test_queue_of_the_example_protects_for_20_and_30_seconds,
    test_start_is_a_readable_annotation_and_the_outcome_a_condition,
)

pytestmark = pytest.mark.kube
__all__ = [
    "tenure",
    "test_migration_keeps_every_decision",
    "test_preemptibility_counts_where_users_write_it",
    "test_queue_of_the_example_protects_for_20_and_30_seconds",
    "test_start_is_a_readable_annotation_and_the_outcome_a_condition",
]


def admitted_priority(cluster: UserCluster, priority_class: str) -> int | None:
    """The priority that a pod of a class would get; None while the API server does not admit the class."""
    spec = {"priorityClassName": priority_class, "containers": [{"name": "main", "image": "none"}]}
    try:
        made = cluster.transport.post(
            cluster.pods_path, {"metadata": {"name": "asks"}, "spec": spec}, {"dryRun": "All"}
        )
    except RequestRejected:
        return None
    return int(json.loads(made)["spec"]["priority"])


@pytest.fixture
def stage(plane: ControlPlane, namespace_only: UserCluster, server: str, tmp_path: Path) -> Stage:
    """The namespace of `namespace_only` with what `open_stage` creates on the fake API server."""
    cluster = namespace_only
    cluster.node("n1", gpus=8)
    cluster.priorities(low=10, high=90, **CLASSES)
    for name, value in CLASSES.items():
        wait_until(lambda name=name, value=value: admitted_priority(cluster, name) == value)  # type: ignore[misc]
    for queue in ("q", "other"):
        cluster.queue(queue, gpus=8)
    return Stage(plane, cluster, server, dict.fromkeys(("clusterId", "namespace"), cluster.namespace))
