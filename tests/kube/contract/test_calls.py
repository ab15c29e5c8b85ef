"""What the adapter makes of the answers: its calls on pods as they may be by then."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from tenure.client.kubernetes.apply.calls import Calls, PodName, Result
from tenure.client.kubernetes.settings import EvictionMode
from tenure.client.kubernetes.transport import Transport

from tests.kube.contract.asking import ApiServer, Item, Place

APPLIED, REJECTED = "applied", "rejected"
FAILED, LATER = "failed", "later"
_X = {"app": "x"}
Change = Callable[[Place], object]


@pytest.fixture(scope="session")
def transport(api_server: ApiServer) -> Iterator[Transport]:
    with closing(Transport(api_server.kubeconfig())) as opened:
        yield opened


def calls(transport: Transport, mode: EvictionMode = EvictionMode.EVICTION) -> Calls:
    return Calls(transport, lambda: True, mode)


def name_of(pod: Item) -> PodName:
    meta = pod["metadata"]
    return PodName(meta["namespace"], meta["name"], meta["uid"])


def _nothing(place: Place) -> None:
    """The pod is as it was when the decision was made."""


def _gone(place: Place) -> None:
    place.asker.ask("DELETE", f"{place.pods}/a", {"gracePeriodSeconds": 0})


def _replaced(place: Place) -> None:
    """Another pod has its name."""
    _gone(place)
    place.running(labels=_X)


def _made_anew(place: Place) -> None:
    """Another pod has its name, and waits."""
    _gone(place)
    place.pod()


BINDINGS: dict[str, tuple[Change, str]] = {
    "nothing changed": (_nothing, APPLIED),
    "bound as wanted": (lambda place: place.bind(node="n1"), APPLIED),
    "bound elsewhere": (lambda place: place.bind(node="n2"), REJECTED),
    "gone": (_gone, REJECTED),
    "another waits under its name": (_made_anew, REJECTED),
    "another is bound under its name": (_replaced, REJECTED),
}


@pytest.mark.parametrize("labels", [{}, {"runai-gpu-group": "g"}], ids=["", "labelled before"])
@pytest.mark.parametrize(("change", "result"), BINDINGS.values(), ids=BINDINGS.keys())
def test_a_binding_is_done_or_rejected_and_never_another_pods(
    place: Place, transport: Transport, change: Change, result: str, labels: dict[str, str | None]
) -> None:
    pod = place.pod()
    change(place)
    before = place.find()
    assert calls(transport).bind(name_of(pod), "n1", labels).word == result
    if before.status == 200 and before.body["metadata"]["uid"] != pod["metadata"]["uid"]:
        assert place.find().version == before.version


@pytest.mark.parametrize("spec", [{"schedulingGates": [{"name": "wait"}]}, {}], ids=["gated", "ending"])
def test_a_pod_that_must_not_be_bound_is_not(place: Place, transport: Transport, spec: Item) -> None:
    pod = place.pod(spec=spec, finalizers=[] if spec else ["example.com/keep"])
    if not spec:
        place.asker.ask("DELETE", f"{place.pods}/a")
    assert calls(transport).bind(name_of(pod), "n1", {}).word == REJECTED


EVICTIONS: dict[str, tuple[Change, str, float | None]] = {
    "nothing changed": (_nothing, APPLIED, None),
    "evicted already": (Place.evict, APPLIED, None),
    "gone": (_gone, APPLIED, None),
    "another runs under its name": (_replaced, REJECTED, None),
    "a budget allows it": (lambda place: place.budget(allowed=1), APPLIED, None),
    "a budget forbids it": (lambda place: place.budget(allowed=0), LATER, None),
    "a budget that nobody has looked at": (lambda place: place.budget(), LATER, 10.0),
    "two budgets": (lambda place: (place.budget("b1"), place.budget("b2")), FAILED, None),  # type: ignore[func-returns-value]
}


@pytest.mark.parametrize(("change", "result", "wait"), EVICTIONS.values(), ids=EVICTIONS.keys())
def test_an_eviction_is_done_put_off_or_given_up(
    place: Place, transport: Transport, change: Change, result: str, wait: float | None
) -> None:
    pod = place.running(labels=_X)
    change(place)
    came: Result = calls(transport).evict(name_of(pod))
    assert (came.word, came.retry_after) == (result, wait), came.detail
    if result == REJECTED:
        assert "deletionTimestamp" not in place.find().body["metadata"]


@pytest.mark.parametrize(("change", "result"), [(_nothing, APPLIED), (_gone, APPLIED), (_replaced, REJECTED)])
def test_a_deletion_asks_no_budget_but_is_for_one_pod(
    place: Place, transport: Transport, change: Change, result: str
) -> None:
    pod = place.running(labels=_X)
    place.budget(allowed=0)
    change(place)
    assert calls(transport, EvictionMode.DELETE).evict(name_of(pod)).word == result
