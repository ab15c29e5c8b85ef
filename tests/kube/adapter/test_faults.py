"""A whole adapter while calls are lost, refused, slow or broken: everything comes about, and once only."""

from collections.abc import Callable

import pytest
from tenure.client.kubernetes.transport import MERGE_PATCH

from tests.kube.adapter.stage import NAMESPACE, Stage
from tests.kube.cluster import eventually

_LEDGER = "*/configmaps/*"
FAULTS: dict[str, Callable[[Stage], None]] = {
    "the answer to an eviction is lost": lambda stage: stage.api.faults.cut("POST", "*/gang-0/eviction"),
    "the answer to a binding is lost": lambda stage: stage.api.faults.cut("POST", "*/urgent-0/binding"),
    "an answer breaks off in the middle": lambda stage: stage.api.faults.cut("PUT", _LEDGER, after=100),
    "the ledger cannot be stored": lambda stage: stage.api.faults.refuse("PUT", _LEDGER, 500),
    "the annotations are in somebody's way": lambda stage: stage.api.faults.refuse(
        "PATCH", "*/podgroups/gang", 409, times=2
    ),
    "the lease cannot be renewed": lambda stage: stage.api.faults.refuse("PUT", "*/leases/*", 500),
    "watches break": lambda stage: stage.api.break_watches(),
    "watches break and cannot resume": lambda stage: stage.api.compact(),
    "evictions are slow": lambda stage: stage.api.faults.slow("POST", "*/eviction", 0.3, times=2),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_it_comes_about_once(stage: Stage, fault: Callable[[Stage], None]) -> None:
    cluster = stage.cluster
    cluster.workload("gang", pods=2, gpus=4)
    with stage.adapter():
        eventually(lambda: cluster.running("gang") == 2)
        fault(stage)
        cluster.workload("urgent", pods=1, gpus=4, priority="high")
        eventually(lambda: cluster.running("urgent") == 1)
        eventually(lambda: "last-eviction-timestamp" in cluster.noted("gang"))
        eventually(lambda: stage.api.faults.left == 0)
    assert cluster.noted("gang")["eviction-count"] == "1"
    assert stage.sent("eviction") == ["gang-0", "gang-1"]
    assert stage.sent("binding") == ["gang-0", "gang-1", "urgent-0"]


def test_an_eviction_that_is_refused_is_sent_again_when_the_cluster_says(stage: Stage) -> None:
    cluster = stage.cluster
    cluster.workload("gang", pods=2, gpus=4)
    with stage.adapter():
        eventually(lambda: cluster.running("gang") == 2)
        stage.api.faults.refuse("POST", "*/gang-0/eviction", 429, retry_after=1)
        cluster.workload("urgent", pods=1, gpus=4, priority="high")
        eventually(lambda: cluster.running("urgent") == 1)
        eventually(lambda: stage.sent("eviction") == ["gang-0", "gang-0", "gang-1"])


def test_who_sees_its_lease_with_somebody_else_waits_its_turn_and_is_ready(stage: Stage) -> None:
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/tenure"
    with stage.adapter() as adapter:
        eventually(lambda: adapter._term is not None and adapter.health() == ("", ""))
        stage.cluster.transport.patch(lease, {"spec": {"holderIdentity": "other"}}, MERGE_PATCH)
        eventually(lambda: adapter._term is None)
        assert adapter.health() == ("", "")
