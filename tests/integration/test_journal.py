"""What the journal stores, and for how long: in-flight groups, eviction records and patches."""

from collections.abc import Sequence

import pytest
from tenure.integration.fake_scheduler import FakeScheduler
from tenure.integration.journal import RETENTION_SECONDS, Journal, PendingPatches
from tenure.integration.journal_entry import EntryEvent, JournalEntry
from tenure.integration.journal_rows import JournalRows
from tenure.server.reports import evaluate
from tenure.v1 import decision_pb2 as pb
from tenure.v1 import report_pb2 as out
from tenure.v1.decide_pb2 import DecideResponse, EvictionRateStatus, StatePatch
from tenure.v1.snapshot_pb2 import ClusterSnapshot, EvictionRateState, PlannedStart, PodGroup, QueueUsage
from tenure.v1.state_pb2 import StateDelta
from tenure.wire.carried import CARRIED, STORED

from tests.kubernetes.apply.decision_groups import (
    NOW,
    bind,
    evict,
    group,
    reserve,
    set_eviction_record,
    set_last_eviction,
)

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


def cluster() -> FakeScheduler:
    """A victim and a preemptor. Pod group `derived` has no object."""
    scheduler = FakeScheduler(ClusterSnapshot())
    for name in ("victim", "winner", "derived"):
        scheduler.rows.pod_groups.add(uid=name, name=name)
    scheduler.derived_pod_groups.add("derived")
    return scheduler


def remove_pod_group(scheduler: FakeScheduler, name: str) -> None:
    rows = [row for row in scheduler.rows.pod_groups if row.uid != name]
    del scheduler.rows.pod_groups[:]
    scheduler.rows.pod_groups.extend(rows)


def discard(journal: Journal, scheduler: FakeScheduler, seconds: float = 0) -> None:
    scheduler.snapshot(NOW)
    journal.discard_obsolete(scheduler, scheduler, NOW.seconds + seconds)


def report_to_server(journal: Journal) -> None:
    """Report the results of all entries to the server's evaluation."""
    for report in list(journal.reports(journal.unreported())):
        journal.apply_status(evaluate(report, NOW), NOW.seconds)


def pending_changes(journal: Journal, name: str) -> list[str | None]:
    return [patch.WhichOneof("change") for patch in journal.pending_patches[name].patches.values()]


def test_patches_of_an_accepted_eviction_are_pending() -> None:
    journal = Journal()
    journal.add([entry(evict("a"), reserve("h"), set_last_eviction(), set_eviction_record())])
    report_to_server(journal)
    assert not journal.pending_patches
    assert not journal.eviction_history
    journal.entries["g"].add_result(step("evict-a", APPLIED))
    report_to_server(journal)
    assert pending_changes(journal, "victim") == ["last_eviction_time"]
    assert journal.eviction_history["victim", "winner"].result_pending


def test_rejected_eviction_stores_a_failure_without_eviction_time() -> None:
    journal = Journal()
    steps = [step("evict-a", FAILED)]
    journal.add([entry(evict("a"), reserve("h"), set_last_eviction(), set_eviction_record(), steps=steps)])
    report_to_server(journal)
    assert not journal.pending_patches
    assert journal.eviction_history["victim", "winner"].consecutive_failures == 1
    assert not journal.entries


def test_pending_patch_is_sent_until_the_object_contains_it() -> None:
    scheduler, journal = cluster(), Journal()
    rows = JournalRows(journal, scheduler)
    rows.complete(scheduler.snapshot(NOW))
    steps = [step("evict-a", APPLIED)]
    journal.add([entry(evict("a"), reserve("h"), set_last_eviction(), steps=steps)])
    report_to_server(journal)

    delta = scheduler.delta(NOW)
    rows.extend(delta)
    assert [row.id for row in delta.upserts.in_flight_groups] == ["g"]
    assert [row.last_eviction_time for row in delta.upserts.pod_groups] == [NOW]

    scheduler.stored_pod_group("victim").last_eviction_time.CopyFrom(NOW)
    discard(journal, scheduler)
    assert not journal.pending_patches
    later = scheduler.delta(NOW)
    rows.extend(later)
    assert [row.last_eviction_time for row in later.upserts.pod_groups] == [NOW]


@pytest.mark.parametrize("name", ["derived", "victim"])
def test_pending_patches_outlive_a_deleted_pod_group_for_a_limited_time(name: str) -> None:
    scheduler, journal = cluster(), Journal()
    decisions = (evict("a", victim=name), set_last_eviction(name))
    journal.add([entry(*decisions, steps=[step("evict-a", APPLIED)])])
    report_to_server(journal)
    discard(journal, scheduler)
    assert name in journal.pending_patches

    remove_pod_group(scheduler, name)
    for seconds, is_kept in ((0, True), (RETENTION_SECONDS - 1, True), (RETENTION_SECONDS + 1, False)):
        discard(journal, scheduler, seconds)
        assert (name in journal.pending_patches) is is_kept


def test_pending_patches_of_a_pod_group_without_an_object_last_as_long_as_the_pod_group() -> None:
    scheduler, journal = cluster(), Journal()
    decisions = (evict("a", victim="derived"), set_last_eviction("derived"))
    journal.add([entry(*decisions, steps=[step("evict-a", APPLIED)])])
    report_to_server(journal)
    discard(journal, scheduler, 2 * RETENTION_SECONDS)
    discard(journal, scheduler, 3 * RETENTION_SECONDS - 1)
    assert pending_changes(journal, "derived") == ["last_eviction_time"]


def test_eviction_records_of_deleted_pairs_expire() -> None:
    journal = Journal()
    for pair in (("victim", "winner"), ("victim", "gone")):
        journal.eviction_history[pair] = set_eviction_record(*pair).patch.set_eviction_record
    discard(journal, cluster(), RETENTION_SECONDS + 1)
    assert list(journal.eviction_history) == [("victim", "winner")]


@pytest.mark.parametrize("result", ["COMPLETED", "CANCELLED", "EXPIRED", "SUPERSEDED"])
def test_group_dropped_by_the_server_is_not_applied_further(result: str) -> None:
    journal = Journal()
    made = entry(evict("a"), evict("b"), reserve("h"), steps=[step("evict-a", APPLIED)])
    journal.add([made])
    rows = JournalRows(journal, cluster())
    rows.complete(ClusterSnapshot())
    journal.update_states([pb.InFlightGroupStatus(id="g", state=f"IN_FLIGHT_GROUP_STATE_{result}")])
    assert not list(made.remaining_decisions(NOW))
    delta = StateDelta()
    rows.extend(delta)
    assert list(delta.removals.in_flight_groups) == ["g"]


def test_expired_group_is_reported_once_more_and_then_dropped() -> None:
    journal = Journal()
    made = entry(evict("a"), reserve("h"), set_eviction_record(), steps=[step("evict-a", APPLIED)])
    made.group.expire_time.CopyFrom(NOW)
    made.handle(EntryEvent.REPORTED)
    journal.add([made])
    journal.update_states([pb.InFlightGroupStatus(id="g", state=pb.IN_FLIGHT_GROUP_STATE_EXPIRED)])
    report_to_server(journal)
    assert journal.eviction_history["victim", "winner"].consecutive_failures == 1
    assert not journal.entries


def test_end_of_staleness_clears_stale_since() -> None:
    journal = Journal()
    patch = pb.Patch(pod_group="victim", clear_stale_since=True)
    journal.add([entry(pb.Decision(id="c", patch=patch))])
    report_to_server(journal)
    assert pending_changes(journal, "victim") == ["clear_stale_since"]
    row = PodGroup(uid="victim", stale_since=NOW, eviction_count=2)
    assert journal.pending_patches["victim"].applied_to(row) == PodGroup(uid="victim", eviction_count=2)


def test_last_patch_of_a_field_counts() -> None:
    pending = PendingPatches()
    for count in (1, 2):
        pending.add(pb.Patch(pod_group="v", eviction_count=count))
    pending.add(pb.Patch(pod_group="v", clear_stale_since=True))
    pending.add(pb.Patch(pod_group="v", stale_since=NOW))
    assert pending.applied_to(PodGroup()) == PodGroup(eviction_count=2, stale_since=NOW)


MAX_USAGE = CARRIED["queue_usage"].rules.most_stored


def used(*rows: QueueUsage) -> DecideResponse:
    return DecideResponse(state_patches=[StatePatch(set_queue_usage=row) for row in rows])


def test_past_use_is_sent_once_after_each_change() -> None:
    scheduler, journal = cluster(), Journal()
    rows = JournalRows(journal, scheduler)
    journal.store_state(used(QueueUsage(queue="q"), QueueUsage()), is_accepted=False)
    snapshot = scheduler.snapshot(NOW)
    rows.complete(snapshot)
    assert [row.queue for row in snapshot.queue_usage] == ["q", ""]
    journal.store_state(used(QueueUsage(queue="q", time=NOW)), is_accepted=False)
    for expected in (["q"], []):
        delta = scheduler.delta(NOW)
        rows.extend(delta)
        assert [row.queue for row in delta.upserts.queue_usage] == expected


def test_past_use_of_the_queues_that_changed_first_is_forgotten_beyond_a_maximum() -> None:
    """Queues of users come and go; that of the capacity always stays."""
    scheduler, journal = cluster(), Journal()
    rows = JournalRows(journal, scheduler)
    old = [QueueUsage(), *(QueueUsage(queue=f"user-{i}", time={"seconds": i}) for i in range(MAX_USAGE - 1))]
    journal.store_state(used(*old), is_accepted=False)
    rows.complete(scheduler.snapshot(NOW))
    journal.store_state(used(QueueUsage(queue="new", time={"seconds": MAX_USAGE})), is_accepted=False)
    delta = scheduler.delta(NOW)
    rows.extend(delta)
    assert [row.queue for row in delta.upserts.queue_usage] == ["new"]
    assert list(delta.removals.queue_usage) == ["user-0"]
    assert (len(journal.carried["queue_usage"]), "" in journal.carried["queue_usage"]) == (MAX_USAGE, True)


def test_planned_starts_are_sent_until_they_are_deleted() -> None:
    scheduler, journal = cluster(), Journal()
    rows = JournalRows(journal, scheduler)
    kept = [StatePatch(set_planned_start=PlannedStart(pod_group=name, since=NOW)) for name in ("a", "b")]
    journal.store_state(DecideResponse(state_patches=kept), is_accepted=False)
    snapshot = scheduler.snapshot(NOW)
    rows.complete(snapshot)
    assert [row.pod_group for row in snapshot.planned_starts] == ["a", "b"]
    changes = [
        StatePatch(delete_planned_start="a"),
        StatePatch(set_planned_start=PlannedStart(pod_group="b", since=NOW, held=1)),
    ]
    journal.store_state(DecideResponse(state_patches=changes), is_accepted=False)
    for changed, gone in ((["b"], ["a"]), ([], [])):
        delta = scheduler.delta(NOW)
        rows.extend(delta)
        assert [row.pod_group for row in delta.upserts.planned_starts] == changed
        assert list(delta.removals.planned_starts) == gone


def test_states_of_eviction_rates_are_sent_until_the_profile_has_them_no_more() -> None:
    journal = Journal()
    rows = JournalRows(journal, cluster())
    charged = EvictionRateState(name="a", tokens_milli=-2_000, time=NOW)
    patches = [StatePatch(set_eviction_rate=charged), StatePatch()]
    status = [EvictionRateStatus(name="a"), EvictionRateStatus(name="b")]
    journal.store_state(DecideResponse(eviction_rates=status, state_patches=patches), is_accepted=True)
    assert journal.is_changed
    snapshot = ClusterSnapshot()
    rows.complete(snapshot)
    assert list(snapshot.eviction_rates) == [charged]
    journal.store_state(DecideResponse(eviction_rates=status), is_accepted=True)
    unchanged, gone = StateDelta(), StateDelta()
    rows.extend(unchanged)
    assert not unchanged.upserts.eviction_rates
    journal.store_state(DecideResponse(eviction_rates=status[1:]), is_accepted=True)
    rows.extend(gone)
    assert list(gone.removals.eviction_rates) == ["a"]


def test_returned_tokens_are_added_once_to_the_state_of_their_rate() -> None:
    """R15.9. Tokens of a rate without a state have no place: it is full."""
    journal = Journal()
    journal.add([entry(evict("a"), evict("b"))])
    hourly = EvictionRateState(name="hourly", tokens_milli=-500, time=NOW)
    journal.carried["eviction_rates"]["hourly"] = hourly
    tokens = [
        out.PatchToStore(decision_id=id, returned_tokens=out.ReturnedTokens(name=name, tokens_milli=1_000))
        for id, name in (("evict-a", "hourly"), ("evict-b", "hourly"), ("evict-a", "full"))
    ]
    rows = JournalRows(journal, FakeScheduler(ClusterSnapshot()))
    rows.complete(ClusterSnapshot())
    for number in (1, 2, 3, 3):
        status = out.GroupStatus(id="g", state=out.GROUP_STATE_IN_FLIGHT, patches=tokens[:number])
        journal.apply_status(status, NOW.seconds)
    (state,) = journal.carried["eviction_rates"].values()
    assert (state.name, state.tokens_milli, state.time) == ("hourly", 1_500, NOW)
    rows.extend(delta := StateDelta())
    assert list(delta.upserts.eviction_rates) == [state]


USAGE = StatePatch(set_queue_usage=QueueUsage(queue="q", time=NOW))
CHARGED = StatePatch(set_eviction_rate=EvictionRateState(name="a", tokens_milli=5, time=NOW))
HELD = StatePatch(set_planned_start=PlannedStart(pod_group="w", since=NOW))
RATE = EvictionRateStatus(name="a")


@pytest.mark.parametrize(
    ("before", "patch", "is_accepted", "is_changed", "rows"),
    [
        pytest.param([], USAGE, False, True, ["q"], id="past use is stored without decisions"),
        pytest.param([USAGE], USAGE, True, False, ["q"], id="an equal row changes nothing"),
        pytest.param([], HELD, False, True, ["w"], id="a planned start is stored without decisions"),
        pytest.param(
            [HELD], StatePatch(delete_planned_start="w"), False, True, [], id="a row is deleted by its key"
        ),
        pytest.param(
            [HELD], StatePatch(delete_planned_start="x"), False, False, ["w"], id="no row has the key"
        ),
        pytest.param([], CHARGED, False, False, [], id="a rate is charged only by accepted decisions"),
        pytest.param([], CHARGED, True, True, ["a"], id="a rate is charged by accepted decisions"),
        pytest.param([HELD], StatePatch(), True, False, ["w"], id="a change of a newer version is ignored"),
    ],
)
def test_state_patch_changes_the_row_of_its_key(
    before: list[StatePatch], patch: StatePatch, is_accepted: bool, is_changed: bool, rows: list[str]
) -> None:
    journal = Journal()
    journal.store_state(DecideResponse(state_patches=before), is_accepted=False)
    journal.is_changed = False
    response = DecideResponse(state_patches=[patch], eviction_rates=[RATE])
    journal.store_state(response, is_accepted)
    assert journal.is_changed is is_changed
    assert [key for kind in STORED for key in journal.carried[kind.name]] == rows


def test_change_stays_until_the_journal_is_stored() -> None:
    journal = Journal()
    journal.store_state(DecideResponse(state_patches=[USAGE]), is_accepted=False)
    journal.store_state(DecideResponse(), is_accepted=False)
    assert journal.is_changed


def test_rates_that_the_profile_lost_stay_while_nothing_is_accepted() -> None:
    journal = Journal()
    journal.store_state(DecideResponse(state_patches=[CHARGED], eviction_rates=[RATE]), is_accepted=True)
    for is_accepted, rates in ((False, ["a"]), (True, [])):
        journal.is_changed = False
        journal.store_state(DecideResponse(), is_accepted)
        assert (list(journal.carried["eviction_rates"]), journal.is_changed) == (rates, is_accepted)
