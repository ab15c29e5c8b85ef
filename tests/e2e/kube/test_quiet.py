"""Conditions and events do not flap: what holds is written once, however many rounds find it anew."""

import time
from collections import Counter

import pytest
from tenure.client.client import Client
from tenure.client.kubernetes.transport import MERGE_PATCH

from tests.e2e.kube.conftest import Adapter
from tests.kube.audit import Audit
from tests.kube.cluster import PATIENCE_SECONDS, Cluster, eventually

pytestmark = pytest.mark.kube

ROUNDS = 10


def test_ten_rounds_that_change_no_verdict_write_nothing(
    cluster: Cluster, adapter: Adapter, audit: Audit, server: str
) -> None:
    def written() -> Counter[tuple[str, str]]:
        writes = audit.writes("adapter", cluster.namespace)
        return Counter((write.resource, write.name) for write in writes if write.resource != "leases")

    def version() -> int:
        return client.get_state(cluster.namespace)[0].version

    with adapter() as program:
        cluster.workload("runs", pods=1, gpus=6)
        eventually(lambda: cluster.running("runs") and "last-start-timestamp" in cluster.noted("runs"))
        program.terminate(PATIENCE_SECONDS)
    cluster.workload("waits", pods=2, gpus=2)  # whole before anybody looks: half of it has another verdict
    cluster.workload("huge", pods=1, gpus=64)
    with adapter(), Client(server) as client:
        for name in ("waits", "huge"):
            why = eventually(lambda name=name: cluster.why(name))  # type: ignore[misc]
            eventually(lambda name=name, why=why: name in cluster.events(why))  # type: ignore[misc]
        time.sleep(1)
        before = written()
        for number in range(ROUNDS):
            seen = version()
            change = {"metadata": {"labels": {"touched": str(number)}}}
            cluster.transport.patch("/api/v1/nodes/n1", change, MERGE_PATCH)
            eventually(lambda seen=seen: version() > seen)  # type: ignore[misc]
        assert written() == before
        assert before[("pods/status", "waits-0")] == before[("podgroups/status", "waits")] == 1
