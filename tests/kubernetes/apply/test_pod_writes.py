"""Responses of an API server to bindings and evictions, and their results."""

from typing import Any

import pytest
from tenure.integration.ports import LeaseLost
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.apply.pod_writes import PodName, PodWriter, gpu_labels
from tenure.kubernetes.choices import EvictionMode
from tenure.v1.decision_pb2 import Evict
from tenure.v1.report_pb2 import APPLY_STATUS_APPLIED, APPLY_STATUS_FAILED, APPLY_STATUS_PRECONDITION_FAILED

from tests.kubernetes.apply.scripted_api_server import ScriptedApiServer, ScriptedResponse

Served = tuple[ScriptedApiServer, Transport]
POD = PodName("team", "p1", "uid-p1")
BINDING, EVICTION = f"{POD.path}/binding", f"{POD.path}/eviction"
APPLIED, FAILED, REJECTED = APPLY_STATUS_APPLIED, APPLY_STATUS_FAILED, APPLY_STATUS_PRECONDITION_FAILED


def serve_pod(node: str = "", uid: str = "uid-p1", **meta: Any) -> ScriptedResponse:
    body = {"metadata": {"name": "p1", "namespace": "team", "uid": uid, **meta}, "spec": {"nodeName": node}}
    return ScriptedResponse(200, body)


def calls(
    transport: Transport, mode: EvictionMode = EvictionMode.EVICTION, may_act: bool = True
) -> PodWriter:
    return PodWriter(transport, lambda: may_act, mode)


@pytest.mark.parametrize(
    ("answer", "pod", "result", "is_retryable"),
    [
        pytest.param(ScriptedResponse(201), None, APPLIED, False, id="ok"),
        pytest.param(ScriptedResponse(404), None, REJECTED, False, id="pod gone"),
        pytest.param(ScriptedResponse(409), serve_pod("n1"), APPLIED, False, id="bound as wanted already"),
        pytest.param(ScriptedResponse(409), serve_pod("n2"), REJECTED, False, id="bound elsewhere"),
        pytest.param(
            ScriptedResponse(409), serve_pod("n1", "uid-new"), REJECTED, False, id="another pod of that name"
        ),
        pytest.param(ScriptedResponse(409), serve_pod(), REJECTED, False, id="gated or ending"),
        pytest.param(ScriptedResponse(409), ScriptedResponse(500), FAILED, True, id="not to be found out"),
        pytest.param(ScriptedResponse(0), serve_pod("n1"), APPLIED, False, id="no answer, but bound"),
        pytest.param(ScriptedResponse(0), serve_pod(), FAILED, True, id="no answer, not bound"),
        pytest.param(ScriptedResponse(500), serve_pod("n1"), APPLIED, False, id="error, but bound"),
        pytest.param(ScriptedResponse(500), ScriptedResponse(404), REJECTED, False, id="error, and gone"),
        pytest.param(ScriptedResponse(403), None, FAILED, False, id="not allowed"),
        pytest.param(ScriptedResponse(429), None, FAILED, True, id="too many requests"),
    ],
)
def test_binding_response_maps_to_a_result(
    scripted_server: Served,
    answer: ScriptedResponse,
    pod: ScriptedResponse | None,
    result: int,
    is_retryable: bool,
) -> None:
    server, transport = scripted_server
    server.on("POST", BINDING, answer)
    if pod:
        server.on("GET", POD.path, pod)
    got = calls(transport).bind(POD, "n1", {})
    assert (got.status, got.is_retryable) == (result, is_retryable)
    assert server.writes() == [f"POST {BINDING}"]
    assert server.calls[0].body["metadata"]["uid"] == "uid-p1"


BUDGETS = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


@pytest.mark.parametrize(
    ("answer", "pod", "result", "retry"),
    [
        pytest.param(ScriptedResponse(201), None, APPLIED, None, id="ok"),
        pytest.param(ScriptedResponse(404), None, APPLIED, None, id="gone"),
        pytest.param(
            ScriptedResponse(409), serve_pod("n1", "uid-new"), REJECTED, None, id="another pod of that name"
        ),
        pytest.param(
            ScriptedResponse(409), serve_pod("n1"), FAILED, 1.0, id="some other write at that moment"
        ),
        pytest.param(
            ScriptedResponse(409),
            serve_pod("n1", deletionTimestamp="2027-01-01T00:00:00Z"),
            APPLIED,
            None,
            id="ends already",
        ),
        pytest.param(
            ScriptedResponse(409), ScriptedResponse(500), FAILED, "retry", id="nobody knows of what pod"
        ),
        pytest.param(
            ScriptedResponse(429, {}, {"Retry-After": "10"}), None, FAILED, 10.0, id="budget not observed"
        ),
        pytest.param(ScriptedResponse(429), None, FAILED, "retry", id="budget exhausted"),
        pytest.param(ScriptedResponse(500, {"message": BUDGETS}), None, FAILED, None, id="two budgets"),
        pytest.param(ScriptedResponse(500), serve_pod("n1"), FAILED, "retry", id="error, still there"),
        pytest.param(
            ScriptedResponse(0),
            serve_pod("n1", deletionTimestamp="2027-01-01T00:00:00Z"),
            APPLIED,
            None,
            id="ends",
        ),
        pytest.param(ScriptedResponse(0), serve_pod("n1", "uid-new"), APPLIED, None, id="another is there"),
        pytest.param(ScriptedResponse(0), ScriptedResponse(0), FAILED, "retry", id="no answer at all"),
        pytest.param(ScriptedResponse(403), None, FAILED, None, id="not allowed"),
    ],
)
def test_eviction_response_maps_to_a_result(
    scripted_server: Served,
    answer: ScriptedResponse,
    pod: ScriptedResponse | None,
    result: int,
    retry: float | str | None,
) -> None:
    server, transport = scripted_server
    server.on("POST", EVICTION, answer)
    if pod:
        server.on("GET", POD.path, pod)
    got = calls(transport).evict(POD, Evict())
    assert got.status == result
    assert got.is_retryable == (retry is not None)
    assert got.retry_after == (retry if isinstance(retry, float) else None)
    assert server.writes() == [f"POST {EVICTION}"]
    assert server.calls[0].body["deleteOptions"]["preconditions"] == {"uid": "uid-p1"}


def test_budget_that_blocks_an_eviction_is_named(scripted_server: Served) -> None:
    server, transport = scripted_server
    cause = {"reason": "DisruptionBudget", "message": "The disruption budget b needs 1 healthy pods."}
    message = "Cannot evict pod as it would violate the pod's disruption budget."
    server.on("POST", EVICTION, ScriptedResponse(429, {"message": message, "details": {"causes": [cause]}}))
    assert calls(transport).evict(POD, Evict()).detail.endswith(f"{message} {cause['message']}")


def test_delete_mode_bypasses_budgets_and_has_a_uid_precondition(scripted_server: Served) -> None:
    server, transport = scripted_server
    server.on("DELETE", POD.path, ScriptedResponse(200))
    assert calls(transport, EvictionMode.DELETE).evict(POD, Evict()).status == APPLIED
    assert server.calls[0].body["preconditions"] == {"uid": "uid-p1"}


@pytest.mark.parametrize(
    ("mode", "overridden", "write"),
    [
        (EvictionMode.PATIENT, ["space/b"], f"DELETE {POD.path}"),
        (EvictionMode.PATIENT, [], f"POST {EVICTION}"),
        (EvictionMode.EVICTION, ["space/b"], f"POST {EVICTION}"),
    ],
)
def test_patient_mode_deletes_where_budgets_hold_no_longer(
    mode: EvictionMode, overridden: list[str], write: str, scripted_server: Served
) -> None:
    server, transport = scripted_server
    server.on("DELETE", POD.path, ScriptedResponse(200))
    server.on("POST", EVICTION, ScriptedResponse(201))
    evict = Evict(disruption_budgets=["space/b"], overridden_disruption_budgets=overridden)
    assert calls(transport, mode).evict(POD, evict).status == APPLIED
    assert server.writes() == [write]


def test_no_call_is_sent_without_the_lease(scripted_server: Served) -> None:
    server, transport = scripted_server
    without = calls(transport, may_act=False)
    for send in (lambda: without.bind(POD, "n1", {"a": "b"}), lambda: without.evict(POD, Evict())):
        with pytest.raises(LeaseLost):
            send()
    assert server.calls == []


def test_labels_of_shared_gpus_are_written_before_the_binding(scripted_server: Served) -> None:
    server, transport = scripted_server
    server.on("PATCH", POD.path, ScriptedResponse(200))
    server.on("POST", BINDING, ScriptedResponse(201))
    calls(transport).bind(POD, "n1", {"runai-gpu-group": "gpu-1"})
    assert server.writes() == [f"PATCH {POD.path}", f"POST {BINDING}"]
    assert server.calls[0].body["metadata"] == {"uid": "uid-p1", "labels": {"runai-gpu-group": "gpu-1"}}


def test_a_pod_whose_labels_cannot_be_written_is_not_bound(scripted_server: Served) -> None:
    server, transport = scripted_server
    server.on("PATCH", POD.path, ScriptedResponse(409))
    server.on("GET", POD.path, serve_pod())
    assert calls(transport).bind(POD, "n1", {"runai-gpu-group": "g"}).status == REJECTED
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
def test_labels_name_exactly_the_devices(
    groups: list[str], has: dict[str, str], labels: dict[str, str | None]
) -> None:
    assert gpu_labels(groups, "n1", has) == labels
