"""Steps are taken whole, once, and only while they may be."""

from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.client.kubernetes.apply.applier import Applier
from tenure.client.kubernetes.apply.calls import Calls
from tenure.client.kubernetes.failures import LeaseLost
from tenure.client.kubernetes.ledger.entry import Entry
from tenure.client.kubernetes.settings import EvictionMode
from tenure.client.kubernetes.transport import Transport
from tenure.v1.outcome_pb2 import StepResult

from tests.kube.apply.answering import Answer, ApiServer, Call
from tests.kube.apply.made import NOW, bind, evict, group, now
from tests.kube.observe.world import World, node, pod, running

Served = tuple[ApiServer, Transport]
DELETED = "2027-01-01T00:00:00Z"
THERE = {"metadata": {"name": "a", "uid": "uid-a"}, "spec": {"nodeName": "n1"}}
"""Pod a, as the API server has it."""
ENDED = {"spec": {"nodeName": "n1"}, "status": {"phase": "Succeeded"}}


class Rig:
    """An applier on a made-up cluster, whose clock can be moved on."""

    def __init__(self, served: Served) -> None:
        self.server, transport = served
        self.world = World()
        self.node = self.world.put("nodes", node("n1"))
        self.may_act = True
        self.seconds = NOW.seconds
        calls = Calls(transport, lambda: self.may_act, EvictionMode.EVICTION)
        self.applier = Applier(
            calls, self.world.mirrors, "kai-scheduler", lambda: Timestamp(seconds=self.seconds)
        )

    def pods(self, *names: str, **more: Any) -> None:
        for name in names:
            self.world.put("pods", pod(name, **more))

    def running(self, *names: str, **more: Any) -> None:
        for name in names:
            self.world.put("pods", running(name, **more))

    def take(self, *entries: Entry) -> list[str]:
        """Check and apply; what was sent."""
        before = len(self.server.writes())
        self.applier.check([entry for entry in entries if entry.is_fresh])
        self.applier.apply(entries)
        return sorted(self.server.writes()[before:])

    def says(self, subresource: str, name: str, *answers: Answer) -> None:
        self.server.on("POST", f"/api/v1/namespaces/team/pods/{name}/{subresource}", *answers)


@pytest.fixture
def rig(served: Served) -> Iterator[Rig]:
    made = Rig(served)
    yield made
    made.applier.close()


def results(entry: Entry) -> dict[str, str]:
    return {id: StepResult.Name(step.result).removeprefix("STEP_RESULT_") for id, step in entry.steps.items()}


def sent(subresource: str, *names: str) -> list[str]:
    return [f"POST /api/v1/namespaces/team/pods/{name}/{subresource}" for name in names]


def test_evictions_come_before_bindings(rig: Rig) -> None:
    rig.running("old")
    rig.pods("new")
    rig.says("eviction", "old", Answer(201))
    rig.says("binding", "new", Answer(201))
    entry = Entry(group(bind("new"), evict("old")))
    rig.take(entry)
    assert rig.server.writes() == sent("eviction", "old") + sent("binding", "new")
    assert results(entry) == {"evict-old": "APPLIED", "bind-new": "APPLIED"}


OBJECTIONS: dict[str, dict[str, Any]] = {
    "the pod is bound": {"spec": {"nodeName": "n2"}},
    "the pod is another scheduler's": {"spec": {"schedulerName": "default-scheduler"}},
    "the pod is gated": {"spec": {"schedulingGates": [{"name": "g"}]}},
    "the pod is deleted": {"meta": {"deletionTimestamp": DELETED}},
    "the pod failed": {"status": {"phase": "Failed"}},
}


@pytest.mark.parametrize("objection", OBJECTIONS)
def test_no_step_of_a_group_is_taken_when_one_must_not_be(rig: Rig, objection: str) -> None:
    rig.running("old")
    rig.pods("new")
    rig.pods("other", **OBJECTIONS[objection])
    entry = Entry(group(evict("old"), bind("new"), bind("other")))
    assert rig.take(entry) == []
    assert results(entry) == {"bind-other": "REJECTED_PRECONDITION"}
    assert entry.row() is None


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"spec": {"unschedulable": True}}, id="cordoned"),
        pytest.param({"conditions": [{"type": "Ready", "status": "Unknown"}]}, id="not ready"),
        pytest.param(None, id="gone"),
    ],
)
def test_nothing_is_bound_to_a_node_that_is_not_there_for_it(
    rig: Rig, changed: dict[str, Any] | None
) -> None:
    rig.pods("new")
    rig.world.remove("nodes", rig.node)
    if changed is not None:
        rig.world.put("nodes", node("n1", **changed))
    assert rig.take(Entry(group(bind("new")))) == []


@pytest.mark.parametrize(
    "victim",
    [
        pytest.param(None, id="gone"),
        pytest.param({"meta": {"deletionTimestamp": DELETED}}, id="ends anyway"),
        pytest.param({"on": "n2"}, id="on another node"),
    ],
)
def test_a_victim_that_is_not_as_decided_stops_the_group(rig: Rig, victim: dict[str, Any] | None) -> None:
    rig.running("other")
    if victim is not None:
        rig.running("old", **victim)
    assert rig.take(Entry(group(evict("other"), evict("old")))) == []


def test_steps_that_help_alone_are_taken_without_those_that_must_not_be(rig: Rig) -> None:
    rig.pods("a")
    rig.pods("b", spec={"nodeName": "n2"})
    rig.says("binding", "a", Answer(201))
    assert rig.take(Entry(group(bind("a"), bind("b"), best_effort=True))) == sent("binding", "a")


def test_a_group_stops_at_the_first_eviction_that_is_refused(rig: Rig) -> None:
    rig.running("a", "b", "c")
    rig.pods("new")
    rig.says("eviction", "a", Answer(201))
    rig.says("eviction", "b", Answer(429))
    entry = Entry(group(evict("a"), evict("b"), evict("c"), bind("new")))
    assert rig.take(entry) == sent("eviction", "a", "b")
    assert results(entry) == {"evict-a": "APPLIED", "evict-b": "FAILED"}


def test_a_refused_eviction_is_tried_again_when_its_time_has_come(rig: Rig) -> None:
    rig.running("a")
    rig.server.on("GET", "/api/v1/namespaces/team/pods/a", Answer(200, THERE))
    rig.says("eviction", "a", Answer(429), Answer(429), Answer(201))
    entry = Entry(group(evict("a")))
    assert rig.take(entry) == sent("eviction", "a")
    assert entry.retry_seconds() == NOW.seconds + 10
    rig.seconds += 9
    assert rig.take(entry) == []
    rig.seconds += 1
    assert rig.take(entry) == sent("eviction", "a")
    assert entry.retry_seconds() == NOW.seconds + 10 + 20
    rig.seconds += 20
    assert rig.take(entry) == sent("eviction", "a")
    assert results(entry) == {"evict-a": "APPLIED"}
    assert rig.take(entry) == []


def test_a_group_waits_whole_for_an_eviction_that_is_refused_for_now(rig: Rig) -> None:
    rig.running("a", "b")
    rig.server.on("GET", "/api/v1/namespaces/team/pods/a", Answer(200, THERE))
    rig.server.on("GET", "/api/v1/namespaces/team/pods/b", Answer(200, {"metadata": {"uid": "uid-b"}}))
    rig.says("eviction", "a", Answer(429), Answer(201))
    rig.says("eviction", "b", Answer(201))
    entry = Entry(group(evict("a"), evict("b")))
    assert rig.take(entry) == sent("eviction", "a")
    assert rig.take(entry) == []
    rig.seconds += 10
    assert rig.take(entry) == sent("eviction", "a", "b")


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        pytest.param("a", ENDED, id="the refused one ended"),
        pytest.param("b", ENDED, id="another one ended"),
        pytest.param("b", {"spec": {"nodeName": "n2"}}, id="another one is elsewhere"),
    ],
)
def test_an_eviction_is_not_repeated_when_a_step_must_not_be_taken_any_more(
    rig: Rig, name: str, changed: dict[str, Any]
) -> None:
    rig.running("a", "b")
    rig.server.on("GET", "/api/v1/namespaces/team/pods/a", Answer(200, THERE))
    rig.server.on("GET", "/api/v1/namespaces/team/pods/b", Answer(200, {"metadata": {"uid": "uid-b"}}))
    rig.says("eviction", "a", Answer(429))
    entry = Entry(group(evict("a"), evict("b")))
    assert rig.take(entry) == sent("eviction", "a")
    rig.pods(name, **changed)
    rig.seconds += 10
    assert rig.take(entry) == []
    assert results(entry)[f"evict-{name}"] == "REJECTED_PRECONDITION"
    assert entry.row() is None


def test_what_was_perhaps_sent_counts_as_taken_though_it_must_not_be_any_more(rig: Rig) -> None:
    """The adapter was killed after its evictions were accepted; then the victims ended."""
    rig.pods("a", meta={"deletionTimestamp": DELETED}, **ENDED)
    rig.running("b")
    there = {"metadata": {"uid": "uid-a", "deletionTimestamp": DELETED}}
    rig.server.on("GET", "/api/v1/namespaces/team/pods/a", Answer(200, there))
    rig.server.on("GET", "/api/v1/namespaces/team/pods/b", Answer(200, {"metadata": {"uid": "uid-b"}}))
    rig.says("eviction", "b", Answer(201))
    entry = Entry(group(evict("a"), evict("gone"), evict("b")), is_fresh=False)
    assert rig.take(entry) == sent("eviction", "b")
    assert set(results(entry).values()) == {"APPLIED"}


def test_no_step_is_taken_after_the_time_of_its_group(rig: Rig) -> None:
    rig.running("a")
    rig.seconds += 300
    assert rig.take(Entry(group(evict("a")))) == []


def test_what_was_perhaps_sent_is_looked_up_before_it_is_sent(rig: Rig) -> None:
    """The adapter was killed between sending and hearing the answer, or before it sent anything."""
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
        rig.server.on("GET", f"{at}/{name}", Answer(200, body))
    rig.says("eviction", "open", Answer(201))
    rig.says("binding", "waits", Answer(201))
    entry = Entry(group(evict("done"), evict("open"), bind("bound"), bind("waits")), is_fresh=False)
    assert rig.take(entry) == sorted(sent("eviction", "open") + sent("binding", "waits"))
    assert set(results(entry).values()) == {"APPLIED"}


def test_a_node_that_went_away_meanwhile_keeps_a_binding_from_being_sent_again(rig: Rig) -> None:
    rig.pods("waits")
    body = {"metadata": {"name": "waits", "uid": "uid-waits"}, "spec": {}}
    rig.server.on("GET", "/api/v1/namespaces/team/pods/waits", Answer(200, body))
    rig.world.remove("nodes", rig.node)
    entry = Entry(group(bind("waits")), is_fresh=False)
    assert rig.take(entry) == []
    assert results(entry) == {"bind-waits": "REJECTED_PRECONDITION"}


def test_nothing_more_is_sent_once_the_lease_is_lost(rig: Rig) -> None:
    rig.running("a", "b")

    def lose(call: Call) -> Answer:
        rig.may_act = False
        return Answer(201)

    rig.server.rules.append(lose)
    entry = Entry(group(evict("a"), evict("b")))
    with pytest.raises(LeaseLost):
        rig.take(entry)
    assert len(rig.server.writes()) == 1
    assert results(entry) == {"evict-a": "APPLIED"}
    assert not entry.is_fresh


def test_two_hundred_pods_are_bound_each_once(rig: Rig) -> None:
    names = [f"p{i}" for i in range(200)]
    rig.pods(*names)
    rig.server.rules.append(lambda call: Answer(201))
    entry = Entry(group(*map(bind, names)))
    assert rig.take(entry) == sorted(sent("binding", *names))
    assert len(results(entry)) == 200
    assert now() == NOW
