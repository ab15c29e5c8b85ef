"""A complete adapter with lost, rejected, slow and interrupted calls applies every decision exactly once."""

import time
from collections.abc import Callable

import pytest
from tenure.kubernetes.api.transport import MERGE_PATCH

from tests.kubernetes.adapter.adapter_stage import NAMESPACE, AdapterStage, most_attempts
from tests.kubernetes.cluster import wait_until

_LEDGER = "*/configmaps/*"
FAULTS: dict[str, Callable[[AdapterStage], None]] = {
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
def test_every_decision_is_applied_once_despite_the_fault(
    stage: AdapterStage, fault: Callable[[AdapterStage], None]
) -> None:
    cluster = stage.cluster
    cluster.workload("gang", pods=2, gpus=4)
    with stage.adapter():
        wait_until(lambda: cluster.running("gang") == 2)
        fault(stage)
        cluster.workload("urgent", pods=1, gpus=4, priority="high")
        wait_until(lambda: cluster.running("urgent") == 1)
        wait_until(lambda: cluster.annotations_of("gang").get("eviction-count") == "1")
        wait_until(lambda: stage.api.faults.left == 0)
    assert cluster.annotations_of("gang")["eviction-count"] == "1"
    assert stage.sent("eviction") == ["gang-0", "gang-1"]
    assert stage.sent("binding") == ["gang-0", "gang-1", "urgent-0"]


def test_refused_binding_is_tried_after_a_pause_that_other_changes_do_not_shorten(
    stage: AdapterStage,
) -> None:
    cluster = stage.cluster
    stage.api.faults.refuse("POST", "*/refused-0/binding", 403, times=1000)
    began = time.monotonic()
    with stage.adapter():
        cluster.workload("refused", pods=1, gpus=1)
        wait_until(lambda: cluster.events("BindingFailed") == ["refused-0"])
        wait_until(lambda: "its binding to n1 failed" in str(cluster.conditions_of("refused")))
        for number in range(5):
            cluster.workload(f"other-{number}", pods=1, gpus=1)
            wait_until(lambda number=number: cluster.bound(f"other-{number}") == 1)  # type: ignore[misc]
        assert stage.sent("binding").count("refused-0") <= most_attempts(time.monotonic() - began)


def test_blocked_eviction_is_retried_after_the_time_in_the_response(stage: AdapterStage) -> None:
    cluster = stage.cluster
    cluster.workload("gang", pods=2, gpus=4)
    with stage.adapter():
        wait_until(lambda: cluster.running("gang") == 2)
        stage.api.faults.refuse("POST", "*/gang-0/eviction", 429, retry_after=1)
        cluster.workload("urgent", pods=1, gpus=4, priority="high")
        wait_until(lambda: cluster.running("urgent") == 1)
        wait_until(lambda: stage.sent("eviction") == ["gang-0", "gang-0", "gang-1"])


def test_adapter_that_lost_its_lease_is_standby_and_ready(stage: AdapterStage) -> None:
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/tenure"
    with stage.adapter() as adapter:
        wait_until(lambda: adapter._loop._term is not None and adapter.health() == ("", ""))
        stage.cluster.transport.patch(lease, {"spec": {"holderIdentity": "other"}}, MERGE_PATCH)
        wait_until(lambda: adapter._loop._term is None)
        wait_until(lambda: adapter.health() == ("", ""))
