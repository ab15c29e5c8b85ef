"""What an API server answers to a binding and to an eviction, and what that means."""

from typing import Any

import pytest
from tenure.client.kubernetes.apply.calls import Calls, PodName, gpu_labels
from tenure.client.kubernetes.failures import LeaseLost
from tenure.client.kubernetes.settings import EvictionMode
from tenure.client.kubernetes.transport import Transport
from tenure.v1.outcome_pb2 import (
    STEP_RESULT_APPLIED,
    STEP_RESULT_FAILED,
    STEP_RESULT_REJECTED_PRECONDITION,
)

from tests.kube.apply.answering import Answer, ApiServer

Served = tuple[ApiServer, Transport]
POD = PodName("team", "p1", "uid-p1")
BINDING, EVICTION = f"{POD.path}/binding", f"{POD.path}/eviction"
APPLIED, FAILED, REJECTED = STEP_RESULT_APPLIED, STEP_RESULT_FAILED, STEP_RESULT_REJECTED_PRECONDITION


def there(node: str = "", uid: str = "uid-p1", **meta: Any) -> Answer:
    body = {"metadata": {"name": "p1", "namespace": "team", "uid": uid, **meta}, "spec": {"nodeName": node}}
    return Answer(200, body)


def calls(transport: Transport, mode: EvictionMode = EvictionMode.EVICTION, may_act: bool = True) -> Calls:
    return Calls(transport, lambda: may_act, mode)


@pytest.mark.parametrize(
    ("answer", "pod", "result", "is_retryable"),
    [
        pytest.param(Answer(201), None, APPLIED, False, id="ok"),
        pytest.param(Answer(404), None, REJECTED, False, id="pod gone"),
        pytest.param(Answer(409), there("n1"), APPLIED, False, id="bound as wanted already"),
        pytest.param(Answer(409), there("n2"), REJECTED, False, id="bound elsewhere"),
        pytest.param(Answer(409), there("n1", "uid-new"), REJECTED, False, id="another pod of that name"),
        pytest.param(Answer(409), there(), REJECTED, False, id="gated or ending"),
        pytest.param(Answer(409), Answer(500), FAILED, True, id="not to be found out"),
        pytest.param(Answer(0), there("n1"), APPLIED, False, id="no answer, but bound"),
        pytest.param(Answer(0), there(), FAILED, True, id="no answer, not bound"),
        pytest.param(Answer(500), there("n1"), APPLIED, False, id="error, but bound"),
        pytest.param(Answer(500), Answer(404), REJECTED, False, id="error, and gone"),
        pytest.param(Answer(403), None, FAILED, False, id="not allowed"),
        pytest.param(Answer(429), None, FAILED, True, id="too many requests"),
    ],
)
def test_bindings(
    served: Served, answer: Answer, pod: Answer | None, result: int, is_retryable: bool
) -> None:
    server, transport = served
    server.on("POST", BINDING, answer)
    if pod:
        server.on("GET", POD.path, pod)
    got = calls(transport).bind(POD, "n1", {})
    assert (got.result, got.is_retryable) == (result, is_retryable)
    assert server.writes() == [f"POST {BINDING}"]
    assert server.calls[0].body["metadata"]["uid"] == "uid-p1"


BUDGETS = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


@pytest.mark.parametrize(
    ("answer", "pod", "result", "retry"),
    [
        pytest.param(Answer(201), None, APPLIED, None, id="ok"),
        pytest.param(Answer(404), None, APPLIED, None, id="gone"),
        pytest.param(Answer(409), there("n1", "uid-new"), REJECTED, None, id="another pod of that name"),
        pytest.param(Answer(409), there("n1"), FAILED, 1.0, id="some other write at that moment"),
        pytest.param(
            Answer(409),
            there("n1", deletionTimestamp="2027-01-01T00:00:00Z"),
            APPLIED,
            None,
            id="ends already",
        ),
        pytest.param(Answer(409), Answer(500), FAILED, "later", id="nobody knows of what pod"),
        pytest.param(Answer(429, {}, {"Retry-After": "10"}), None, FAILED, 10.0, id="budget not observed"),
        pytest.param(Answer(429), None, FAILED, "later", id="budget exhausted"),
        pytest.param(Answer(500, {"message": BUDGETS}), None, FAILED, None, id="two budgets"),
        pytest.param(Answer(500), there("n1"), FAILED, "later", id="error, still there"),
        pytest.param(
            Answer(0), there("n1", deletionTimestamp="2027-01-01T00:00:00Z"), APPLIED, None, id="ends"
        ),
        pytest.param(Answer(0), there("n1", "uid-new"), APPLIED, None, id="another is there"),
        pytest.param(Answer(0), Answer(0), FAILED, "later", id="no answer at all"),
        pytest.param(Answer(403), None, FAILED, None, id="not allowed"),
    ],
)
def test_evictions(
    served: Served, answer: Answer, pod: Answer | None, result: int, retry: float | str | None
) -> None:
    server, transport = served
    server.on("POST", EVICTION, answer)
    if pod:
        server.on("GET", POD.path, pod)
    got = calls(transport).evict(POD)
    assert got.result == result
    assert got.is_retryable == (retry is not None)
    assert got.retry_after == (retry if isinstance(retry, float) else None)
    assert server.writes() == [f"POST {EVICTION}"]
    assert server.calls[0].body["deleteOptions"]["preconditions"] == {"uid": "uid-p1"}


def test_the_budget_that_refuses_an_eviction_is_named(served: Served) -> None:
    server, transport = served
    cause = {"reason": "DisruptionBudget", "message": "The disruption budget b needs 1 healthy pods."}
    message = "Cannot evict pod as it would violate the pod's disruption budget."
    server.on("POST", EVICTION, Answer(429, {"message": message, "details": {"causes": [cause]}}))
    assert calls(transport).evict(POD).detail.endswith(f"{message} {cause['message']}")


def test_the_mode_delete_asks_no_budget_and_is_fenced_by_uid(served: Served) -> None:
    server, transport = served
    server.on("DELETE", POD.path, Answer(200))
    assert calls(transport, EvictionMode.DELETE).evict(POD).result == APPLIED
    assert server.calls[0].body["preconditions"] == {"uid": "uid-p1"}


def test_nothing_is_sent_without_the_lease(served: Served) -> None:
    server, transport = served
    without = calls(transport, may_act=False)
    for send in (lambda: without.bind(POD, "n1", {"a": "b"}), lambda: without.evict(POD)):
        with pytest.raises(LeaseLost):
            send()
    assert server.calls == []


def test_labels_of_shared_gpus_are_written_before_the_binding(served: Served) -> None:
    server, transport = served
    server.on("PATCH", POD.path, Answer(200))
    server.on("POST", BINDING, Answer(201))
    calls(transport).bind(POD, "n1", {"runai-gpu-group": "gpu-1"})
    assert server.writes() == [f"PATCH {POD.path}", f"POST {BINDING}"]
    assert server.calls[0].body["metadata"] == {"uid": "uid-p1", "labels": {"runai-gpu-group": "gpu-1"}}


def test_a_pod_whose_labels_cannot_be_written_is_not_bound(served: Served) -> None:
    server, transport = served
    server.on("PATCH", POD.path, Answer(409))
    server.on("GET", POD.path, there())
    assert calls(transport).bind(POD, "n1", {"runai-gpu-group": "g"}).result == REJECTED
    assert server.writes() == [f"PATCH {POD.path}"]


@pytest.mark.parametrize(
    ("groups", "has", "labels"),
    [
        ([], {"runai-gpu-group": "old"}, {}),
        (["n1/gpu-0"], {}, {"runai-gpu-group": "n1.gpu-0"}),
        (["a"], {}, {"runai-gpu-group": "a"}),
        (["a"], {"runai-gpu-group/b": "b"}, {"runai-gpu-group": "a", "runai-gpu-group/b": None}),
        (["a", "b"], {"other": "x"}, {"runai-gpu-group/a": "a", "runai-gpu-group/b": "b"}),
    ],
)
def test_labels_name_the_devices_and_no_others(
    groups: list[str], has: dict[str, str], labels: dict[str, str | None]
) -> None:
    assert gpu_labels(groups, "n1", has) == labels
