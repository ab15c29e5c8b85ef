"""Deciding again on records: the same bytes by the same profile, and what another one would have decided."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tenure.server.records import RecordsError, RecordsFile
from tenure.server.records.differences import Kind
from tenure.server.records.replay import Replayed, replay
from tenure.solver.framework import stop
from tenure.solver.framework.profile import PluginSetting, Profile
from tenure.solver.registry import default_profile
from tenure.v1.decision_service_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.records.kept import ENGINE, decided, inline, pushed, referred, run, written

FEW = Profile(("allocate",), (PluginSetting("predicates"), PluginSetting("proportion")))


def replayed(path: Path, profile: Profile | None = None) -> list[Replayed]:
    with RecordsFile(path) as kept:
        return [replay(kept, record, profile) for record in kept.records()]


@pytest.mark.parametrize("seed", range(2))
def test_the_same_profile_decides_the_same_bytes(seed: int, tmp_path: Path) -> None:
    seen = run(seed, 5, nodes=20, pods=150)
    cycles = [*map(referred, pushed(seen)), *map(inline, seen)]
    written(tmp_path / "r", cycles)
    with RecordsFile(tmp_path / "r") as kept:
        for cycle, record in zip(cycles, kept.records(), strict=True):
            assert record.answer == cycle.answer
            again = decided(kept.snapshot(record))
            assert again.SerializeToString(deterministic=True) == cycle.answer.SerializeToString(
                deterministic=True
            )
    assert [each.differences for each in replayed(tmp_path / "r")] == [[]] * 10


def test_a_later_time_and_other_actions_are_part_of_the_question(tmp_path: Path) -> None:
    (state,) = pushed(run(1, 1))
    later = ClusterSnapshot()
    later.CopyFrom(state.snapshot)
    later.now.seconds += 3_600
    profile = replace(ENGINE.profile, actions=("allocate",))
    answer = ENGINE.decide(DecideRequest(snapshot=later, actions=["allocate"]))
    cycle = referred(state)._replace(answer=answer, actions=("allocate",), profile=profile)
    written(tmp_path / "r", [cycle])
    assert [each.differences for each in replayed(tmp_path / "r")] == [[]]


def test_an_answer_that_is_not_what_this_version_decides_is_told(tmp_path: Path) -> None:
    (snapshot,) = run(1, 1, nodes=30, pods=300)
    answer = decided(snapshot)
    bound = next(d for group in answer.groups for d in group.decisions if d.HasField("bind"))
    bound.bind.node = "elsewhere"
    written(tmp_path / "r", [inline(snapshot, answer)])
    ((difference,),) = (each.differences for each in replayed(tmp_path / "r"))
    assert difference[:4] == (Kind.NODE, "bind", bound.bind.pod, "elsewhere")


def test_an_answer_that_differs_in_anything_is_not_the_same(tmp_path: Path) -> None:
    (snapshot,) = run(1, 1)
    answer = decided(snapshot)
    answer.counters.placements += 1
    written(tmp_path / "r", [inline(snapshot, answer)])
    ((difference,),) = (each.differences for each in replayed(tmp_path / "r"))
    assert difference == (Kind.CONTENT, "answer", "counters", "", "")


def test_another_profile_shows_what_it_would_have_decided(tmp_path: Path) -> None:
    (snapshot,) = run(2, 1, nodes=30, pods=300)
    written(tmp_path / "r", [inline(snapshot)])
    (found,) = replayed(tmp_path / "r", FEW)
    missing = {(each.step, each.kind) for each in found.differences}
    evicts = any(d.HasField("evict") for group in decided(snapshot).groups for d in group.decisions)
    assert evicts
    assert ("evict", Kind.MISSING) in missing
    assert replayed(tmp_path / "r", default_profile())[0].differences == []


@pytest.mark.parametrize("steps", [0, 3, 10, 40])
def test_a_cycle_that_was_stopped_is_the_beginning_of_the_whole(
    steps: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (snapshot,) = run(2, 1, nodes=30, pods=300)
    left = iter(range(steps))
    with monkeypatch.context() as often:
        often.setattr(stop, "STRIDE", 1)
        answer = decided(snapshot, lambda: next(left, None) is None)
    assert answer.stopped_early
    written(tmp_path / "r", [inline(snapshot, answer)])
    (found,) = replayed(tmp_path / "r")
    assert found.stopped_early
    assert found.differences == []


def test_a_stopped_cycle_that_decided_something_else_is_told(tmp_path: Path) -> None:
    (snapshot,) = run(2, 1, nodes=30, pods=300)
    answer = decided(snapshot)
    answer.stopped_early = True
    bound = next(d for group in answer.groups for d in group.decisions if d.HasField("bind"))
    bound.bind.pod = "nobody"
    written(tmp_path / "r", [inline(snapshot, answer)])
    assert [each.kind for each in replayed(tmp_path / "r")[0].differences] == [Kind.MISSING]


def test_a_profile_that_is_not_known_here_cannot_be_used(tmp_path: Path) -> None:
    profile = replace(default_profile(), plugins=(PluginSetting("of-another-house"),))
    written(tmp_path / "r", [inline(*run(1, 1))._replace(profile=profile)])
    with pytest.raises(RecordsError, match=r"record 1 .*unknown plugin 'of-another-house'"):
        replayed(tmp_path / "r")
    assert replayed(tmp_path / "r", default_profile())[0].differences == []


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("PRAGMA user_version = 2", "has version 2 of the format of records; this version of Tenure knows 1"),
        ("PRAGMA application_id = 7", "is a database, but not one of records"),
        ("UPDATE records SET answer = x'00'", "record 1 cannot be read: packed bytes are damaged"),
        ("UPDATE states SET body = x'00'", "the state of record 1 cannot be read: packed bytes are damaged"),
        ("PRAGMA foreign_keys = OFF; DELETE FROM states", "the state of record 1 cannot be read: it is not"),
        ("UPDATE profiles SET content = '{}'", "record 1 cannot be decided again: its profile"),
        ("DROP TABLE profiles", "cannot be read: no such table: profiles"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(statement: str, says: str, tmp_path: Path) -> None:
    written(tmp_path / "r", [inline(*run(1, 1))])
    with closing(sqlite3.connect(tmp_path / "r")) as database:
        database.executescript(statement)
    with pytest.raises(RecordsError, match=says):
        replayed(tmp_path / "r")


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(RecordsError, match="there is no such file of records"):
        RecordsFile(tmp_path / "r")
    assert list(tmp_path.iterdir()) == []
