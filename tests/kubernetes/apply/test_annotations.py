"""Annotations of pod groups are written in one call, and in three if the cached object is outdated."""

from contextlib import closing
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.kubernetes.apply.annotations import AnnotationWriter
from tenure.kubernetes.apply.ownership import Ownership
from tenure.kubernetes.objects import names
from tenure.kubernetes.observe.stored_annotations import StoredAnnotations, new_key
from tenure.terms.annotations import ValueKind, Writer, written_by
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decision_pb2 import Patch

from tests.kubernetes.apply.applier_rig import Served
from tests.kubernetes.apply.scripted_api_server import RecordedCall, ScriptedResponse
from tests.kubernetes.observe.cached_cluster import NOW, CachedCluster, member, node, pod, pod_group, queue

PATH = "/apis/scheduling.run.ai/v2alpha2/namespaces/team/podgroups/g"


KEY = new_key()


class Stage:
    """An observed pod group, and an API server with its current object."""

    def __init__(self, served: Served) -> None:
        self.server, transport = served
        self.world = CachedCluster()
        self.stored = StoredAnnotations(KEY)
        self.world.put("nodes", node())
        self.world.put("kai_queues", queue("q"))
        self.world.put("pods", pod("p", meta=member("g")))
        self.uid = self.world.put("kai_pod_groups", pod_group("g"))
        builder = self.world.builder(stored=self.stored)
        builder.snapshot(NOW)
        ownership = Ownership(self.world.mirrors, builder, "kai-scheduler")
        parts = (self.world.mirrors, builder, ownership, self.stored)
        self.writer = AnnotationWriter(transport, *parts, lambda: True)
        item = self.world.mirrors.pod_group(self.uid)
        assert item is not None
        self.there: dict[str, Any] = {
            "uid": self.uid,
            "resourceVersion": item.metadata.resource_version,
            "annotations": {},
        }
        self.server.rules.append(self._respond)

    def _respond(self, call: RecordedCall) -> ScriptedResponse:
        assert call.path == PATH
        if call.method == "PATCH":
            if call.body["metadata"]["resourceVersion"] != self.there["resourceVersion"]:
                return ScriptedResponse(409, {"message": "the object has been modified"})
            self.there["annotations"] |= call.body["metadata"]["annotations"]
        return ScriptedResponse(200, {"metadata": self.there})

    def write(self, *patches: Patch) -> list[str]:
        """Write patches; return the methods of the calls."""
        before = len(self.server.calls)
        with closing(self.writer):
            assert self.writer.write({self.uid: patches}) == []
        return [call.method for call in self.server.calls[before:]]


@pytest.fixture
def stage(scripted_server: Served) -> Stage:
    return Stage(scripted_server)


def count(number: int) -> Patch:
    return Patch(eviction_count=number)


def test_cached_object_is_changed_in_one_call(stage: Stage) -> None:
    assert stage.write(count(1)) == ["PATCH"]
    assert stage.there["annotations"][names.EVICTION_COUNT] == "1"
    assert stage.stored.is_signed(stage.uid, stage.there["annotations"])


def test_evictions_without_progress_are_stored_signed_and_read_back(stage: Stage) -> None:
    assert stage.write(count(3), Patch(evictions_without_progress=2)) == ["PATCH"]
    there = stage.there["annotations"]
    assert there["tenure.scheduler/evictions-without-progress"] == "2"
    assert stage.stored.is_signed(stage.uid, there)
    assert read_back(stage, there).evictions_without_progress == 2
    forged = {**there, names.EVICTIONS_WITHOUT_PROGRESS: "1000"}
    assert read_back(stage, forged).evictions_without_progress == 2


def test_hold_is_stored_signed_and_read_back(stage: Stage) -> None:
    assert stage.write(count(3), Patch(held_by=pb.HOLD_REASON_EVICTED)) == ["PATCH"]
    there = stage.there["annotations"]
    assert there["tenure.scheduler/held-by"] == "evicted"
    assert read_back(stage, there).held_by == pb.HOLD_REASON_EVICTED
    removed = {key: text for key, text in there.items() if key != names.HELD_BY}
    assert read_back(stage, removed).held_by == pb.HOLD_REASON_EVICTED
    released = {**there, names.RELEASED: "2026-01-02T00:00:00Z"}
    assert read_back(stage, released).release_time.ToJsonString() == "2026-01-02T00:00:00Z"
    assert read_back(stage, {**there, names.HOLD: "true"}).held_by == pb.HOLD_REASON_USER


def test_evictions_by_cause_are_stored_and_read_back(stage: Stage) -> None:
    counts = pb.EvictionCounts(by_cause={"reclaim": 2, "preempt": 1})
    assert stage.write(Patch(evictions=counts)) == ["PATCH"]
    there = stage.there["annotations"]
    assert there["tenure.scheduler/evictions"] == "preempt=1,reclaim=2"
    assert read_back(stage, there).evictions == counts


def test_owners_of_lent_capacity_are_stored_and_read_back(stage: Stage) -> None:
    owners = pb.BackfillOwners(pod_groups=["a", "b"])
    assert stage.write(Patch(backfill_for=owners)) == ["PATCH"]
    there = stage.there["annotations"]
    assert there["tenure.scheduler/backfill-for"] == "a,b"
    assert read_back(stage, there).backfill_for == owners


SENT = "requeue_not_before"
"""The server reads this annotation itself."""
WRITTEN = {each.field: each for each in written_by(Writer.ADAPTER) if each.field not in ("", SENT)}
VALUES: dict[str, Any] = {
    "held_by": pb.HOLD_REASON_EVICTED,
    "evictions": pb.EvictionCounts(by_cause={"reclaim": 2}),
    "backfill_for": pb.BackfillOwners(pod_groups=["a"]),
    "grant": pb.Grant(
        queue="q", preemptibility=pb.PREEMPTIBILITY_SEMI_PREEMPTIBLE, opt_out_actions=["reclaim"], min_pods=3
    ),
}
KINDS: dict[ValueKind, Any] = {
    ValueKind.TIME: Timestamp(seconds=1_700_000_000),
    ValueKind.DURATION: Duration(seconds=90),
    ValueKind.COUNT: 7,
}


@pytest.mark.parametrize("field", WRITTEN)
def test_every_annotation_of_the_adapter_is_written_and_read_back(field: str, stage: Stage) -> None:
    row = WRITTEN[field]
    value = VALUES.get(field) or KINDS[row.kind]
    assert stage.write(Patch(**{field: value})) == ["PATCH"]
    assert stage.there["annotations"].keys() == {row.key, names.SIGNATURE}
    assert getattr(read_back(stage, stage.there["annotations"]), field) == value


def read_back(stage: Stage, annotations: dict[str, str]) -> pb.PodGroup:
    """The row of the pod group in the next snapshot."""
    stage.world.put("kai_pod_groups", pod_group("g", annotations=annotations))
    [row] = stage.world.builder(stored=stage.stored).snapshot(NOW).pod_groups
    return row


def test_outdated_object_is_read_and_keeps_what_the_adapter_wrote_before(stage: Stage) -> None:
    before = stage.stored.renew(stage.uid, {}, {names.REQUEUE_NOT_BEFORE: "2027-02-01T00:00:00Z"})
    stage.there |= {"resourceVersion": "99", "annotations": dict(before)}
    assert stage.write(count(2)) == ["PATCH", "GET", "PATCH"]
    assert stage.there["annotations"][names.EVICTION_COUNT] == "2"
    assert stage.there["annotations"][names.REQUEUE_NOT_BEFORE] == "2027-02-01T00:00:00Z"
    assert stage.stored.is_signed(stage.uid, stage.there["annotations"])


def test_object_of_another_pod_group_with_the_name_is_not_changed(stage: Stage) -> None:
    stage.there |= {"resourceVersion": "99", "uid": "another"}
    assert stage.write(count(3)) == ["PATCH", "GET"]
    assert stage.there["annotations"] == {}


EARLY, LATE, LATEST = (f"2027-0{month}-01T00:00:00Z" for month in (2, 3, 4))


def cooldown_after(stage: Stage, annotations: dict[str, str]) -> tuple[str, list[str]]:
    """The cooldown that is sent of these annotations, and what is said about it."""
    stage.world.put("kai_pod_groups", pod_group("g", annotations=annotations))
    builder = stage.world.builder(stored=stage.stored)
    [row] = builder.snapshot(NOW).pod_groups
    said = [warned.text for warned in builder.warnings.active if "requeue-not-before" in warned.text]
    return row.annotations.get(names.REQUEUE_NOT_BEFORE, ""), said


CHANGES: dict[str, tuple[str | None, str, str]] = {
    "unchanged": (LATE, LATE, ""),
    "a later one": (LATEST, LATEST, "was not written by the adapter"),
    "an earlier one": (EARLY, LATE, "that of the adapter counts"),
    "none any more": (None, LATE, "that of the adapter counts"),
    "an unreadable one": ("soon", "soon", "is not a time"),
}


@pytest.mark.parametrize(("text", "counts", "said"), CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("is_count_changed", [False, True])
def test_cooldown_counts_whoever_wrote_it_and_that_of_the_adapter_stays(
    stage: Stage, text: str | None, counts: str, said: str, is_count_changed: bool
) -> None:
    late = Timestamp()
    late.FromJsonString(LATE)
    stage.write(count(2), Patch(requeue_not_before=late))
    there = dict(stage.there["annotations"])
    if is_count_changed:
        there[names.EVICTION_COUNT] = "9"
    changed = {**there, names.REQUEUE_NOT_BEFORE: text} if text else {**there, names.REQUEUE_NOT_BEFORE: ""}
    sent, warned = cooldown_after(stage, changed)
    assert sent == counts
    assert [said in one for one in warned] == ([True] if said else [])
    assert read_back(stage, changed).eviction_count == 2


def test_cooldown_of_another_writer_outlives_writes_and_ends_when_it_is_removed(stage: Stage) -> None:
    there = {names.REQUEUE_NOT_BEFORE: LATE}
    stage.there |= {"resourceVersion": "99", "annotations": dict(there)}
    assert stage.write(count(2)) == ["PATCH", "GET", "PATCH"]
    there = dict(stage.there["annotations"])
    assert cooldown_after(stage, there)[0] == LATE
    again = StoredAnnotations(KEY)
    stage.stored = again
    sent, warned = cooldown_after(stage, there)
    assert (sent, len(warned)) == (LATE, 1)
    assert read_back(stage, there).eviction_count == 2
    assert cooldown_after(stage, {**there, names.REQUEUE_NOT_BEFORE: ""}) == ("", [])
