"""What a tenant writes on its own objects never protects it beyond the facts, and never harms another."""

from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.kubernetes.limits.set_aside import QUEUE_FORBIDDEN
from tenure.kubernetes.objects import names
from tenure.kubernetes.observe.snapshot_builder import SnapshotBuilder
from tenure.kubernetes.observe.snapshot_scope import QueueAccess, SnapshotScope
from tenure.kubernetes.observe.stored_annotations import StoredAnnotations, new_key
from tenure.terms.annotations import key_of
from tenure.v1 import snapshot_pb2 as pb

from tests.kubernetes.observe.cached_cluster import (
    CONFIG,
    NOW,
    CachedCluster,
    member,
    node,
    pod,
    pod_group,
    queue,
    running,
)

STALE_SINCE = key_of("stale-podgroup-timestamp")
STARTED = "2027-01-02T00:00:00Z"
"""Start of running pods, by their status."""
FORGED = {
    names.LAST_START: "2026-12-31T00:00:00Z",
    names.LAST_EVICTION: "1971-01-01T00:00:00Z",
    STALE_SINCE: "2261-01-01T00:00:00Z",
    names.EVICTION_COUNT: "1000",
    names.TOTAL_EVICTION_WAIT: "5000w",
    names.EVICTIONS_WITHOUT_PROGRESS: "1000",
    names.HELD_BY: "evicted",
    names.EVICTIONS: "preempt=1000",
    names.SIGNATURE: "1.00000000000000000000000000000000",
}


def timestamp(text: str) -> Timestamp:
    moment = Timestamp()
    moment.FromJsonString(text)
    return moment


class Tenancy:
    """A pod group of one running or pending pod, and the adapter's builder with its key."""

    def __init__(self, is_running: bool = True, scope: SnapshotScope = CONFIG, **spec: Any) -> None:
        self.world, self.stored = CachedCluster(), StoredAnnotations(new_key())
        self.world.put("nodes", node())
        for name in ("q", "other"):
            self.world.put("kai_queues", queue(name))
        self.spec = spec
        self.world.put("kai_pod_groups", pod_group("job", **spec))
        self.world.put("pods", (running if is_running else pod)("job-0", meta=member("job")))
        self.builder: SnapshotBuilder = self.world.builder(scope, stored=self.stored)

    def write(self, **spec: Any) -> None:
        """Replace fields of the pod group, as the tenant does."""
        self.spec = {**self.spec, **spec}
        self.world.put("kai_pod_groups", pod_group("job", **self.spec))

    def sign(self, annotations: dict[str, str]) -> dict[str, str]:
        return self.stored.renew("uid-job", {}, annotations)

    def row(self) -> pb.PodGroup:
        self.builder.snapshot(NOW)
        found = self.builder.pod_group("uid-job")
        assert found is not None
        return found

    def warnings(self) -> list[str]:
        return [one.text for one in self.builder.warnings.active]


@pytest.mark.parametrize(
    ("stated", "counts"),
    [
        pytest.param("2261-01-01T00:00:00Z", STARTED, id="in the future"),
        pytest.param("2027-01-02T00:00:01Z", STARTED, id="after the start of the pods"),
        pytest.param("2027-01-02T00:00:00.9Z", "2027-01-02T00:00:00.9Z", id="within the second"),
        pytest.param("2026-12-31T00:00:00Z", "2026-12-31T00:00:00Z", id="before: it protects less"),
        pytest.param("soon", STARTED, id="unreadable"),
        pytest.param("", STARTED, id="empty"),
    ],
)
@pytest.mark.parametrize("is_signed", [False, True])
def test_start_is_not_after_that_of_the_pods(stated: str, counts: str, is_signed: bool) -> None:
    tenancy = Tenancy()
    annotations = {names.LAST_START: stated}
    tenancy.write(annotations=tenancy.sign(annotations) if is_signed else annotations)
    assert tenancy.row().last_start_time == timestamp(counts)


def test_start_of_bound_pods_is_their_binding() -> None:
    tenancy = Tenancy(annotations={names.LAST_START: "2261-01-01T00:00:00Z"})
    bound = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2027-01-03T00:00:00Z"}
    status = {"startTime": None, "conditions": [bound]}
    tenancy.world.put("pods", running("job-0", meta=member("job"), status=status))
    assert tenancy.row().last_start_time == timestamp("2027-01-03T00:00:00Z")


def test_pending_pod_group_has_no_start_that_the_adapter_did_not_write() -> None:
    """A forged start would make an eviction for it count as effective, so that it is repeated."""
    tenancy = Tenancy(is_running=False, annotations=FORGED)
    assert not tenancy.row().HasField("last_start_time")


def assert_no_memory(row: pb.PodGroup) -> None:
    for field in ("last_eviction_time", "stale_since", "total_eviction_wait", "evictions"):
        assert not row.HasField(field)
    assert (row.eviction_count, row.evictions_without_progress, row.held_by) == (0, 0, 0)


@pytest.mark.parametrize("is_running", [False, True])
def test_times_and_counts_of_others_are_ignored_with_a_warning(is_running: bool) -> None:
    tenancy = Tenancy(is_running, annotations=FORGED)
    assert_no_memory(tenancy.row())
    assert any("another writer" in text for text in tenancy.warnings())


def test_cooldown_of_others_only_delays_a_requeue_that_the_tenant_opted_into() -> None:
    far = "2261-01-01T00:00:00Z"
    tenancy = Tenancy(annotations={**FORGED, names.REQUEUE_NOT_BEFORE: far})
    row = tenancy.row()
    assert_no_memory(row)
    assert dict(row.annotations) == {names.REQUEUE_NOT_BEFORE: far}


def test_times_and_counts_on_pods_are_ignored() -> None:
    world = CachedCluster()
    world.put("nodes", node())
    world.put("pods", running("alone", meta={"annotations": FORGED}))
    [row] = world.snapshot().pod_groups
    assert_no_memory(row)
    assert row.last_start_time == timestamp(STARTED)


TRUE = {names.EVICTION_COUNT: "2", STALE_SINCE: "2027-01-04T00:00:00Z"}
Change = Callable[[Tenancy, dict[str, str]], dict[str, str]]
TAMPERING: dict[str, Change] = {
    "a higher count": lambda tenancy, there: {**there, names.EVICTION_COUNT: "1000"},
    "a longer cooldown": lambda tenancy, there: {**there, names.EVICTIONS_WITHOUT_PROGRESS: "1000"},
    "another time": lambda tenancy, there: {**there, STALE_SINCE: "2261-01-01T00:00:00Z"},
    "removal of a value": lambda tenancy, there: {**there, STALE_SINCE: ""},
    "removal of the signature": lambda tenancy, there: {**there, names.SIGNATURE: ""},
    "removal of everything": lambda tenancy, there: {},
    "values of another pod group": lambda tenancy, there: tenancy.stored.renew("uid-other", {}, FORGED),
    "values with another key": lambda tenancy, there: StoredAnnotations(new_key()).renew(
        "uid-job", {}, FORGED
    ),
    "a signature that is no number": lambda tenancy, there: {**there, names.SIGNATURE: "²." + "0" * 32},
    "a signature without digits of a digest": lambda tenancy, there: {**there, names.SIGNATURE: "1.é"},
}


@pytest.mark.parametrize("change", TAMPERING)
def test_signed_values_stay_when_a_tenant_changes_them(change: str) -> None:
    tenancy = Tenancy()
    there = tenancy.sign(TRUE)
    tenancy.write(annotations=there)
    before = pb.PodGroup()
    before.CopyFrom(tenancy.row())
    assert (before.eviction_count, before.stale_since) == (2, timestamp(TRUE[STALE_SINCE]))
    tenancy.write(annotations=TAMPERING[change](tenancy, there))
    assert tenancy.row() == before
    assert any("another writer" in text for text in tenancy.warnings())


def test_earlier_signed_values_do_not_replace_later_ones() -> None:
    tenancy = Tenancy()
    first = tenancy.sign({names.EVICTION_COUNT: "1"})
    tenancy.write(annotations=first)
    tenancy.row()
    tenancy.write(annotations=tenancy.sign({**TRUE, names.EVICTION_COUNT: "2"}))
    tenancy.row()
    tenancy.write(annotations=first)
    assert tenancy.row().eviction_count == 2


def test_signed_values_survive_a_restart() -> None:
    tenancy = Tenancy()
    tenancy.write(annotations=tenancy.sign(TRUE))
    restarted = StoredAnnotations(tenancy.stored._key)
    builder = tenancy.world.builder(stored=restarted)
    [row] = builder.snapshot(NOW).pod_groups
    assert row.eviction_count == 2


HALF = {"gpu-fraction": "0.5"}


def share(name: str, is_running: bool, device: str | None) -> dict[str, Any]:
    labels = {} if device is None else {"runai-gpu-group": device}
    meta = {"annotations": HALF, "labels": labels}
    return running(name, meta=meta) if is_running else pod(name, meta=meta)


def devices(builder: SnapshotBuilder) -> list[str]:
    builder.snapshot(NOW)
    row = builder.pod("uid-mine")
    assert row is not None
    return list(row.gpu_groups)


def test_device_labels_count_only_on_nodes_and_as_first_observed() -> None:
    world = CachedCluster()
    world.put("nodes", node())
    world.put("pods", share("theirs", True, "n1.gpu-0"))
    world.put("pods", share("mine", False, "n1.gpu-0"))
    builder = world.builder()
    assert devices(builder) == []
    world.put("pods", share("mine", True, "n1.gpu-1"))
    assert devices(builder) == ["n1/gpu-1"]
    for forged in ("n1.gpu-0", None, "elsewhere"):
        world.put("pods", share("mine", True, forged))
        assert devices(builder) == ["n1/gpu-1"]
    assert any("changed while it runs" in one.text for one in builder.warnings.active)


CLASSES = {"low": 10, "high": 90, "system-node-critical": 2_000_001_000}
WISHES: list[tuple[dict[str, str], dict[str, Any], tuple[str, ...], int]] = [
    ({"priorityClassName": "system-node-critical"}, {"priorityClassName": "low", "priority": 10}, ("*",), 10),
    ({"priorityClassName": "system-node-critical"}, {}, ("*",), 50),
    ({"priorityClassName": "system-node-critical"}, {}, ("system-*",), 2_000_001_000),
    ({"priorityClassName": "high"}, {"priorityClassName": "low", "priority": 10}, ("*",), 90),
    ({"priorityClassName": "high"}, {"priorityClassName": "low", "priority": 10}, ("low",), 10),
    ({"priorityClassName": "high"}, {}, (), 50),
    ({}, {"priorityClassName": "low", "priority": 7}, (), 7),
    ({}, {"priorityClassName": "low"}, (), 10),
]
"""Labels, specification of the pod, permitted classes, and the resulting priority."""


@pytest.mark.parametrize(
    ("labels", "spec", "permitted", "priority", "is_object"),
    [(*wish, is_object) for wish in WISHES for is_object in (False, True) if wish[0] or not is_object],
)
def test_priority_is_that_of_admission_unless_a_class_is_permitted(
    labels: dict[str, str], spec: dict[str, Any], permitted: tuple[str, ...], priority: int, is_object: bool
) -> None:
    world = CachedCluster()
    for name, value in CLASSES.items():
        world.put("priority_classes", {"metadata": {"name": name}, "value": value})
    meta: dict[str, Any] = member("job") if is_object else {"labels": labels}
    if is_object:
        world.put("kai_pod_groups", pod_group("job", **labels))
    world.put("pods", pod("job-0", meta=meta, spec=spec))
    scope = SnapshotScope(cluster_id="test", node_pool_label="", priority_classes=permitted)
    [row] = world.snapshot(scope).pod_groups
    assert row.priority == priority


ACCESS = QueueAccess(namespaces={"q": ("te*",), "other": ("elsewhere",)})
GUARDED = SnapshotScope(cluster_id="test", node_pool_label="", queue_access=ACCESS)


@pytest.mark.parametrize(
    ("access", "named", "permitted"),
    [
        (QueueAccess(), "anything", True),
        (QueueAccess(is_denied_by_default=True), "q", False),
        (ACCESS, "q", True),
        (ACCESS, "other", False),
        (ACCESS, "unlisted", True),
        (QueueAccess(namespaces={"q": ("team",)}, is_denied_by_default=True), "q", True),
        (QueueAccess(namespaces={"q": ("team",)}, is_denied_by_default=True), "unlisted", False),
        (QueueAccess(namespaces={"q": ("Team", "tea")}), "q", False),
        (QueueAccess(by_label=True), "labelled", True),
        (QueueAccess(by_label=True), "q", False),
        (QueueAccess(namespaces={"q": ("team",)}, by_label=True), "q", True),
    ],
)
def test_queue_is_permitted_by_patterns_labels_or_default(
    access: QueueAccess, named: str, permitted: bool
) -> None:
    world = CachedCluster()
    labels = {"queues.tenure.scheduler/labelled": ""}
    world.put("namespaces", {"metadata": {"name": "team", "labels": labels}})
    world.put("pods", pod("p", meta={"labels": {"kai.scheduler/queue": named}}))
    builder = world.builder(SnapshotScope(cluster_id="test", node_pool_label="", queue_access=access))
    assert bool(builder.snapshot(NOW).pod_groups) == permitted
    codes = {one.reason.code for one in builder.set_aside.take_new()}
    assert codes == (set() if permitted else {QUEUE_FORBIDDEN})


def test_label_of_a_namespace_has_an_effect_at_once() -> None:
    world = CachedCluster()
    world.put("pods", pod("p", meta={"labels": {"kai.scheduler/queue": "q"}}))
    scope = SnapshotScope(cluster_id="test", node_pool_label="", queue_access=QueueAccess(by_label=True))
    builder = world.builder(scope)
    assert not builder.snapshot(NOW).pod_groups
    labels = {"queues.tenure.scheduler/q": ""}
    world.put("namespaces", {"metadata": {"name": "team", "labels": labels}})
    assert len(builder.delta(NOW).upserts.pods) == 1
    world.put("namespaces", {"metadata": {"name": "team"}})
    assert len(builder.delta(NOW).removals.pods) == 1


@pytest.mark.parametrize("named", ["other", "missing", "x" * 254])
def test_running_pods_stay_in_the_last_usable_queue(named: str) -> None:
    """Otherwise a running pod group would escape its queue, or be charged to another one."""
    tenancy = Tenancy(scope=GUARDED)
    assert tenancy.row().queue == "q"
    tenancy.write(queue=named)
    assert tenancy.row().queue == "q"


def test_pending_pods_of_a_running_pod_group_with_a_forbidden_queue_wait() -> None:
    tenancy = Tenancy(scope=GUARDED)
    tenancy.row()
    tenancy.world.put("pods", pod("job-1", meta=member("job")))
    tenancy.write(queue="other")
    tenancy.row()
    waiting = tenancy.builder.pod("uid-job-1")
    assert waiting is not None
    assert waiting.blocked_reason == "namespace team may not use queue 'other'"
    (found,) = tenancy.builder.set_aside.take_new()
    assert (found.target.name, found.reason.code) == ("job", QUEUE_FORBIDDEN)
    tenancy.write(queue="q")
    tenancy.row()
    freed = tenancy.builder.pod("uid-job-1")
    assert freed is not None
    assert freed.blocked_reason == ""


def test_wait_of_a_signed_pod_group_is_kept_to_the_nanosecond() -> None:
    tenancy = Tenancy()
    tenancy.write(annotations=tenancy.sign({names.TOTAL_EVICTION_WAIT: "90.5s"}))
    assert tenancy.row().total_eviction_wait == Duration(seconds=90, nanos=500_000_000)
