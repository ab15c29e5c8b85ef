"""What is kept of groups that are under way, and for how long."""

from collections.abc import Sequence

import pytest
from tenure.integration.journal_entry import EntryEvent, JournalEntry
from tenure.kubernetes.journal import RETENTION_SECONDS, Journal
from tenure.kubernetes.journal_rows import JournalRows
from tenure.kubernetes.observe import names
from tenure.server.reports import evaluate
from tenure.v1 import decision_pb2 as pb
from tenure.v1 import report_pb2 as out
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta

from tests.kubernetes.apply.decision_groups import (
    NOW,
    bind,
    evict,
    group,
    reserve,
    set_eviction_record,
    set_last_eviction,
)
from tests.kubernetes.observe.cached_cluster import CachedCluster, member, pod, pod_group, queue, running

APPLIED, FAILED = out.APPLY_STATUS_APPLIED, out.APPLY_STATUS_FAILED


def step(id: str, result: int, retryable: bool = False) -> out.DecisionResult:
    report = out.DecisionResult(decision_id=id, status=result, retryable=retryable)
    if retryable:
        report.retry_time.seconds = NOW.seconds + 10
    return report


def entry(*decisions: pb.Decision, steps: Sequence[out.DecisionResult] = (), id: str = "g") -> JournalEntry:
    """An entry after its apply pass, with some results."""
    made = JournalEntry(group(*decisions, id=id))
    made.handle(EntryEvent.SENT)
    for report in steps:
        made.add_result(report)
    return made


def row_of(made: JournalEntry) -> tuple[list[str], list[str], list[str]]:
    row = made.row()
    if row is None:
        return [], [], []
    return tuple([item.pod for item in part] for part in (row.evictions, row.reservations, row.bindings))  # type: ignore[return-value]


def test_all_decisions_of_a_new_group_are_in_flight() -> None:
    made = entry(evict("a"), reserve("h"), bind("b"), set_eviction_record())
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
def test_incomplete_group_retains_only_applied_decisions(
    steps: list[out.DecisionResult], row: tuple[list[str], list[str], list[str]]
) -> None:
    assert row_of(entry(evict("a"), evict("b"), reserve("h"), steps=steps)) == row


def test_cancelled_group_drops_its_reservations_despite_accepted_evictions() -> None:
    made = entry(evict("a"), reserve("h"), steps=[step("evict-a", APPLIED)])
    made.handle(EntryEvent.CANCELLED)
    assert row_of(made) == (["uid-a"], [], [])
    assert not list(made.remaining_decisions(NOW))


def test_applied_decision_remains_applied() -> None:
    made = entry(evict("a"), steps=[step("evict-a", APPLIED)])
    made.add_result(step("evict-a", FAILED))
    assert made.results["evict-a"].status == APPLIED


def cluster_objects() -> CachedCluster:
    made = CachedCluster()
    made.put("kai_queues", queue("q"))
    for name in ("victim", "winner"):
        made.put("kai_pod_groups", pod_group(name, minMember=1))
    made.put("pods", running("a", meta=member("victim")))
    made.put("pods", pod("h", meta=member("winner")))
    return made


def report_to_server(ledger: Journal, picture: object) -> None:
    """Report everything to the judge of the server."""
    for report in list(ledger.reports(ledger.unreported())):
        ledger.apply_status(evaluate(report, NOW), picture, NOW.seconds)  # type: ignore[arg-type]


def uids(*decisions: pb.Decision) -> Sequence[pb.Decision]:
    """Victim and winner by the uids of the world's objects."""
    for decision in decisions:
        if decision.HasField("evict"):
            decision.evict.pod_group = "uid-victim"
        elif decision.HasField("patch"):
            decision.patch.pod_group = "uid-victim"
    return decisions


def test_patches_of_an_accepted_eviction_are_pending() -> None:
    picture = cluster_objects().builder()
    picture.snapshot(NOW)
    ledger = Journal()
    ledger.add([entry(*uids(evict("a"), reserve("h"), set_last_eviction(), set_eviction_record()))])
    report_to_server(ledger, picture)
    assert not ledger.pending_annotations
    assert not ledger.eviction_history
    ledger.entries["g"].add_result(step("evict-a", APPLIED))
    report_to_server(ledger, picture)
    assert ledger.pending_annotations["uid-victim"].annotations == {names.LAST_EVICTION: NOW.ToJsonString()}
    assert ledger.eviction_history["victim", "winner"].result_pending


def test_rejected_eviction_stores_a_failure_without_eviction_time() -> None:
    picture = cluster_objects().builder()
    picture.snapshot(NOW)
    ledger = Journal()
    steps = [step("evict-a", FAILED)]
    ledger.add(
        [entry(*uids(evict("a"), reserve("h"), set_last_eviction(), set_eviction_record()), steps=steps)]
    )
    report_to_server(ledger, picture)
    assert not ledger.pending_annotations
    assert ledger.eviction_history["victim", "winner"].consecutive_failures == 1
    assert not ledger.entries


def test_pending_annotation_is_sent_until_the_object_contains_it() -> None:
    cluster = cluster_objects()
    picture = cluster.builder()
    ledger = Journal()
    rows = JournalRows(ledger, picture)
    first = picture.snapshot(NOW)
    rows.complete(first)
    steps = [step("evict-a", APPLIED)]
    ledger.add([entry(*uids(evict("a"), reserve("h"), set_last_eviction()), steps=steps)])
    report_to_server(ledger, picture)

    delta = picture.delta(NOW)
    rows.extend(delta)
    assert [row.id for row in delta.upserts.in_flight_groups] == ["g"]
    assert [row.last_eviction_time for row in delta.upserts.pod_groups] == [NOW]

    shown = {names.LAST_EVICTION: NOW.ToJsonString()}
    cluster.put("kai_pod_groups", pod_group("victim", minMember=1, annotations=shown))
    ledger.discard_obsolete(picture, {"uid-victim": shown}, NOW.seconds)
    assert not ledger.pending_annotations
    later = picture.delta(NOW)
    rows.extend(later)
    assert [row.last_eviction_time for row in later.upserts.pod_groups] == [NOW]


def test_pending_annotations_of_derived_pod_groups_last_as_long_as_the_pods() -> None:
    cluster = CachedCluster()
    cluster.put("pods", running("alone"))
    picture = cluster.builder()
    picture.snapshot(NOW)
    ledger = Journal()
    decisions = (evict("alone", victim="uid-alone"), set_last_eviction("uid-alone"))
    ledger.add([entry(*decisions, steps=[step("evict-alone", APPLIED)])])
    report_to_server(ledger, picture)
    ledger.discard_obsolete(picture, {}, NOW.seconds)
    assert not ledger.pending_annotations["uid-alone"].has_object

    cluster.remove("pods", "uid-alone")
    picture.delta(NOW)
    ledger.discard_obsolete(picture, {}, NOW.seconds + RETENTION_SECONDS - 1)
    assert "uid-alone" in ledger.pending_annotations
    ledger.discard_obsolete(picture, {}, NOW.seconds + RETENTION_SECONDS + 1)
    assert not ledger.pending_annotations


@pytest.mark.parametrize("name", ["alone", "victim"])
def test_pending_annotations_outlive_a_deleted_pod_group_for_a_limited_time(name: str) -> None:
    """Its last pod was seen to end, or its kind is out of sight, before the next round."""
    cluster = cluster_objects()
    cluster.put("pods", running("alone"))
    picture = cluster.builder()
    picture.snapshot(NOW)
    ledger = Journal()
    decisions = (evict("a", victim=f"uid-{name}"), set_last_eviction(f"uid-{name}"))
    ledger.add([entry(*decisions, steps=[step("evict-a", APPLIED)])])
    report_to_server(ledger, picture)

    cluster.remove("pods", "uid-alone")
    cluster.remove("kai_pod_groups", "uid-victim")
    picture.delta(NOW)
    assert picture.pod_group(f"uid-{name}") is None
    for seconds, is_kept in ((0, True), (RETENTION_SECONDS - 1, True), (RETENTION_SECONDS + 1, False)):
        ledger.discard_obsolete(picture, {}, NOW.seconds + seconds)
        assert (f"uid-{name}" in ledger.pending_annotations) is is_kept


def test_eviction_records_of_deleted_pairs_expire() -> None:
    picture = cluster_objects().builder()
    picture.snapshot(NOW)
    ledger = Journal()
    for pair in (("uid-victim", "uid-winner"), ("uid-victim", "gone")):
        ledger.eviction_history[pair] = set_eviction_record(*pair).patch.set_eviction_record
    ledger.discard_obsolete(picture, {}, NOW.seconds + RETENTION_SECONDS + 1)
    assert list(ledger.eviction_history) == [("uid-victim", "uid-winner")]


@pytest.mark.parametrize("result", ["COMPLETED", "CANCELLED", "EXPIRED", "SUPERSEDED"])
def test_group_dropped_by_the_server_is_not_applied_further(result: str) -> None:
    ledger = Journal()
    made = entry(evict("a"), evict("b"), reserve("h"), steps=[step("evict-a", APPLIED)])
    ledger.add([made])
    rows = JournalRows(ledger, CachedCluster().builder())
    rows.complete(ClusterSnapshot())
    ledger.update_states([pb.InFlightGroupStatus(id="g", state=f"IN_FLIGHT_GROUP_STATE_{result}")])
    assert not list(made.remaining_decisions(NOW))
    delta = StateDelta()
    rows.extend(delta)
    assert list(delta.removals.in_flight_groups) == ["g"]


def test_expired_group_is_reported_once_more_and_then_dropped() -> None:
    picture = cluster_objects().builder()
    picture.snapshot(NOW)
    ledger = Journal()
    made = entry(*uids(evict("a"), reserve("h"), set_eviction_record()), steps=[step("evict-a", APPLIED)])
    made.group.expire_time.CopyFrom(NOW)
    made.handle(EntryEvent.REPORTED)
    ledger.add([made])
    ledger.update_states([pb.InFlightGroupStatus(id="g", state=pb.IN_FLIGHT_GROUP_STATE_EXPIRED)])
    report_to_server(ledger, picture)
    assert ledger.eviction_history["victim", "winner"].consecutive_failures == 1
    assert not ledger.entries


def test_end_of_staleness_clears_stale_since() -> None:
    picture = cluster_objects().builder()
    snapshot = picture.snapshot(NOW)
    ledger = Journal()
    patch = pb.Patch(pod_group="uid-victim", clear_stale_since=True)
    ledger.add([entry(pb.Decision(id="c", patch=patch))])
    report_to_server(ledger, picture)
    assert ledger.pending_annotations["uid-victim"].annotations == {names.STALE_SINCE: ""}
    for row in snapshot.pod_groups:
        row.stale_since.CopyFrom(NOW)
    JournalRows(ledger, picture).complete(snapshot)
    assert [row.HasField("stale_since") for row in snapshot.pod_groups] == [False, True]
