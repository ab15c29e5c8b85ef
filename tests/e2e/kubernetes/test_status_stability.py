"""Conditions and events do not flap: a condition that holds is written once, for any number of reconciles."""

from collections import Counter

import pytest
from tenure.client.client import Client
from tenure.kubernetes.api.transport import MERGE_PATCH

from tests.e2e.kubernetes.conftest import Adapter
from tests.kubernetes.cluster import PATIENCE_SECONDS, UserCluster, wait_until
from tests.kubernetes.environment.audit_log import AuditLog

pytestmark = pytest.mark.kube

ROUNDS = 10


def write_counts(audit: AuditLog, cluster: UserCluster) -> Counter[tuple[str, str]]:
    """Writes of the adapter by resource and name, without its lease and without workloads named last."""
    writes = audit.writes("adapter", cluster.namespace)
    about = ((write.resource, write.name) for write in writes if write.resource != "leases")
    return Counter(one for one in about if not one[1].startswith("last"))


def reconcile(cluster: UserCluster, client: Client) -> None:
    """Change a label of a node and wait until the adapter has told the server, several times."""

    def version() -> int:
        return client.get_state(cluster.namespace)[0].version

    for number in range(ROUNDS):
        seen = version()
        change = {"metadata": {"labels": {"touched": str(number)}}}
        cluster.transport.patch("/api/v1/nodes/n1", change, MERGE_PATCH)
        wait_until(lambda seen=seen: version() > seen)  # type: ignore[misc]


def test_ten_reconciles_without_changed_condition_write_nothing(
    cluster: UserCluster, adapter: Adapter, audit: AuditLog, server: str
) -> None:
    with adapter() as program:
        cluster.workload("runs", pods=1, gpus=6)
        wait_until(
            lambda: cluster.running("runs") and "last-start-timestamp" in cluster.annotations_of("runs")
        )
        program.terminate(PATIENCE_SECONDS)
    cluster.workload("waits", pods=2, gpus=2)  # complete at the start: half a gang has another reason
    cluster.workload("huge", pods=1, gpus=64)
    with adapter(), Client(server) as client:
        for name in ("waits", "huge"):
            why = wait_until(lambda name=name: cluster.reasons_of(name))  # type: ignore[misc]
            wait_until(lambda name=name, why=why: name in cluster.events(why))  # type: ignore[misc]
        before = write_counts(audit, cluster)
        reconcile(cluster, client)
        cluster.workload("last", pods=1, gpus=64)
        wait_until(lambda: "last" in cluster.events("NoNodeMatches"))  # after all earlier conditions
        assert write_counts(audit, cluster) == before
        assert before[("pods/status", "waits-0")] == before[("podgroups/status", "waits")] == 1
