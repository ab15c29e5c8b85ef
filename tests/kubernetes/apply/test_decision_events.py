"""Events about decisions: an applied decision has one event for all attempts, a rejection one per attempt."""

import pytest
from tenure.integration.journal_entry import JournalEntry
from tenure.kubernetes.apply.events import DecisionEvents, PendingEvent, WarningEvents
from tenure.kubernetes.observe.snapshot_builder import SnapshotBuilder
from tenure.v1 import decide_pb2
from tenure.v1 import report_pb2 as outcomes

from tests.kubernetes.apply.decision_groups import NOW, bind, evict, group
from tests.kubernetes.observe.cached_cluster import CachedCluster, member, pod, pod_group, queue, running

EVICTION_BLOCKED = "429 Cannot evict pod as it would violate the pod's disruption budget."


class EventsRig:
    """A pod group that waits for an eviction, and the evicted pod, which belongs to no pod group object."""

    def __init__(self) -> None:
        self.world = CachedCluster()
        self.world.put("kai_queues", queue("q"))
        self.world.put("kai_pod_groups", pod_group("job", minMember=1))
        self.world.put("pods", pod("waits", meta=member("job")))
        self.world.put("pods", pod("alone"))
        self.world.put("pods", running("v"))
        self.picture: SnapshotBuilder = self.world.builder()
        self.picture.snapshot(NOW)
        self.progress = DecisionEvents(self.world.mirrors)
        self.entry = JournalEntry(group(evict("v"), bind("waits")))
        self.entry.group.beneficiary = "uid-job"

    def pending_events(self) -> list[PendingEvent]:
        return self.progress.pending_events([self.entry], self.picture)

    def note(self, decision: str, result: outcomes.ApplyStatus, retry: int = 0) -> None:
        step = outcomes.DecisionResult(
            decision_id=decision, status=result, detail=EVICTION_BLOCKED, retryable=retry > 0
        )
        step.retry_time.seconds = retry
        self.entry.add_result(step)


def test_applied_decision_gets_one_event_despite_earlier_failures() -> None:
    rig = EventsRig()
    assert rig.pending_events() == []
    rig.note("bind-waits", outcomes.APPLY_STATUS_FAILED, retry=1)
    assert [event.reason for event in rig.pending_events()] == ["BindingFailed"]
    rig.note("bind-waits", outcomes.APPLY_STATUS_APPLIED)
    (event,) = rig.pending_events()
    assert (event.about.name, event.reason, event.key) == ("waits", "Scheduled", "bind-waits")
    assert rig.pending_events() == []


def test_blocked_eviction_is_an_event_on_the_preemptor_counted_per_attempt() -> None:
    rig = EventsRig()
    for attempt in (1, 2):
        rig.note("evict-v", outcomes.APPLY_STATUS_FAILED, retry=attempt)
        (event,) = rig.pending_events()
        assert (event.about.kind, event.about.name, event.reason) == ("PodGroup", "job", "EvictionBlocked")
        assert event.note == f"Eviction of pod team/v blocked: {EVICTION_BLOCKED}"
        assert event.is_counted
        assert rig.pending_events() == []


@pytest.mark.parametrize("retry_times", [(1, 2), (0,)], ids=["retried", "given up"])
def test_failed_binding_is_an_event_on_the_pod_counted_per_attempt(retry_times: tuple[int, ...]) -> None:
    rig = EventsRig()
    for attempt in retry_times:
        rig.note("bind-waits", outcomes.APPLY_STATUS_FAILED, retry=attempt)
        (event,) = rig.pending_events()
        assert (event.about.kind, event.about.name, event.reason) == ("Pod", "waits", "BindingFailed")
        assert event.note == f"Binding to n1 failed: {EVICTION_BLOCKED}"
        assert event.is_counted
        assert rig.pending_events() == []


def test_event_for_a_derived_pod_group_is_on_its_pod() -> None:
    rig = EventsRig()
    rig.entry.group.beneficiary = "uid-alone"
    rig.note("evict-v", outcomes.APPLY_STATUS_FAILED, retry=1)
    (event,) = rig.pending_events()
    assert (event.about.kind, event.about.name) == ("Pod", "alone")


def test_deleted_pods_get_no_events() -> None:
    rig = EventsRig()
    rig.world.remove("pods", "uid-v")
    rig.note("evict-v", outcomes.APPLY_STATUS_APPLIED)
    assert rig.pending_events() == []


def test_warning_about_a_pod_group_has_one_event_until_it_changes() -> None:
    rig = EventsRig()
    warned = WarningEvents(rig.world.mirrors)

    def reasons(*warnings: decide_pb2.SnapshotWarning) -> list[tuple[str, str, str]]:
        found = warned.pending_events(warnings, rig.picture)
        return [(each.about.kind, each.reason, each.note) for each in found]

    def warning(code: decide_pb2.WarningCode, detail: str, pod_group: str) -> decide_pb2.SnapshotWarning:
        return decide_pb2.SnapshotWarning(code=code, detail=detail, pod_groups=[pod_group], count=1)

    long = warning(decide_pb2.WARNING_CODE_NOTICE_ABOVE_MAXIMUM, "its notice of 2h", "uid-job")
    derived = warning(decide_pb2.WARNING_CODE_CANNOT_BE_SUSPENDED, "it waits", "uid-alone")
    other = warning(decide_pb2.WARNING_CODE_CLOCK_SKEW, "it is late", "uid-job")
    of_queue = decide_pb2.SnapshotWarning(code=long.code, detail="queue q: its notice of 2h")
    gone = warning(long.code, "its notice of 2h", "uid-gone")
    assert reasons(long, derived, other, of_queue, gone) == [
        ("PodGroup", "NoticeAboveMaximum", "Its notice of 2h."),
        ("Pod", "CannotBeSuspended", "It waits."),
    ]
    assert reasons(long, derived) == []
    assert reasons(warning(long.code, "its notice of 3h", "uid-job")) == [
        ("PodGroup", "NoticeAboveMaximum", "Its notice of 3h.")
    ]
