"""The adapter's interpretation of responses to writes on pods that have changed since the decision."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from tenure.integration.ports import ApplyResult
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.apply.pod_writes import PodName, PodWriter
from tenure.kubernetes.choices import EvictionMode
from tenure.v1.decision_pb2 import Evict

from tests.kubernetes.api_semantics.raw_client import ApiServer, ClientNamespace, Item

APPLIED, REJECTED = "applied", "precondition_failed"
FAILED, LATER = "failed", "retry"
_X = {"app": "x"}
Change = Callable[[ClientNamespace], object]


@pytest.fixture(scope="session")
def transport(api_server: ApiServer) -> Iterator[Transport]:
    with closing(Transport(api_server.kubeconfig())) as opened:
        yield opened


def calls(transport: Transport, mode: EvictionMode = EvictionMode.EVICTION) -> PodWriter:
    return PodWriter(transport, lambda: True, mode)


def name_of(pod: Item) -> PodName:
    meta = pod["metadata"]
    return PodName(meta["namespace"], meta["name"], meta["uid"])


def _unchanged(place: ClientNamespace) -> None:
    """The pod is unchanged since the decision."""


def _deleted(place: ClientNamespace) -> None:
    place.client.request("DELETE", f"{place.pods}/a", {"gracePeriodSeconds": 0})


def _replaced(place: ClientNamespace) -> None:
    """Another pod has its name."""
    _deleted(place)
    place.running(labels=_X)


def _recreated(place: ClientNamespace) -> None:
    """Another pod has its name and is pending."""
    _deleted(place)
    place.pod()


BINDINGS: dict[str, tuple[Change, str]] = {
    "nothing changed": (_unchanged, APPLIED),
    "bound as wanted": (lambda place: place.bind(node="n1"), APPLIED),
    "bound elsewhere": (lambda place: place.bind(node="n2"), REJECTED),
    "gone": (_deleted, REJECTED),
    "another waits under its name": (_recreated, REJECTED),
    "another is bound under its name": (_replaced, REJECTED),
}


@pytest.mark.parametrize("labels", [{}, {"runai-gpu-group": "g"}], ids=["", "labelled before"])
@pytest.mark.parametrize(("change", "result"), BINDINGS.values(), ids=BINDINGS.keys())
def test_binding_is_applied_or_rejected_and_never_hits_another_pod(
    namespace: ClientNamespace,
    transport: Transport,
    change: Change,
    result: str,
    labels: dict[str, str | None],
) -> None:
    pod = namespace.pod()
    change(namespace)
    before = namespace.find()
    assert calls(transport).bind(name_of(pod), "n1", labels).metric_label == result
    if before.status == 200 and before.body["metadata"]["uid"] != pod["metadata"]["uid"]:
        assert namespace.find().version == before.version


@pytest.mark.parametrize("spec", [{"schedulingGates": [{"name": "wait"}]}, {}], ids=["gated", "ending"])
def test_unbindable_pod_is_not_bound(namespace: ClientNamespace, transport: Transport, spec: Item) -> None:
    pod = namespace.pod(spec=spec, finalizers=[] if spec else ["example.com/keep"])
    if not spec:
        namespace.client.request("DELETE", f"{namespace.pods}/a")
    assert calls(transport).bind(name_of(pod), "n1", {}).metric_label == REJECTED


EVICTIONS: dict[str, tuple[Change, str, float | None]] = {
    "nothing changed": (_unchanged, APPLIED, None),
    "evicted already": (ClientNamespace.evict, APPLIED, None),
    "gone": (_deleted, APPLIED, None),
    "another runs under its name": (_replaced, REJECTED, None),
    "a budget allows it": (lambda place: place.budget(allowed=1), APPLIED, None),
    "a budget forbids it": (lambda place: place.budget(allowed=0), LATER, None),
    "a budget that nobody has looked at": (lambda place: place.budget(), LATER, 10.0),
    "two budgets": (lambda place: (place.budget("b1"), place.budget("b2")), FAILED, None),  # type: ignore[func-returns-value]
}


@pytest.mark.parametrize(("change", "result", "wait"), EVICTIONS.values(), ids=EVICTIONS.keys())
def test_eviction_is_applied_retryable_or_rejected(
    namespace: ClientNamespace, transport: Transport, change: Change, result: str, wait: float | None
) -> None:
    pod = namespace.running(labels=_X)
    change(namespace)
    came: ApplyResult = calls(transport).evict(name_of(pod), Evict())
    assert (came.metric_label, came.retry_after) == (result, wait), came.detail
    if result == REJECTED:
        assert "deletionTimestamp" not in namespace.find().body["metadata"]


@pytest.mark.parametrize(
    ("change", "result"), [(_unchanged, APPLIED), (_deleted, APPLIED), (_replaced, REJECTED)]
)
def test_deletion_bypasses_budgets_and_hits_only_its_pod(
    namespace: ClientNamespace, transport: Transport, change: Change, result: str
) -> None:
    pod = namespace.running(labels=_X)
    namespace.budget(allowed=0)
    change(namespace)
    assert calls(transport, EvictionMode.DELETE).evict(name_of(pod), Evict()).metric_label == result
