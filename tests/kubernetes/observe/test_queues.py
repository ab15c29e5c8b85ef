"""Queues: units of KAI (R1.11, R1.12, R1.70 to R1.74) and of Volcano."""

from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration
from tenure.kubernetes.objects.times import FOREVER
from tenure.v1 import snapshot_pb2 as pb

from tests.kubernetes.observe.cached_cluster import NOW, CachedCluster, queue

GIB = 2**30


def of_kai(name: str = "q", **spec: Any) -> pb.Queue:
    world = CachedCluster()
    world.put("kai_queues", queue(name, **spec))
    return world.snapshot().queues[0]


def of_volcano(*items: dict[str, Any]) -> dict[str, pb.Queue]:
    world = CachedCluster()
    for item in items:
        world.put("volcano_queues", item)
    return {row.name: row for row in world.snapshot().queues}


def test_amounts_of_kai_are_millicores_megabytes_and_devices() -> None:
    resources = {
        "cpu": {"quota": 2000, "limit": -1, "overQuotaWeight": 2},
        "memory": {"quota": 100, "limit": 200},
        "gpu": {"quota": 1.5, "limit": 4, "overQuotaWeight": 0.5},
    }
    row = of_kai(resources=resources, priority=7)
    assert row.cpu_milli == pb.QueueResource(quota=2000, limit=-1, over_quota_weight=2)
    assert row.memory_bytes == pb.QueueResource(quota=100_000_000, limit=200_000_000, over_quota_weight=0)
    assert row.gpu_milli == pb.QueueResource(quota=1500, limit=4000, over_quota_weight=0.5)
    assert (row.priority, row.parent) == (7, "")


def test_kai_queue_without_resources_has_zero_limits() -> None:
    row = of_kai()
    assert (
        row.cpu_milli == row.memory_bytes == row.gpu_milli == pb.QueueResource(limit=0, over_quota_weight=0)
    )
    assert not row.HasField("priority")


@pytest.mark.parametrize(
    ("text", "span"),
    [
        (None, None),
        ("0s", Duration()),
        ("1h30m", Duration(seconds=5400)),
        ("2d", Duration(seconds=172_800)),
        ("-5m", Duration()),
        ("1.5h", Duration(seconds=5400)),
        (".5h", Duration(seconds=1800)),
        ("+1h", Duration(seconds=3600)),
        ("1.h", Duration(seconds=3600)),
        ("5\u00b5s", Duration(nanos=5000)),
        ("5\u03bcs", Duration(nanos=5000)),
        ("soon", FOREVER),
        ("", FOREVER),
        ("1000000h", FOREVER),
    ],
)
def test_a_minimum_runtime_inherits_when_unset_and_protects_when_unreadable(
    text: str | None, span: Duration | None
) -> None:
    row = of_kai(preemptMinRuntime=text, reclaimMinRuntime=text)
    for field in ("preempt_min_runtime", "reclaim_min_runtime"):
        assert (getattr(row, field) if row.HasField(field) else None) == span


def test_queues_without_path_to_the_top_are_skipped_with_their_descendants() -> None:
    world = CachedCluster()
    for name, parent in {
        "top": "",
        "leaf": "top",
        "orphan": "gone",
        "child": "orphan",
        "a": "b",
        "b": "a",
    }.items():
        world.put("kai_queues", queue(name, parentQueue=parent))
    picture = world.builder()
    assert [row.name for row in picture.snapshot(NOW).queues] == ["leaf", "top"]
    subjects = {warning.subject for warning in picture.warnings.take_new()}
    assert subjects == {"Queue orphan", "Queue child", "Queue a", "Queue b"}
    world.put("kai_queues", queue("gone"))
    delta = picture.delta(NOW)
    assert [row.name for row in delta.upserts.queues] == ["child", "gone", "orphan"]
    assert not picture.warnings.take_new()


def test_volcano_deserved_and_guarantee_are_quota_and_capability_is_the_limit() -> None:
    spec = {
        "weight": 3,
        "deserved": {"cpu": "2", "nvidia.com/gpu": "1"},
        "guarantee": {"resource": {"cpu": "4"}},
        "capability": {"cpu": "8", "memory": "1Gi"},
    }
    row = of_volcano(queue("v", **spec))["v"]
    assert row.cpu_milli == pb.QueueResource(quota=4000, limit=8000, over_quota_weight=3)
    assert row.memory_bytes == pb.QueueResource(quota=0, limit=GIB, over_quota_weight=3)
    assert row.gpu_milli == pb.QueueResource(quota=1000, limit=-1, over_quota_weight=3)


def test_volcano_quantities_can_be_bare_numbers() -> None:
    spec = {
        "deserved": {"cpu": 2, "nvidia.com/gpu": 1},
        "guarantee": {"resource": {"cpu": 0.5, "memory": 1073741824}},
        "capability": {"cpu": 2.5, "memory": 2e10},
    }
    row = of_volcano(queue("v", **spec))["v"]
    assert row.cpu_milli == pb.QueueResource(quota=2000, limit=2500, over_quota_weight=1)
    assert row.memory_bytes == pb.QueueResource(quota=GIB, limit=20_000_000_000, over_quota_weight=1)
    assert row.gpu_milli == pb.QueueResource(quota=1000, limit=-1, over_quota_weight=1)


def test_volcano_queues_are_children_of_root_if_it_exists() -> None:
    assert of_volcano(queue("a"))["a"].parent == ""
    rows = of_volcano(queue("root"), queue("a"), queue("b", parent="a"))
    assert {name: row.parent for name, row in rows.items()} == {"root": "", "a": "root", "b": "a"}
    assert not rows["root"].HasField("cpu_milli")


def test_a_volcano_queue_that_is_not_reclaimable_is_protected() -> None:
    row = of_volcano(queue("a", reclaimable=False))["a"]
    assert row.reclaim_min_runtime == FOREVER
    assert not row.HasField("preempt_min_runtime")


def test_kai_queue_precedes_a_volcano_queue_of_the_same_name() -> None:
    world = CachedCluster()
    world.put("kai_queues", queue("q", priority=5))
    other = queue("q", priority=9)
    other["metadata"]["uid"] = "volcano-q"
    world.put("volcano_queues", other)
    picture = world.builder()
    assert [row.priority for row in picture.snapshot(NOW).queues] == [5]
    assert "same name" in picture.warnings.take_new()[0].text


def test_bounds_are_read_from_annotations_of_both_kinds_of_queues() -> None:
    """What is unreadable is left out, with a warning; the rest counts."""
    notes = {
        "class-limits": "h100 = 4, a100=0.5, gh200, x=-1",
        "class-quotas": "h100=2",
        "lending-limit": "gpu=2, memory=100, disk=1, cpu=many",
        "max-running": "3",
        "time-limit": "3d",
        "on-time-limit": "delete",
    }
    meta = {"annotations": {f"tenure.scheduler/{key}": text for key, text in notes.items()}}
    world = CachedCluster()
    world.put("kai_queues", {"metadata": {"name": "a", **meta}, "spec": {}})
    world.put("volcano_queues", {"metadata": {"name": "b", **meta}, "spec": {}})
    builder = world.builder()
    for row in builder.snapshot(NOW).queues:
        assert list(row.class_limits) == [
            pb.ClassLimit(node_class="a100", limit_gpu_milli=500),
            pb.ClassLimit(node_class="h100", quota_gpu_milli=2_000, limit_gpu_milli=4_000),
        ]
        assert (row.gpu_milli.lending_limit, row.memory_bytes.lending_limit) == (2_000, 100_000_000)
        assert (row.cpu_milli.HasField("lending_limit"), row.max_running) == (False, 3)
        assert (row.time_limit.seconds, row.on_time_limit) == (3 * 86_400, pb.FATE_DELETE)
    told = " ".join(each.text for each in builder.warnings.active)
    for part in ("'gh200' is not NAME=NUMBER", "'x=-1' is not", "'disk' is none of", "'cpu=many' is not"):
        assert part in told


def test_queue_without_such_annotations_has_no_bounds() -> None:
    row = of_kai()
    assert list(row.class_limits) == []
    assert not row.HasField("max_running")
    assert not row.gpu_milli.HasField("lending_limit")


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({}, ""),
        ({"nvidia.com/gpu.product": "H100"}, "H100"),
        ({"nvidia.com/gpu.product": "H100", "tenure.scheduler/node-class": "big"}, "big"),
    ],
)
def test_class_of_a_node_is_a_label(labels: dict[str, str], expected: str) -> None:
    world = CachedCluster()
    world.put("nodes", {"metadata": {"name": "n", "labels": labels}, "status": {}})
    [row] = world.snapshot().nodes
    assert row.node_class == expected


@pytest.mark.parametrize("field", ["preemptMinRuntime", "reclaimMinRuntime"])
def test_negative_minimum_runtime_of_a_queue_is_zero_with_a_warning(field: str) -> None:
    world = CachedCluster()
    world.put("kai_queues", queue("q", **{field: "-5s"}))
    builder = world.builder()
    (row,) = builder.snapshot(NOW).queues
    name = field.replace("MinRuntime", "_min_runtime")
    assert (row.HasField(name), getattr(row, name)) == (True, Duration())
    assert [warned.text for warned in builder.warnings.active] == [
        f"{field}: '-5s' is negative: it counts as 0"
    ]


@pytest.mark.parametrize("text", ["soon", "-5s"])
def test_invalid_expected_runtime_of_a_queue_ends_the_search_and_an_invalid_delay_does_not(text: str) -> None:
    """No pod group gets easier to evict by a typing error: it does not inherit from a queue above either."""
    world = CachedCluster()
    keys = ("kai.scheduler/expected-runtime", "kai.scheduler/requeue-delay")
    world.put("kai_queues", {"metadata": {"name": "q", "annotations": dict.fromkeys(keys, text)}, "spec": {}})
    builder = world.builder()
    (row,) = builder.snapshot(NOW).queues
    assert row.HasField("expected_runtime")
    assert row.expected_runtime.ToNanoseconds() == 0
    assert not row.HasField("requeue_delay")
    expected = [
        f"{keys[0]}: {text!r} is not a duration: it counts as 0s",
        f"{keys[1]}: {text!r} is not a duration: it is ignored",
    ]
    assert [warned.text for warned in builder.warnings.active] == [f"annotation {one}" for one in expected]
