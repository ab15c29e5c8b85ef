"""What is kept of groups that are under way, and for how long."""

from collections.abc import Sequence

import pytest
from tenure.client.kubernetes.ledger.entry import Entry
from tenure.client.kubernetes.ledger.ledger import GONE_SECONDS, Ledger
from tenure.client.kubernetes.ledger.rows import LedgerRows
from tenure.client.kubernetes.observe import names
from tenure.server.outcomes import judged
from tenure.v1 import decision_pb2 as pb
from tenure.v1 import outcome_pb2 as out
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta

from tests.kube.apply.made import NOW, bind, evict, evicted_at, group, hold, remember
from tests.kube.observe.world import World, member, pod, pod_group, queue, running

APPLIED, FAILED = out.STEP_RESULT_APPLIED, out.STEP_RESULT_FAILED


def step(id: str, result: int, retryable: bool = False) -> out.StepReport:
    report = out.StepReport(decision_id=id, result=result, retryable=retryable)
    if retryable:
        report.retry_time.seconds = NOW.seconds + 10
    return report


def entry(*decisions: pb.Decision, steps: Sequence[out.StepReport] = (), id: str = "g") -> Entry:
    made = Entry(group(*decisions, id=id))
    for report in steps:
        made.note(report)
    return made


def row_of(made: Entry) -> tuple[list[str], list[str], list[str]]:
    row = made.row()
    if row is None:
        return [], [], []
    return tuple([item.pod for item in part] for part in (row.evictions, row.holds, row.bindings))  # type: ignore[return-value]


def test_everything_of_a_group_is_in_flight_until_it_is_known_otherwise() -> None:
    made = entry(evict("a"), hold("h"), bind("b"), remember())
    assert row_of(made) == (["uid-a"], ["uid-h"], ["uid-b"])


@pytest.mark.parametrize(
    ("steps", "row"),
    [
        pytest.param([step("evict-a", APPLIED)], (["uid-a", "uid-b"], ["uid-h"], []), id="one is done"),
        pytest.param(
            [step("evict-a", APPLIED), step("evict-b", FAILED, True)],
            (["uid-a", "uid-b"], ["uid-h"], []),
            id="one is refused for now",
        ),
        pytest.param(
            [step("evict-a", APPLIED), step("evict-b", FAILED)],
            (["uid-a"], [], []),
            id="one is refused for good",
        ),
        pytest.param([step("evict-a", FAILED)], ([], [], []), id="nothing was taken"),
    ],
)
def test_of_a_group_that_cannot_be_completed_only_what_was_taken_is_kept(
    steps: list[out.StepReport], row: tuple[list[str], list[str], list[str]]
) -> None:
    assert row_of(entry(evict("a"), evict("b"), hold("h"), steps=steps)) == row


def test_a_cancelled_group_gives_up_its_promises_even_when_all_its_evictions_were_accepted() -> None:
    made = entry(evict("a"), hold("h"), steps=[step("evict-a", APPLIED)])
    made.cancel()
    assert row_of(made) == (["uid-a"], [], [])
    assert not list(made.left(NOW))


def test_a_step_that_is_done_stays_done() -> None:
    made = entry(evict("a"), steps=[step("evict-a", APPLIED)])
    made.note(step("evict-a", FAILED))
    assert made.steps["evict-a"].result == APPLIED


def world() -> World:
    made = World()
    made.put("kai_queues", queue("q"))
    for name in ("victim", "winner"):
        made.put("kai_pod_groups", pod_group(name, minMember=1))
    made.put("pods", running("a", meta=member("victim")))
    made.put("pods", pod("h", meta=member("winner")))
    return made


def told(ledger: Ledger, picture: object) -> None:
    """Report everything to the judge of the server."""
    for report in list(ledger.reports(ledger.untold())):
        ledger.judge(judged(report, NOW), picture, NOW.seconds)  # type: ignore[arg-type]


def uids(*decisions: pb.Decision) -> Sequence[pb.Decision]:
    """Victim and winner by the uids of the world's objects."""
    for decision in decisions:
        if decision.HasField("evict"):
            decision.evict.pod_group = "uid-victim"
        elif decision.HasField("patch"):
            decision.patch.pod_group = "uid-victim"
    return decisions


def test_what_an_accepted_eviction_is_to_leave_behind_is_noted() -> None:
    picture = world().picture()
    picture.snapshot(NOW)
    ledger = Ledger()
    ledger.add([entry(*uids(evict("a"), hold("h"), evicted_at(), remember()))])
    told(ledger, picture)
    assert not ledger.notes
    assert not ledger.memory
    ledger.entries["g"].note(step("evict-a", APPLIED))
    told(ledger, picture)
    assert ledger.notes["uid-victim"].annotations == {names.LAST_EVICTION: NOW.ToJsonString()}
    assert ledger.memory["victim", "winner"].unsettled


def test_a_refused_eviction_leaves_no_time_of_eviction_but_a_failure() -> None:
    picture = world().picture()
    picture.snapshot(NOW)
    ledger = Ledger()
    steps = [step("evict-a", FAILED)]
    ledger.add([entry(*uids(evict("a"), hold("h"), evicted_at(), remember()), steps=steps)])
    told(ledger, picture)
    assert not ledger.notes
    assert ledger.memory["victim", "winner"].failures == 1
    assert not ledger.entries


def test_a_note_goes_with_the_row_until_the_object_shows_it() -> None:
    cluster = world()
    picture = cluster.picture()
    ledger = Ledger()
    rows = LedgerRows(ledger, picture)
    first = picture.snapshot(NOW)
    rows.complete(first)
    steps = [step("evict-a", APPLIED)]
    ledger.add([entry(*uids(evict("a"), hold("h"), evicted_at()), steps=steps)])
    told(ledger, picture)

    delta = picture.delta(NOW)
    rows.extend(delta)
    assert [row.id for row in delta.upserts.in_flight_groups] == ["g"]
    assert [row.last_eviction_time for row in delta.upserts.pod_groups] == [NOW]

    shown = {names.LAST_EVICTION: NOW.ToJsonString()}
    cluster.put("kai_pod_groups", pod_group("victim", minMember=1, annotations=shown))
    ledger.settle(picture, {"uid-victim": shown}, NOW.seconds)
    assert not ledger.notes
    later = picture.delta(NOW)
    rows.extend(later)
    assert [row.last_eviction_time for row in later.upserts.pod_groups] == [NOW]


def test_pod_groups_without_an_object_are_remembered_here_as_long_as_they_exist() -> None:
    cluster = World()
    cluster.put("pods", running("alone"))
    picture = cluster.picture()
    picture.snapshot(NOW)
    ledger = Ledger()
    decisions = (evict("alone", victim="uid-alone"), evicted_at("uid-alone"))
    ledger.add([entry(*decisions, steps=[step("evict-alone", APPLIED)])])
    told(ledger, picture)
    ledger.settle(picture, {}, NOW.seconds)
    assert not ledger.notes["uid-alone"].has_object

    cluster.remove("pods", "uid-alone")
    picture.delta(NOW)
    ledger.settle(picture, {}, NOW.seconds + GONE_SECONDS - 1)
    assert "uid-alone" in ledger.notes
    ledger.settle(picture, {}, NOW.seconds + GONE_SECONDS + 1)
    assert not ledger.notes


@pytest.mark.parametrize("name", ["alone", "victim"])
def test_what_is_noted_of_a_pod_group_that_is_gone_at_once_is_kept_for_a_while(name: str) -> None:
    """Its last pod was seen to end, or its kind is out of sight, before the next round."""
    cluster = world()
    cluster.put("pods", running("alone"))
    picture = cluster.picture()
    picture.snapshot(NOW)
    ledger = Ledger()
    decisions = (evict("a", victim=f"uid-{name}"), evicted_at(f"uid-{name}"))
    ledger.add([entry(*decisions, steps=[step("evict-a", APPLIED)])])
    told(ledger, picture)

    cluster.remove("pods", "uid-alone")
    cluster.remove("kai_pod_groups", "uid-victim")
    picture.delta(NOW)
    assert picture.pod_group(f"uid-{name}") is None
    for seconds, is_kept in ((0, True), (GONE_SECONDS - 1, True), (GONE_SECONDS + 1, False)):
        ledger.settle(picture, {}, NOW.seconds + seconds)
        assert (f"uid-{name}" in ledger.notes) is is_kept


def test_what_is_remembered_of_pairs_that_are_gone_is_forgotten_in_time() -> None:
    picture = world().picture()
    picture.snapshot(NOW)
    ledger = Ledger()
    for pair in (("uid-victim", "uid-winner"), ("uid-victim", "gone")):
        ledger.memory[pair] = remember(*pair).patch.remember
    ledger.settle(picture, {}, NOW.seconds + GONE_SECONDS + 1)
    assert list(ledger.memory) == [("uid-victim", "uid-winner")]


@pytest.mark.parametrize("result", ["FINISHED", "CANCELLED", "LAPSED", "REDEEMED"])
def test_a_group_that_the_server_lets_go_is_taken_no_further(result: str) -> None:
    ledger = Ledger()
    made = entry(evict("a"), evict("b"), hold("h"), steps=[step("evict-a", APPLIED)])
    ledger.add([made])
    rows = LedgerRows(ledger, World().picture())
    rows.complete(ClusterSnapshot())
    ledger.follow([pb.InFlightStatus(id="g", result=f"IN_FLIGHT_RESULT_{result}")])
    assert not list(made.left(NOW))
    delta = StateDelta()
    rows.extend(delta)
    assert list(delta.removes.in_flight_groups) == ["g"]


def test_a_group_that_lapsed_is_reported_once_more_and_then_dropped() -> None:
    picture = world().picture()
    picture.snapshot(NOW)
    ledger = Ledger()
    made = entry(*uids(evict("a"), hold("h"), remember()), steps=[step("evict-a", APPLIED)])
    made.group.expire_time.CopyFrom(NOW)
    made.is_told = True
    ledger.add([made])
    ledger.follow([pb.InFlightStatus(id="g", result=pb.IN_FLIGHT_RESULT_LAPSED)])
    told(ledger, picture)
    assert ledger.memory["victim", "winner"].failures == 1
    assert not ledger.entries


def test_the_end_of_being_stale_is_noted_as_nothing() -> None:
    picture = world().picture()
    snapshot = picture.snapshot(NOW)
    ledger = Ledger()
    patch = pb.Patch(pod_group="uid-victim", clear_stale_since=True)
    ledger.add([entry(pb.Decision(id="c", patch=patch))])
    told(ledger, picture)
    assert ledger.notes["uid-victim"].annotations == {names.STALE_SINCE: ""}
    for row in snapshot.pod_groups:
        row.stale_since.CopyFrom(NOW)
    LedgerRows(ledger, picture).complete(snapshot)
    assert [row.HasField("stale_since") for row in snapshot.pod_groups] == [False, True]
