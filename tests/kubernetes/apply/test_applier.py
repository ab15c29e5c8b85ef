"""Decision groups are applied completely, once, and only while their preconditions hold."""

from typing import Any

import pytest
from tenure.integration.journal_entry import EntryState, JournalEntry
from tenure.integration.ports import LeaseLost

from tests.kubernetes.apply.applier_rig import ApplierRig, evict, results, sent
from tests.kubernetes.apply.decision_groups import NOW, bind, group, now
from tests.kubernetes.apply.scripted_api_server import RecordedCall, ScriptedResponse
from tests.kubernetes.observe.cached_cluster import member, node, pod_group

DELETED = "2027-01-01T00:00:00Z"
EXISTING = {"metadata": {"name": "a", "uid": "uid-a"}, "spec": {"nodeName": "n1"}}
"""Pod a on the API server."""
ENDED = {"spec": {"nodeName": "n1"}, "status": {"phase": "Succeeded"}}


def test_evictions_are_sent_before_bindings(rig: ApplierRig) -> None:
    rig.running("old")
    rig.pods("new")
    rig.messages("eviction", "old", ScriptedResponse(201))
    rig.messages("binding", "new", ScriptedResponse(201))
    entry = JournalEntry(group(bind("new"), evict("old")))
    rig.apply(entry)
    assert rig.server.writes() == sent("eviction", "old") + sent("binding", "new")
    assert results(entry) == {"evict-old": "APPLIED", "bind-new": "APPLIED"}


REJECTIONS: dict[str, dict[str, Any]] = {
    "the pod is bound": {"spec": {"nodeName": "n2"}},
    "the pod is another scheduler's": {"spec": {"schedulerName": "default-scheduler"}},
    "the pod is gated": {"spec": {"schedulingGates": [{"name": "g"}]}},
    "the pod is deleted": {"meta": {"deletionTimestamp": DELETED}},
    "the pod failed": {"status": {"phase": "Failed"}},
}


@pytest.mark.parametrize("objection", REJECTIONS)
def test_no_decision_of_a_group_is_applied_when_one_fails_its_precondition(
    rig: ApplierRig, objection: str
) -> None:
    rig.running("old")
    rig.pods("new")
    rig.pods("other", **REJECTIONS[objection])
    entry = JournalEntry(group(evict("old"), bind("new"), bind("other")))
    assert rig.apply(entry) == []
    assert results(entry) == {"bind-other": "PRECONDITION_FAILED"}
    assert entry.row() is None


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"spec": {"unschedulable": True}}, id="cordoned"),
        pytest.param({"conditions": [{"type": "Ready", "status": "Unknown"}]}, id="not ready"),
        pytest.param(None, id="gone"),
    ],
)
def test_pod_is_not_bound_to_a_missing_or_changed_node(
    rig: ApplierRig, changed: dict[str, Any] | None
) -> None:
    rig.pods("new")
    rig.world.remove("nodes", rig.node)
    if changed is not None:
        rig.world.put("nodes", node("n1", **changed))
    assert rig.apply(JournalEntry(group(bind("new")))) == []


@pytest.mark.parametrize(
    "victim",
    [
        pytest.param(None, id="gone"),
        pytest.param({"meta": {"deletionTimestamp": DELETED}}, id="ends anyway"),
        pytest.param({"on": "n2"}, id="on another node"),
    ],
)
def test_changed_victim_stops_the_group(rig: ApplierRig, victim: dict[str, Any] | None) -> None:
    rig.running("other")
    if victim is not None:
        rig.running("old", **victim)
    assert rig.apply(JournalEntry(group(evict("other"), evict("old")))) == []


def test_best_effort_group_applies_decisions_despite_failed_preconditions(rig: ApplierRig) -> None:
    rig.pods("a")
    rig.pods("b", spec={"nodeName": "n2"})
    rig.messages("binding", "a", ScriptedResponse(201))
    assert rig.apply(JournalEntry(group(bind("a"), bind("b"), best_effort=True))) == sent("binding", "a")


def test_blocked_eviction_is_retried_after_its_delay(rig: ApplierRig) -> None:
    rig.running("a")
    rig.server.on("GET", "/api/v1/namespaces/team/pods/a", ScriptedResponse(200, EXISTING))
    rig.messages("eviction", "a", ScriptedResponse(429), ScriptedResponse(429), ScriptedResponse(201))
    entry = JournalEntry(group(evict("a")))
    assert rig.apply(entry) == sent("eviction", "a")
    assert entry.retry_seconds() == NOW.seconds + 10
    rig.seconds += 9
    assert rig.apply(entry) == []
    rig.seconds += 1
    assert rig.apply(entry) == sent("eviction", "a")
    assert entry.retry_seconds() == NOW.seconds + 10 + 20
    rig.seconds += 20
    assert rig.apply(entry) == sent("eviction", "a")
    assert results(entry) == {"evict-a": "APPLIED"}
    assert rig.apply(entry) == []


def test_blocked_eviction_delays_the_whole_group(rig: ApplierRig) -> None:
    rig.running("a", "b")
    rig.server.on("GET", "/api/v1/namespaces/team/pods/a", ScriptedResponse(200, EXISTING))
    rig.server.on(
        "GET", "/api/v1/namespaces/team/pods/b", ScriptedResponse(200, {"metadata": {"uid": "uid-b"}})
    )
    rig.messages("eviction", "a", ScriptedResponse(429), ScriptedResponse(201))
    rig.messages("eviction", "b", ScriptedResponse(201))
    entry = JournalEntry(group(evict("a"), evict("b")))
    assert rig.apply(entry) == sent("eviction", "a")
    assert rig.apply(entry) == []
    rig.seconds += 10
    assert rig.apply(entry) == sent("eviction", "a", "b")


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        pytest.param("a", ENDED, id="the refused one ended"),
        pytest.param("b", ENDED, id="another one ended"),
        pytest.param("b", {"spec": {"nodeName": "n2"}}, id="another one is elsewhere"),
    ],
)
def test_eviction_is_not_retried_after_a_precondition_failed(
    rig: ApplierRig, name: str, changed: dict[str, Any]
) -> None:
    rig.running("a", "b")
    rig.server.on("GET", "/api/v1/namespaces/team/pods/a", ScriptedResponse(200, EXISTING))
    rig.server.on(
        "GET", "/api/v1/namespaces/team/pods/b", ScriptedResponse(200, {"metadata": {"uid": "uid-b"}})
    )
    rig.messages("eviction", "a", ScriptedResponse(429))
    entry = JournalEntry(group(evict("a"), evict("b")))
    assert rig.apply(entry) == sent("eviction", "a")
    rig.pods(name, **changed)
    rig.seconds += 10
    assert rig.apply(entry) == []
    assert results(entry)[f"evict-{name}"] == "PRECONDITION_FAILED"
    assert entry.row() is None


def test_possibly_sent_decision_counts_as_applied_despite_a_failed_precondition(rig: ApplierRig) -> None:
    """The adapter was killed after its evictions were accepted; then the victims terminated."""
    rig.pods("a", meta={"deletionTimestamp": DELETED}, **ENDED)
    rig.running("b")
    there = {"metadata": {"uid": "uid-a", "deletionTimestamp": DELETED}}
    rig.server.on("GET", "/api/v1/namespaces/team/pods/a", ScriptedResponse(200, there))
    rig.server.on(
        "GET", "/api/v1/namespaces/team/pods/b", ScriptedResponse(200, {"metadata": {"uid": "uid-b"}})
    )
    rig.messages("eviction", "b", ScriptedResponse(201))
    entry = JournalEntry(group(evict("a"), evict("gone"), evict("b")), state=EntryState.UNREPORTED)
    assert rig.apply(entry) == sent("eviction", "b")
    assert set(results(entry).values()) == {"APPLIED"}


def test_expired_group_is_not_applied(rig: ApplierRig) -> None:
    rig.running("a")
    rig.seconds += 300
    assert rig.apply(JournalEntry(group(evict("a")))) == []


def test_possibly_sent_decision_is_looked_up_before_it_is_sent(rig: ApplierRig) -> None:
    """The adapter was killed after it sent a request and before it received the response, or before both."""
    rig.running("done", "open")
    rig.pods("bound", "waits")
    at = "/api/v1/namespaces/team/pods"
    for name, meta, on in (
        ("done", {"deletionTimestamp": DELETED}, "n1"),
        ("open", {}, "n1"),
        ("bound", {}, "n1"),
        ("waits", {}, ""),
    ):
        body = {"metadata": {"name": name, "uid": f"uid-{name}", **meta}, "spec": {"nodeName": on}}
        rig.server.on("GET", f"{at}/{name}", ScriptedResponse(200, body))
    rig.messages("eviction", "open", ScriptedResponse(201))
    rig.messages("binding", "waits", ScriptedResponse(201))
    entry = JournalEntry(
        group(evict("done"), evict("open"), bind("bound"), bind("waits")), state=EntryState.UNREPORTED
    )
    assert rig.apply(entry) == sorted(sent("eviction", "open") + sent("binding", "waits"))
    assert set(results(entry).values()) == {"APPLIED"}


def test_binding_to_a_deleted_node_is_not_sent_again(rig: ApplierRig) -> None:
    rig.pods("waits")
    body = {"metadata": {"name": "waits", "uid": "uid-waits"}, "spec": {}}
    rig.server.on("GET", "/api/v1/namespaces/team/pods/waits", ScriptedResponse(200, body))
    rig.world.remove("nodes", rig.node)
    entry = JournalEntry(group(bind("waits")), state=EntryState.UNREPORTED)
    assert rig.apply(entry) == []
    assert results(entry) == {"bind-waits": "PRECONDITION_FAILED"}


def test_no_call_is_sent_after_the_lease_is_lost(rig: ApplierRig) -> None:
    rig.running("a", "b")

    def lose(call: RecordedCall) -> ScriptedResponse:
        rig.may_act = False
        return ScriptedResponse(201)

    rig.server.rules.append(lose)
    entry = JournalEntry(group(evict("a"), evict("b")))
    with pytest.raises(LeaseLost):
        rig.apply(entry)
    assert len(rig.server.writes()) == 1
    assert results(entry) == {"evict-a": "APPLIED"}
    assert entry.state is EntryState.UNREPORTED


def test_two_hundred_pods_are_bound_each_once(rig: ApplierRig) -> None:
    names = [f"p{i}" for i in range(200)]
    rig.pods(*names)
    rig.server.rules.append(lambda call: ScriptedResponse(201))
    entry = JournalEntry(group(*map(bind, names)))
    assert rig.apply(entry) == sorted(sent("binding", *names))
    assert len(results(entry)) == 200
    assert now() == NOW


def test_bound_pod_uses_its_node_when_its_pod_group_is_gone_before_the_cache_shows_the_binding(
    rig: ApplierRig,
) -> None:
    gone = rig.world.put("kai_pod_groups", pod_group("g"))
    rig.pods("p", meta=member("g"), requests={"nvidia.com/gpu": "6"})
    rig.messages("binding", "p", ScriptedResponse(201))
    assert rig.apply(JournalEntry(group(bind("p")))) == sent("binding", "p")
    rig.world.remove("kai_pod_groups", gone)
    delta = rig.builder.delta(NOW)
    assert list(delta.removals.pods) == ["uid-p"]
    (row,) = delta.upserts.nodes
    assert row.allocatable.gpu_milli == 2000
