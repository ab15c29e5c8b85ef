"""What a tenant writes on a running workload does not keep the GPUs that another queue lent it."""

from typing import Any, Final

import pytest
from tenure.kubernetes.api.transport import MERGE_PATCH, Transport
from tenure.terms.annotations import key_of

from tests.e2e.kubernetes.conftest import Adapter
from tests.kubernetes.cluster import UserCluster, is_bound, wait_until
from tests.kubernetes.environment.resource_definitions import KAI_POD_GROUP

pytestmark = pytest.mark.kube

GRANT: Final = key_of("grant")
PREEMPTIBILITY: Final = key_of("preemptibility")
FORGED: Final = '{"queue": "borrows", "preemptibility": "PREEMPTIBILITY_NON_PREEMPTIBLE"}'
LEVERS: Final[dict[str, dict[str, Any]]] = {
    "non-preemptible": {"spec": {"preemptibility": "non-preemptible"}},
    "semi-preemptible": {
        "metadata": {"annotations": {PREEMPTIBILITY: "semi-preemptible"}},
        "spec": {"preemptibility": None},
    },
    "an annotation without a meaning": {
        "metadata": {"annotations": {PREEMPTIBILITY: "mine"}},
        "spec": {"preemptibility": None},
    },
    "a class that protects": {"spec": {"preemptibility": None, "priorityClassName": "protects"}},
    "a forged grant": {
        "metadata": {"annotations": {GRANT: FORGED}},
        "spec": {"preemptibility": "non-preemptible"},
    },
    "no grant any more": {
        "metadata": {"annotations": {GRANT: None, key_of("signature"): None}},
        "spec": {"preemptibility": "non-preemptible"},
    },
}


@pytest.fixture
def queues(cluster: UserCluster) -> UserCluster:
    """A queue with the quota of all eight GPUs, and one without."""
    cluster.queue("lends", gpus=8)
    cluster.queue("borrows", gpus=0)
    cluster.priorities(protects=125)
    return cluster


def write(cluster: UserCluster, tenant: Transport, name: str, body: dict[str, Any]) -> None:
    tenant.patch(f"{cluster.path(KAI_POD_GROUP)}/{name}", body, MERGE_PATCH)


@pytest.mark.parametrize("lever", LEVERS.values(), ids=LEVERS)
def test_borrowed_gpus_return_whatever_their_user_writes(
    queues: UserCluster, adapter: Adapter, tenant: Transport, lever: dict[str, Any]
) -> None:
    with adapter():
        queues.workload("guest", pods=1, gpus=8, queue="borrows")
        wait_until(lambda: queues.running("guest") == 1)
        wait_until(lambda: "grant" in queues.annotations_of("guest"))
        write(queues, tenant, "guest", lever)
        queues.workload("owner", pods=1, gpus=8, queue="lends")
        wait_until(lambda: queues.running("owner") == 1)


def test_pod_without_a_pod_group_returns_them_likewise(
    queues: UserCluster, adapter: Adapter, tenant: Transport
) -> None:
    """The adapter stores its grant in the journal, so it counts after a restart, too."""
    labels = {"kai.scheduler/queue": "borrows", PREEMPTIBILITY: "preemptible"}
    with adapter():
        queues.pod("guest", 8, labels=labels)
        wait_until(lambda: queues.running("guest") == 1 or is_bound(queues.pods()["guest"]))
    path = f"{queues.pods_path}/guest"
    tenant.patch(path, {"metadata": {"labels": {PREEMPTIBILITY: "non-preemptible"}}}, MERGE_PATCH)
    with adapter():
        queues.workload("owner", pods=1, gpus=8, queue="lends")
        wait_until(lambda: queues.running("owner") == 1)


def test_wish_counts_when_the_quota_covers_it_and_stays_when_it_is_lowered(
    queues: UserCluster, adapter: Adapter, tenant: Transport
) -> None:
    with adapter():
        queues.workload("mine", pods=1, gpus=8, queue="lends")
        wait_until(lambda: queues.running("mine") == 1)
        write(queues, tenant, "mine", {"spec": {"preemptibility": "non-preemptible"}})
        wait_until(lambda: "NON_PREEMPTIBLE" in queues.annotations_of("mine").get("grant", ""))
        queues.workload("urgent", pods=1, gpus=8, queue="lends", priority="highest")
        assert wait_until(lambda: queues.reasons_of("urgent"))
        assert queues.running("mine") == 1
