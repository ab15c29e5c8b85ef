"""A gang is evicted completely or not at all, as far as budgets and a first eviction can tell."""

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from tenure.integration import evictions
from tenure.integration.evictions import GroupEvictions, share_lanes
from tenure.integration.journal_entry import JournalEntry
from tenure.integration.ports import EvictionBudget

from tests.kubernetes.apply.applier_rig import ApplierRig, evict, results, sent
from tests.kubernetes.apply.decision_groups import NOW, bind, group
from tests.kubernetes.apply.scripted_api_server import RecordedCall, ScriptedResponse

WEB = {"matchLabels": {"app": "web"}}
READY = {"conditions": [{"type": "Ready", "status": "True"}]}


def budget(rig: ApplierRig, selector: Mapping[str, Any] | None, left: int, **meta: Any) -> None:
    spec = {} if selector is None else {"selector": selector}
    status = {"observedGeneration": 1, "disruptionsAllowed": left}
    about = {"name": "limit", "namespace": "team", "generation": 1, **meta}
    rig.world.put("disruption_budgets", {"metadata": about, "spec": spec, "status": status})


def web(rig: ApplierRig, *names: str, status: Mapping[str, Any] = READY) -> None:
    rig.running(*names, meta={"labels": {"app": "web", "tier": "front"}}, status=dict(status))


@pytest.mark.parametrize(
    "selector",
    [
        pytest.param(WEB, id="a label"),
        pytest.param({"matchLabels": {"app": "web", "tier": "front"}}, id="two labels"),
        pytest.param({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, id="an expression"),
        pytest.param({}, id="all pods"),
    ],
)
def test_no_pod_of_a_gang_is_evicted_while_a_budget_permits_too_few(
    rig: ApplierRig, selector: Mapping[str, Any]
) -> None:
    web(rig, "a", "b", "c")
    budget(rig, selector, left=2)
    entry = JournalEntry(group(evict("a"), evict("b"), evict("c")))
    assert rig.apply(entry) == []
    assert set(results(entry).values()) == {"FAILED"}
    details = {step.detail for step in entry.results.values()}
    assert details == {"disruption budget team/limit permits 2 of 3 evictions now"}
    assert entry.retry_seconds() == NOW.seconds + 10

    budget(rig, selector, left=3)
    for name in "abc":
        there = {"metadata": {"name": name, "uid": f"uid-{name}"}}
        rig.server.on("GET", f"/api/v1/namespaces/team/pods/{name}", ScriptedResponse(200, there))
        rig.messages("eviction", name, ScriptedResponse(201))
    rig.seconds += 10
    assert rig.apply(entry) == sent("eviction", "a", "b", "c")
    assert set(results(entry).values()) == {"APPLIED"}


@pytest.mark.parametrize(
    ("selector", "about", "status"),
    [
        pytest.param(None, {}, READY, id="no selector"),
        pytest.param({"matchLabels": {"app": "other"}}, {}, READY, id="other pods"),
        pytest.param(WEB, {"namespace": "elsewhere"}, READY, id="another namespace"),
        pytest.param(WEB, {"generation": 2}, READY, id="changed and not counted since"),
        pytest.param(WEB, {}, {}, id="pods that are not ready"),
    ],
)
def test_budget_that_says_nothing_about_an_eviction_does_not_hold_it(
    rig: ApplierRig,
    selector: Mapping[str, Any] | None,
    about: Mapping[str, Any],
    status: Mapping[str, Any],
) -> None:
    web(rig, "a", "b", status=status)
    budget(rig, selector, left=0, **about)
    rig.messages("eviction", "a", ScriptedResponse(201))
    rig.messages("eviction", "b", ScriptedResponse(201))
    assert rig.apply(JournalEntry(group(evict("a"), evict("b")))) == sent("eviction", "a", "b")


def test_best_effort_group_uses_what_a_budget_permits(rig: ApplierRig) -> None:
    web(rig, "a", "b")
    budget(rig, WEB, left=1)
    rig.messages("eviction", "a", ScriptedResponse(201))
    rig.messages("eviction", "b", ScriptedResponse(429))
    entry = JournalEntry(group(evict("a"), evict("b"), best_effort=True))
    assert rig.apply(entry) == sent("eviction", "a", "b")
    assert results(entry) == {"evict-a": "APPLIED", "evict-b": "FAILED"}


@pytest.mark.parametrize(
    ("limited", "rejected", "expected"),
    [
        pytest.param(("b", "c"), "b", ("b",), id="first of a budget"),
        pytest.param(("b", "c"), "c", ("b", "c"), id="second of a budget"),
        pytest.param(("b", "c"), "a", ("b", "c", "a"), id="first without a budget"),
        pytest.param((), "a", ("a",), id="no budgets"),
    ],
)
def test_group_ends_at_a_rejected_eviction(
    rig: ApplierRig, limited: Sequence[str], rejected: str, expected: Sequence[str]
) -> None:
    rig.running("a", "d")
    rig.running(*{"b", "c"} - set(limited))
    web(rig, *limited)
    budget(rig, WEB, left=len(limited))
    rig.pods("new")
    for name in "abcd":
        rig.messages("eviction", name, ScriptedResponse(429 if name == rejected else 201))
    entry = JournalEntry(group(*map(evict, "abcd"), bind("new")))
    rig.apply(entry)
    assert rig.server.writes() == sent("eviction", *expected)
    assert {id for id, status in results(entry).items() if status == "FAILED"} == {f"evict-{rejected}"}


def test_evictions_of_a_gang_are_sent_in_parallel_after_the_first(rig: ApplierRig) -> None:
    names = [f"p{number:02}" for number in range(17)]
    rig.running(*names)
    together = threading.Barrier(16)

    def respond(call: RecordedCall) -> ScriptedResponse:
        if "p00" not in call.path:
            together.wait(60)
        return ScriptedResponse(201)

    rig.server.rules.append(respond)
    entry = JournalEntry(group(*map(evict, names)))
    assert rig.apply(entry) == sent("eviction", *names)
    assert set(results(entry).values()) == {"APPLIED"}


class Crowd:
    """Responds to evictions when this number is under way, and rejects another one."""

    def __init__(self, size: int) -> None:
        self._places, self._together = threading.BoundedSemaphore(size), threading.Barrier(size)

    def respond(self, call: RecordedCall) -> ScriptedResponse:
        if not self._places.acquire(blocking=False):
            return ScriptedResponse(409)
        self._together.wait(60)
        time.sleep(0.01)
        self._places.release()
        return ScriptedResponse(201)


@pytest.mark.parametrize(
    ("patience", "at_once"),
    [pytest.param(3600.0, 1, id="turns"), pytest.param(0.0, 4, id="no patience")],
)
class TestLane:
    """What one budget limits: one after the other, or four at a time if the last one takes long."""

    @pytest.fixture(autouse=True)
    def patience_of_lanes(self, monkeypatch: pytest.MonkeyPatch, patience: float) -> None:
        monkeypatch.setattr(evictions, "PATIENCE_SECONDS", patience)

    def test_groups_of_one_budget_are_evicted_until_it_is_used_up(
        self, rig: ApplierRig, at_once: int
    ) -> None:
        names = [f"p{number:02}" for number in range(9)]
        web(rig, *names)
        budget(rig, WEB, left=8)
        rig.server.rules.append(Crowd(at_once).respond)
        entries = [JournalEntry(group(evict(name), id=name)) for name in names]
        assert rig.apply(*entries) == sent("eviction", *names[:8])
        *evicted, held = entries
        assert [results(entry) for entry in evicted] == [{f"evict-{name}": "APPLIED"} for name in names[:8]]
        (step,) = held.results.values()
        assert step.detail == "disruption budget team/limit permits 0 of 1 evictions now"

    def test_gang_with_one_budget_is_evicted_after_its_first_pod(self, rig: ApplierRig, at_once: int) -> None:
        names = [f"p{number:02}" for number in range(9)]
        web(rig, *names)
        budget(rig, WEB, left=9)
        rig.messages("eviction", "p00", ScriptedResponse(201))
        rig.server.rules.append(Crowd(at_once).respond)
        entry = JournalEntry(group(*map(evict, names)))
        assert rig.apply(entry) == sent("eviction", *names)
        assert set(results(entry).values()) == {"APPLIED"}

    def test_two_budgets_are_used_at_the_same_time(self, rig: ApplierRig, at_once: int) -> None:
        web(rig, "a", "b")
        rig.running("c", "d", meta={"labels": {"app": "db"}}, status=READY)
        budget(rig, WEB, left=2)
        budget(rig, {"matchLabels": {"app": "db"}}, left=2, name="other")
        rig.server.rules.append(Crowd(min(2 * at_once, 4)).respond)
        entries = [JournalEntry(group(evict(name), id=name)) for name in "abcd"]
        assert rig.apply(*entries) == sent("eviction", "a", "b", "c", "d")
        assert {status for entry in entries for status in results(entry).values()} == {"APPLIED"}


def test_slow_eviction_delays_only_the_next_one_of_its_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = GroupEvictions(JournalEntry(group()), map(evict, "abc"), lambda _: [EvictionBudget("limit", 3)])
    lane, *_ = share_lanes([*rows.stages[0], *rows.stages[1]])
    monkeypatch.setattr(evictions, "PATIENCE_SECONDS", 0.0)
    slow, quick = lane.next(), lane.next()
    assert slow is not None
    assert quick is not None
    monkeypatch.setattr(evictions, "PATIENCE_SECONDS", 3600.0)
    lane.end(quick)
    last = lane.next()
    assert last is not None
    assert [slow.decision.id, quick.decision.id, last.decision.id] == ["evict-a", "evict-b", "evict-c"]
    assert lane.next() is None
