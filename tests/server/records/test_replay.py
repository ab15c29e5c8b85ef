"""Replay of records: identical bytes with the same profile, and the decisions of another profile."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tenure.server.records import RecordsError, RecordsFile
from tenure.server.records.replay import DifferenceKind, ReplayResult, replay
from tenure.solver.framework import stop_signal
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.registry import default_profile
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.attacks.overload.preference_flood import preference_flood
from tests.attacks.overload.test_shared_time import GANG, GANGS, NODES, CountedDeadline
from tests.server.records.recorded_cycles import (
    ENGINE,
    decide,
    draw_snapshots,
    inline_cycle,
    push_states,
    state_cycle,
    with_content,
    write_records,
)

FEW = Profile(("allocate",), (PluginConfig("predicates"), PluginConfig("proportion")))


def run_replay(path: Path, profile: Profile | None = None) -> list[ReplayResult]:
    with RecordsFile(path) as kept:
        return [replay(kept, record, profile) for record in kept.records()]


@pytest.mark.parametrize("seed", range(2))
def test_the_same_profile_decides_the_same_bytes(seed: int, tmp_path: Path) -> None:
    seen = draw_snapshots(seed, 5, nodes=20, pods=150)
    cycles = [*map(state_cycle, push_states(seen)), *map(inline_cycle, seen)]
    write_records(tmp_path / "r", cycles)
    with RecordsFile(tmp_path / "r") as kept:
        for cycle, record in zip(cycles, kept.records(), strict=True):
            assert record.response == cycle.response.parse()
            assert decide(kept.snapshot(record)) == cycle.response
    assert [each.differences for each in run_replay(tmp_path / "r")] == [[]] * 10


def test_request_time_and_actions_are_replayed(tmp_path: Path) -> None:
    (state,) = push_states(draw_snapshots(1, 1))
    later = ClusterSnapshot()
    later.CopyFrom(state.snapshot)
    later.now.seconds += 3_600
    profile = replace(ENGINE.profile, actions=("allocate",))
    answer = ENGINE.decide(DecideRequest(snapshot=later, actions=["allocate"]))
    cycle = state_cycle(state)._replace(response=answer, actions=("allocate",), profile=profile)
    write_records(tmp_path / "r", [cycle])
    assert [each.differences for each in run_replay(tmp_path / "r")] == [[]]


def test_response_that_this_version_would_not_return_is_a_difference(tmp_path: Path) -> None:
    (snapshot,) = draw_snapshots(1, 1, nodes=30, pods=300)
    response = decide(snapshot)
    answer = response.parse()
    bound = next(d for group in answer.groups for d in group.decisions if d.HasField("bind"))
    bound.bind.node = "elsewhere"
    write_records(tmp_path / "r", [inline_cycle(snapshot, with_content(response, answer))])
    ((difference,),) = (each.differences for each in run_replay(tmp_path / "r"))
    assert difference[:4] == (DifferenceKind.NODE, "bind", bound.bind.pod, "elsewhere")


def test_response_with_any_other_field_is_a_difference(tmp_path: Path) -> None:
    (snapshot,) = draw_snapshots(1, 1)
    response = decide(snapshot)
    answer = response.parse()
    answer.counters.placement_attempts += 1
    write_records(tmp_path / "r", [inline_cycle(snapshot, with_content(response, answer))])
    ((difference,),) = (each.differences for each in run_replay(tmp_path / "r"))
    assert difference == (DifferenceKind.CONTENT, "answer", "counters", "", "")


def test_another_profile_results_in_its_own_decisions(tmp_path: Path) -> None:
    (snapshot,) = draw_snapshots(2, 1, nodes=30, pods=300)
    write_records(tmp_path / "r", [inline_cycle(snapshot)])
    (found,) = run_replay(tmp_path / "r", FEW)
    missing = {(each.decision_kind, each.kind) for each in found.differences}
    evicts = any(d.HasField("evict") for group in decide(snapshot).parse().groups for d in group.decisions)
    assert evicts
    assert ("evict", DifferenceKind.MISSING) in missing
    assert run_replay(tmp_path / "r", default_profile())[0].differences == []


@pytest.mark.parametrize("steps", [0, 3, 10, pytest.param(40, marks=pytest.mark.interpreted)])
def test_stopped_cycle_that_is_a_prefix_has_no_differences(
    steps: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (snapshot,) = draw_snapshots(2, 1, nodes=30, pods=300)
    left = iter(range(steps))
    with monkeypatch.context() as often:
        often.setattr(stop_signal, "STRIDE", 1)
        answer = decide(snapshot, lambda: next(left, None) is None)
    assert answer.summary.stopped_early
    write_records(tmp_path / "r", [inline_cycle(snapshot, answer)])
    (found,) = run_replay(tmp_path / "r")
    assert found.stopped_early
    assert found.differences == []


def test_cycle_whose_order_depended_on_the_time_is_not_compared_r2_24(tmp_path: Path) -> None:
    snapshot = preference_flood(GANGS, NODES, GANG)
    answer = decide(snapshot, CountedDeadline(250))
    assert answer.parse().shared_time
    write_records(tmp_path / "r", [inline_cycle(snapshot, answer)])
    (found,) = run_replay(tmp_path / "r")
    assert found.stopped_early
    assert not found.is_compared
    assert found.differences == []


def test_stopped_cycle_with_other_decisions_is_a_difference(tmp_path: Path) -> None:
    (snapshot,) = draw_snapshots(2, 1, nodes=30, pods=300)
    response = decide(snapshot)
    answer = response.parse()
    bound = next(d for group in answer.groups for d in group.decisions if d.HasField("bind"))
    bound.bind.pod = "unknown"
    stopped = response._replace(summary=response.summary._replace(stopped_early=True))
    write_records(tmp_path / "r", [inline_cycle(snapshot, with_content(stopped, answer))])
    assert [each.kind for each in run_replay(tmp_path / "r")[0].differences] == [DifferenceKind.MISSING]


def test_recorded_profile_with_unknown_plugin_is_rejected(tmp_path: Path) -> None:
    profile = replace(default_profile(), plugins=(PluginConfig("of-another-house"),))
    write_records(tmp_path / "r", [inline_cycle(*draw_snapshots(1, 1))._replace(profile=profile)])
    with pytest.raises(RecordsError, match=r"record 1 .*unknown plugin 'of-another-house'"):
        run_replay(tmp_path / "r")
    assert run_replay(tmp_path / "r", default_profile())[0].differences == []


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("PRAGMA user_version = 1", "has format version 1; this version of Tenure supports 2"),
        ("PRAGMA application_id = 7", "is a database, but not a records file"),
        ("UPDATE records SET answer = x'00'", "record 1 cannot be read: packed bytes are corrupt"),
        ("UPDATE states SET body = x'00'", "the state of record 1 cannot be read: packed bytes are corrupt"),
        (
            "PRAGMA foreign_keys = OFF; DELETE FROM states",
            "the state of record 1 cannot be read: it is missing",
        ),
        ("UPDATE profiles SET content = '{}'", "record 1 cannot be replayed with its profile"),
        ("DROP TABLE profiles", "is not a records file: it has no table 'profiles'"),
    ],
)
def test_unusable_file_is_an_error_with_its_reason(statement: str, says: str, tmp_path: Path) -> None:
    write_records(tmp_path / "r", [inline_cycle(*draw_snapshots(1, 1))])
    with closing(sqlite3.connect(tmp_path / "r")) as database:
        database.executescript(statement)
    with pytest.raises(RecordsError, match=says):
        run_replay(tmp_path / "r")


def test_missing_file_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(RecordsError, match="no such records file"):
        RecordsFile(tmp_path / "r")
    assert list(tmp_path.iterdir()) == []
