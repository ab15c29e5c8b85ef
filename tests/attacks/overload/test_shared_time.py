"""Actions and queues take turns in the time of a cycle (R2.23, R2.24). Looks at the time are counted."""

import gc
from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any, Final

from tenure.codec.decode import decode_snapshot
from tenure.codec.engine import Engine
from tenure.server.deadlines import CutShort, Deadline
from tenure.solver.diagnosis.answer import answer
from tenure.solver.framework.observer import Phase
from tenure.solver.framework.session import Session
from tenure.solver.registry import default_profile
from tenure.terms.cancellation import never, time_left_of
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse
from tenure.v1.decision_pb2 import (
    OUTCOME_KIND_BOUND,
    OUTCOME_KIND_BUDGET_EXHAUSTED,
    OUTCOME_KIND_WAITING_FOR_VICTIMS,
)
from tenure.wire.carried import StoredRows, add_rows

from tests.attacks.overload.preference_flood import Gang, preference_flood

GANGS: Final = 40
NODES: Final = 10
GANG: Final = Gang(pods=100, terms=2)


class CountedDeadline:
    """A deadline whose clock ticks whenever a search looks at it."""

    def __init__(self, ticks: int) -> None:
        self.left = ticks

    def __call__(self) -> bool:
        self.left -= 1
        return self.left <= 0

    def search_time_left(self) -> int:
        return self.left


class Unshared:
    """A deadline that does not report its remaining time."""

    def __init__(self, ticks: int) -> None:
        self.left = ticks

    def __call__(self) -> bool:
        self.left -= 1
        return self.left <= 0


def _decide(snapshot: pb.ClusterSnapshot, stop: CountedDeadline | Unshared) -> DecideResponse:
    return DecideResponse.FromString(
        Engine(default_profile()).decide(DecideRequest(snapshot=snapshot), stop).content
    )


class _UntilDiagnosis:
    """Notes how much of a deadline is left when the diagnosis begins."""

    is_detailed: Final = False

    def __init__(self, stop: Unshared) -> None:
        self.left = 0
        self._stop = stop

    def begin(self, phase: Phase, name: str = "", pod_group: int | None = None) -> None:
        if phase is Phase.DIAGNOSE:
            self.left = self._stop.left

    def end(self, outcome: str = "") -> None:
        pass

    def call(self, point: str, plugin: str, method: Callable[..., Any], *args: Any) -> Any:
        return method(*args)


def _ticks_of_allocate(snapshot: pb.ClusterSnapshot) -> int:
    stop = Unshared(10**9)
    observer = _UntilDiagnosis(stop)
    answer(decode_snapshot(snapshot), replace(default_profile(), actions=("allocate",)), stop, observer)
    return 10**9 - observer.left


def _kind(response: DecideResponse, pod_group: str) -> int:
    return next(each.kind for each in response.outcomes if each.pod_group == pod_group)


def test_reclaim_has_its_turn_beside_pods_that_keep_allocate_busy_r2_23() -> None:
    snapshot = preference_flood(GANGS, NODES, GANG)
    ticks = _ticks_of_allocate(snapshot)
    without = _decide(snapshot, Unshared(ticks))
    assert without.stopped_early
    assert _kind(without, "owner") == OUTCOME_KIND_BUDGET_EXHAUSTED
    response = _decide(snapshot, CountedDeadline(ticks))
    assert response.stopped_early
    assert _kind(response, "owner") == OUTCOME_KIND_WAITING_FOR_VICTIMS


def test_action_that_was_interrupted_goes_on_with_the_time_that_is_left_r2_23() -> None:
    snapshot = preference_flood(GANGS, NODES, GANG)
    complete = _decide(snapshot, Unshared(10**9))
    response = _decide(snapshot, CountedDeadline(3 * _ticks_of_allocate(snapshot)))
    assert response.stopped_early, "its order depends on the time"
    kinds = {each.pod_group: each.kind for each in response.outcomes}
    assert kinds == {each.pod_group: each.kind for each in complete.outcomes}


def test_queue_has_its_turn_beside_one_that_keeps_an_action_busy_r2_24() -> None:
    snapshot = preference_flood(GANGS, NODES, GANG)
    for queue in snapshot.queues:
        queue.priority = int(queue.name == "evil")
    snapshot.shapes.add(id="small", requests={"cpu_milli": 1_000})
    group = snapshot.pod_groups.add(uid="small", name="small", queue="owner", min_member=1, priority=1)
    group.creation_time.seconds = 1_600_000_000
    snapshot.pods.add(uid="small", pod_group="small", shape="small", status=pb.POD_STATUS_PENDING)
    ticks = _ticks_of_allocate(snapshot)
    assert _kind(_decide(snapshot, Unshared(ticks // 2)), "small") == OUTCOME_KIND_BUDGET_EXHAUSTED
    assert _kind(_decide(snapshot, CountedDeadline(ticks // 2)), "small") == OUTCOME_KIND_BOUND


def _behind_failures() -> pb.ClusterSnapshot:
    """In the queue of the attack, the gang `fits` comes last, and could start."""
    snapshot = preference_flood(GANGS, NODES, GANG)
    snapshot.shapes.add(id="small", requests={"cpu_milli": 1_000})
    group = snapshot.pod_groups.add(uid="fits", name="fits", queue="evil", min_member=GANG.pods)
    group.creation_time.CopyFrom(snapshot.now)
    for number in range(GANG.pods):
        uid = f"fits-{number}"
        snapshot.pods.add(uid=uid, pod_group="fits", shape="small", status=pb.POD_STATUS_PENDING)
    for each in snapshot.pod_groups:
        each.priority = int(each.uid != "fits")
    return snapshot


def _kinds_in_turn(snapshot: pb.ClusterSnapshot, ticks: int, cycles: int, *, stores: bool) -> list[int]:
    """What becomes of the gang in cycles of so many looks at the time."""
    engine, kinds, stored = Engine(replace(default_profile(), actions=("allocate",))), [], StoredRows()
    for _ in range(cycles):
        content = engine.decide(DecideRequest(snapshot=snapshot), CountedDeadline(ticks)).content
        response = DecideResponse.FromString(content)
        kinds.append(_kind(response, "fits"))
        stored.store(response, is_accepted=False)
        snapshot.now.seconds += 30
        del snapshot.postponed_pod_groups[:]
        if stores:
            add_rows(snapshot, {"postponed_pod_groups": stored["postponed_pod_groups"]})
    return kinds


def test_pod_group_behind_failures_of_its_queue_has_its_turn_in_a_later_cycle_r2_25() -> None:
    snapshot = _behind_failures()
    ticks = _ticks_of_allocate(snapshot) // 4
    assert set(_kinds_in_turn(snapshot, ticks, 4, stores=False)) == {OUTCOME_KIND_BUDGET_EXHAUSTED}
    assert OUTCOME_KIND_BOUND in _kinds_in_turn(snapshot, ticks, 12, stores=True)


def test_deadline_of_a_call_tells_the_time_without_that_for_the_response_r2_23() -> None:
    left = time_left_of(Deadline(100.0, CutShort()))
    assert left is not None
    assert 0 < left() <= 90 * 1_000_000
    endless = time_left_of(Deadline(inf, CutShort()))
    assert endless is not None
    assert endless() == endless() > left()
    assert time_left_of(never) is None


def test_interrupted_actions_leave_nothing_to_the_garbage_collector_r2_23() -> None:
    snapshot = preference_flood(GANGS, NODES, GANG)
    ticks = _ticks_of_allocate(snapshot)
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        for part in (2, 3, 5):
            assert _decide(snapshot, CountedDeadline(ticks // part)).stopped_early
        gc.collect()
        assert not [each for each in gc.garbage if isinstance(each, Session)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
