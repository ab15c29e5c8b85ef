"""A timeline is what happened, in order, bounded; and whoever watches, the decision is the same."""

import pickle

import pytest
from tenure.server.engine import Engine
from tenure.server.telemetry.timeline import MOST, NO_PARENT, Entry, Timeline
from tenure.solver.framework.observer import Part
from tenure.solver.registry import default_profile
from tenure.v1.decision_service_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.properties.draw import SeededDraw
from tests.states.engine import short_engine
from tests.states.made import made_snapshot
from tests.telemetry.served import contested_snapshot


def watched(snapshot: ClusterSnapshot, engine: Engine | None = None, *, is_close: bool = True) -> Timeline:
    timeline = Timeline(is_close=is_close)
    (engine or Engine(default_profile())).decide(DecideRequest(snapshot=snapshot), timeline=timeline)
    return timeline


def parts(timeline: Timeline) -> list[tuple[str, str, str]]:
    """Every entry with the one it lies in."""
    names = [entry.name or entry.part.value for entry in timeline.entries]
    return [
        ("" if entry.parent == NO_PARENT else names[entry.parent], name, entry.outcome)
        for entry, name in zip(timeline.entries, names, strict=True)
    ]


def test_from_afar_it_has_the_phases_and_actions_in_order() -> None:
    actions = default_profile().actions
    entries = watched(contested_snapshot(), is_close=False).entries
    assert [entry.name or entry.part.value for entry in entries] == [
        *("decode", "session"),
        *actions,
        *("fold", "encode"),
    ]
    assert {entry.parent for entry in entries} == {NO_PARENT}


def test_closely_it_tells_how_a_pod_group_found_room() -> None:
    told = parts(watched(contested_snapshot()))
    for expected in (
        ("allocate", "pod_group", "no_room"),
        ("reclaim", "proportion", "admits:yes"),
        ("reclaim", "pod_group", "room"),
        ("pod_group", "minruntime", "guard:yes"),
        ("pod_group", "scenario", "accepted"),
        ("scenario", "proportion", "allows_scenario:yes"),
    ):
        assert expected in told


def test_a_guard_that_objects_is_named_with_what_it_protects() -> None:
    snapshot = contested_snapshot()
    for queue in snapshot.queues:
        queue.reclaim_min_runtime.FromSeconds(10**9)
    told = parts(watched(snapshot))
    assert ("pod_group", "minruntime", "guard:core") in told
    assert "room" not in [outcome for _, name, outcome in told if name == "pod_group"]


def test_a_pod_group_with_room_leads_to_its_group_of_the_decision() -> None:
    request = DecideRequest(snapshot=contested_snapshot())
    timeline = Timeline(is_close=True)
    (group,) = Engine(default_profile()).decide(request, timeline=timeline).groups
    uids = sorted(each.uid for each in request.snapshot.pod_groups)
    assert timeline.decided == {("reclaim", uids.index(group.beneficiary)): group.id}


@pytest.mark.parametrize("seed", range(12))
def test_the_decision_is_the_same_whoever_watches(seed: int) -> None:
    engine, request = short_engine(), DecideRequest(snapshot=made_snapshot(SeededDraw(seed), 12, 120))
    plain = engine.decide(request).SerializeToString(deterministic=True)
    for is_close in (False, True):
        answer = engine.decide(request, timeline=Timeline(is_close=is_close))
        assert answer.SerializeToString(deterministic=True) == plain


@pytest.mark.parametrize("part", [Part.POD_GROUP, Part.SCENARIO], ids=str)
def test_an_action_has_no_more_entries_than_its_share_and_counts_the_rest(part: Part) -> None:
    timeline = Timeline(is_close=True)
    for action in ("reclaim", "preempt"):
        timeline.begin(Part.ACTION, action)
        for _ in range(MOST[part] + 7):
            timeline.begin(part)
            timeline.ask("guard", "minruntime", lambda: None)
            timeline.end("room")
        timeline.end()
    actions = [place for place, entry in enumerate(timeline.entries) if entry.part is Part.ACTION]
    for place in actions:
        inside = [entry for entry in timeline.entries if entry.parent == place and entry.part is part]
        assert len(inside) == MOST[part]
        assert timeline.entries[place].counts == {f"{part}s": 7, "verdicts": 7}


def test_the_first_verdict_of_each_plugin_within_a_part_is_an_entry_and_the_rest_are_counted() -> None:
    timeline = Timeline(is_close=True)
    timeline.begin(Part.ACTION, "reclaim")
    for plugin in ("minruntime", "minruntime", "evictionmemory", "minruntime"):
        assert timeline.ask("guard", plugin, lambda: None) is None
    timeline.end()
    action, *verdicts = timeline.entries
    assert [entry.name for entry in verdicts] == ["minruntime", "evictionmemory"]
    assert action.counts == {"verdicts": 2}


def test_verdicts_have_a_share_too() -> None:
    timeline = Timeline(is_close=True)
    timeline.begin(Part.ACTION, "reclaim")
    for number in range(MOST[Part.PLUGIN] + 5):
        timeline.ask("guard", f"plugin {number}", lambda: None)
    timeline.end()
    assert len(timeline.entries) == 1 + MOST[Part.PLUGIN]
    assert timeline.entries[0].counts == {"verdicts": 5}


@pytest.fixture(scope="module")
def crowded() -> list[Entry]:
    return watched(made_snapshot(SeededDraw(0), 60, 800), short_engine()).entries


def test_entries_lie_within_those_they_belong_to(crowded: list[Entry]) -> None:
    for place, entry in enumerate(crowded):
        assert entry.begin <= entry.end
        if entry.parent != NO_PARENT:
            parent = crowded[entry.parent]
            assert entry.parent < place
            assert parent.begin <= entry.begin
            assert entry.end <= parent.end


def test_it_travels_from_one_process_to_another(crowded: list[Entry]) -> None:
    assert pickle.loads(pickle.dumps(crowded)) == crowded


def stopped_after(questions: int) -> Timeline:
    timeline, patience = Timeline(is_close=True), iter(range(questions))
    request = DecideRequest(snapshot=made_snapshot(SeededDraw(0), 20, 300))
    assert short_engine().decide(request, lambda: next(patience, None) is None, timeline).stopped_early
    return timeline


def test_a_cycle_that_is_stopped_closes_everything_and_says_where() -> None:
    timelines = [stopped_after(questions) for questions in range(1, 9)]
    assert all(entry.end for timeline in timelines for entry in timeline.entries)
    assert "stopped" in {entry.outcome for timeline in timelines for entry in timeline.entries}
