"""One whole cluster for all stories; each has its own namespace, nodes and queues.

All stories run in one worker of pytest, which starts the cluster once.
"""

from collections.abc import Iterator
from itertools import count

import pytest

from tests.cluster.whole_cluster import WholeCluster, run_whole_cluster
from tests.e2e.cluster.device_driver import TAINT_RULES
from tests.e2e.cluster.story import Story
from tests.kubernetes.environment.audit_log import AuditLog
from tests.kubernetes.environment.binaries import required_cluster
from tests.kubernetes.environment.manifests import create
from tests.packaging.charts import render_chart

_CLASSES = {"train": 50, "urgent": 90, "inference": 125}
_numbers = count(1)


@pytest.fixture(scope="session")
def cluster_and_audit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[WholeCluster, AuditLog]]:
    folder = tmp_path_factory.mktemp("whole")
    audit = AuditLog(folder)
    chart = render_chart(("adapter.config.allocateDevices=true",))
    flags = (*audit.flags, *TAINT_RULES)
    with run_whole_cluster(required_cluster(), folder, *flags, chart=chart) as cluster:
        for name, value in _CLASSES.items():
            meta = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
            create(cluster.admin, {**meta, "value": value})
        yield cluster, audit
        for name, program in cluster.programs.items():
            if program.has_ended or name == "tenure adapter":
                print(name, program.output)


@pytest.fixture
def cluster(cluster_and_audit: tuple[WholeCluster, AuditLog]) -> WholeCluster:
    return cluster_and_audit[0]


@pytest.fixture
def audit(cluster_and_audit: tuple[WholeCluster, AuditLog]) -> AuditLog:
    return cluster_and_audit[1]


@pytest.fixture
def story(cluster: WholeCluster) -> Iterator[Story]:
    """An empty namespace with the queue q."""
    made = Story(cluster.admin, f"story-{next(_numbers)}")
    made.queue("q")
    yield made
    made.end_story()
