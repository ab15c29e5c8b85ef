"""A timeline lists a bounded number of events in order; observing a cycle does not change its decisions."""

import pickle

import pytest
from tenure.codec.engine import Engine
from tenure.server.telemetry import cycle_metrics
from tenure.server.telemetry.timeline import MAX_ENTRIES, NO_PARENT, Timeline, TimelineEntry
from tenure.solver.framework.observer import Phase
from tenure.solver.registry import default_profile
from tenure.terms.durations import SECOND
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.attacks.overload.preference_flood import Gang, preference_flood
from tests.attacks.overload.test_shared_time import CountedDeadline
from tests.properties.generators.draw import SeededDraw
from tests.state.generated_snapshots import generate_snapshot
from tests.state.short_engine import short_engine
from tests.telemetry.telemetry_server import contested_snapshot


def decide_with_timeline(
    snapshot: ClusterSnapshot, engine: Engine | None = None, *, is_close: bool = True
) -> Timeline:
    timeline = Timeline(is_detailed=is_close)
    (engine or Engine(default_profile())).decide(DecideRequest(snapshot=snapshot), timeline=timeline)
    return timeline


def parts(timeline: Timeline) -> list[tuple[str, str, str]]:
    """Return every entry with its parent."""
    names = [entry.name or entry.phase.value for entry in timeline.entries]
    return [
        ("" if entry.parent == NO_PARENT else names[entry.parent], name, entry.outcome)
        for entry, name in zip(timeline.entries, names, strict=True)
    ]


def test_coarse_timeline_has_the_phases_and_actions_in_order() -> None:
    actions = default_profile().actions
    entries = decide_with_timeline(contested_snapshot(), is_close=False).entries
    assert [entry.name or entry.phase.value for entry in entries] == [
        *("decode", "session"),
        *actions,
        *("fold", "diagnose", "encode"),
    ]
    assert {entry.parent for entry in entries} == {NO_PARENT}


def test_detailed_timeline_shows_how_a_pod_group_was_placed() -> None:
    entries = parts(decide_with_timeline(contested_snapshot()))
    for expected in (
        ("allocate", "pod_group", "insufficient_resources"),
        ("reclaim", "proportion", "admits:yes"),
        ("reclaim", "pod_group", "placed"),
        ("pod_group", "minruntime", "guard:yes"),
        ("pod_group", "scenario", "accepted"),
        ("scenario", "proportion", "allows_scenario:yes"),
    ):
        assert expected in entries


def test_rejecting_guard_is_named_with_its_scope() -> None:
    snapshot = contested_snapshot()
    for queue in snapshot.queues:
        queue.reclaim_min_runtime.FromSeconds(10**9)
    entries = parts(decide_with_timeline(snapshot))
    assert ("pod_group", "minruntime", "guard:core") in entries
    assert "placed" not in [outcome for _, name, outcome in entries if name == "pod_group"]


def test_placed_pod_group_refers_to_its_decision_group() -> None:
    request = DecideRequest(snapshot=contested_snapshot())
    timeline = Timeline(is_detailed=True)
    (group,) = Engine(default_profile()).decide(request, timeline=timeline).parse().groups
    uids = sorted(each.uid for each in request.snapshot.pod_groups)
    assert timeline.group_ids == {("reclaim", uids.index(group.beneficiary)): group.id}


@pytest.mark.parametrize("seed", range(12))
def test_decision_is_the_same_with_and_without_timeline(seed: int) -> None:
    engine, request = short_engine(), DecideRequest(snapshot=generate_snapshot(SeededDraw(seed), 12, 120))
    plain = engine.decide(request).content
    for is_close in (False, True):
        answer = engine.decide(request, timeline=Timeline(is_detailed=is_close))
        assert answer.content == plain


@pytest.mark.parametrize("part", [Phase.POD_GROUP, Phase.SCENARIO], ids=str)
def test_entries_of_an_action_are_bounded_and_the_rest_counted(part: Phase) -> None:
    timeline = Timeline(is_detailed=True)
    for action in ("reclaim", "preempt"):
        timeline.begin(Phase.ACTION, action)
        for _ in range(MAX_ENTRIES[part] + 7):
            timeline.begin(part)
            timeline.call("guard", "minruntime", lambda: None)
            timeline.end("placed")
        timeline.end()
    actions = [place for place, entry in enumerate(timeline.entries) if entry.phase is Phase.ACTION]
    for place in actions:
        inside = [entry for entry in timeline.entries if entry.parent == place and entry.phase is part]
        assert len(inside) == MAX_ENTRIES[part]
        assert timeline.entries[place].counts == {f"{part}s": 7, "verdicts": 7}


def test_first_verdict_of_each_plugin_in_a_phase_is_an_entry_and_the_rest_are_counted() -> None:
    timeline = Timeline(is_detailed=True)
    timeline.begin(Phase.ACTION, "reclaim")
    for plugin in ("minruntime", "minruntime", "evictionbackoff", "minruntime"):
        assert timeline.call("guard", plugin, lambda: None) is None
    timeline.end()
    action, *verdicts = timeline.entries
    assert [entry.name for entry in verdicts] == ["minruntime", "evictionbackoff"]
    assert action.counts == {"verdicts": 2}


def test_verdicts_are_bounded() -> None:
    timeline = Timeline(is_detailed=True)
    timeline.begin(Phase.ACTION, "reclaim")
    for number in range(MAX_ENTRIES[Phase.PLUGIN] + 5):
        timeline.call("guard", f"plugin {number}", lambda: None)
    timeline.end()
    assert len(timeline.entries) == 1 + MAX_ENTRIES[Phase.PLUGIN]
    assert timeline.entries[0].counts == {"verdicts": 5}


@pytest.fixture(scope="module")
def contested_cluster() -> list[TimelineEntry]:
    return decide_with_timeline(generate_snapshot(SeededDraw(0), 60, 800), short_engine()).entries


def test_entries_are_within_their_parents(contested_cluster: list[TimelineEntry]) -> None:
    for place, entry in enumerate(contested_cluster):
        assert entry.begin <= entry.end
        if entry.parent != NO_PARENT:
            parent = contested_cluster[entry.parent]
            assert entry.parent < place
            assert parent.begin <= entry.begin
            assert entry.end <= parent.end


def test_timeline_can_be_pickled(contested_cluster: list[TimelineEntry]) -> None:
    assert pickle.loads(pickle.dumps(contested_cluster)) == contested_cluster


def stop_after(questions: int) -> Timeline:
    timeline, patience = Timeline(is_detailed=True), iter(range(questions))
    request = DecideRequest(snapshot=generate_snapshot(SeededDraw(0), 20, 300))
    assert (
        short_engine().decide(request, lambda: next(patience, None) is None, timeline).summary.stopped_early
    )
    return timeline


def test_stopped_cycle_closes_every_entry_and_marks_the_place() -> None:
    timelines = [stop_after(questions) for questions in range(1, 9)]
    assert all(entry.end for timeline in timelines for entry in timeline.entries)
    assert "stopped" in {entry.outcome for timeline in timelines for entry in timeline.entries}


def test_action_in_several_slices_is_measured_once_r2_23(monkeypatch: pytest.MonkeyPatch) -> None:
    timeline, measured = Timeline(is_detailed=False), list[tuple[str, float]]()
    request = DecideRequest(snapshot=preference_flood(40, 10, Gang(pods=100, terms=2)))
    Engine(default_profile()).decide(request, CountedDeadline(300), timeline=timeline)

    class Histogram:
        def record(self, seconds: float, labels: dict[str, str]) -> None:
            measured.append((labels["action"], seconds))

    monkeypatch.setattr(cycle_metrics, "_ACTIONS", Histogram())
    cycle_metrics.measure(timeline)
    slices = [each for each in timeline.entries if each.name == "allocate"]
    assert len(slices) > 1
    taken = sum(each.end - each.begin for each in slices) / SECOND
    assert [each for each in measured if each[0] == "allocate"] == [("allocate", taken)]
