"""For any values of fields and annotations, a server accepts the snapshot; the builder reports warnings."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tenure.codec.decode import decode_snapshot
from tenure.kubernetes.objects import names
from tenure.kubernetes.rows.gpus import ANNOTATIONS
from tenure.terms import annotations

from tests.kubernetes.observe.cached_cluster import NOW, CachedCluster, node, pod, pod_group, queue, running

ODD_TEXTS = st.one_of(
    st.sampled_from(
        [
            "",
            " ",
            "0001-01-01T00:00:00Z",
            "9999-12-31T23:59:59Z",
            "2027-01-01T00:00:00+25:00",
            "2027-01-01T00:00:00.123456789123Z",
            "-1h",
            "1e9h",
            "99999999999999999999",
            "٣",
            "1e400",
            "nan",
            "-0",
            "0x10",
            "\x00",
        ]
    ),
    st.text(max_size=20),
)
ANNOTATION_KEYS = [
    key for each in annotations.ANNOTATIONS if not each.on_queue or each.on_pod_group for key in each.keys
]
NUMBERS = st.sampled_from([-(2**40), -1, 0, 1, 2**31, 2**62])
AMOUNTS = st.sampled_from([-1e308, -1.0, -0.1, 0.0, 0.3, 1e300, 1e308])
MANY = settings(
    max_examples=150,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


def is_accepted(world: CachedCluster) -> None:
    decode_snapshot(world.snapshot())


@MANY
@given(
    notes=st.dictionaries(st.sampled_from(ANNOTATION_KEYS), ODD_TEXTS),
    minimum=NUMBERS,
    spans=st.tuples(ODD_TEXTS, ODD_TEXTS),
    mode=ODD_TEXTS,
)
def test_pod_groups_with_any_field_values_are_accepted(
    notes: dict[str, str], minimum: int, spans: tuple[str, str], mode: str
) -> None:
    world = CachedCluster()
    spec = {"preemptionDelay": spans[0], "stalenessGracePeriod": spans[1], "preemptibility": mode}
    parts = [{"name": "a", "minMember": minimum}, {"name": "b", "minSubGroup": minimum}]
    world.put("kai_pod_groups", pod_group("g", annotations=notes, minMember=minimum, **spec))
    world.put("kai_pod_groups", pod_group("h", minSubGroup=minimum, subGroups=parts))
    world.put("volcano_pod_groups", pod_group("v", annotations=notes, minMember=minimum))
    world.put("volcano_pod_groups", pod_group("w", annotations=notes, minTaskMember={"t": minimum}))
    world.put("pods", running("p", meta={"annotations": notes}))
    is_accepted(world)


@MANY
@given(
    notes=st.dictionaries(st.sampled_from(ANNOTATIONS), ODD_TEXTS),
    label=ODD_TEXTS,
    request=ODD_TEXTS,
    make=st.sampled_from([pod, running]),
)
def test_pods_and_nodes_with_any_field_values_are_accepted(
    notes: dict[str, str], label: str, request: str, make: Any
) -> None:
    world = CachedCluster()
    world.put("nodes", node(labels={names.GPU_MEMORY_LABEL: label}, allocatable={"cpu": request, "x": "1"}))
    keys = (names.TASK_PRIORITY, names.GPU_GROUP, f"{names.GPU_GROUP}/x", names.SUB_GROUP)
    meta = {"annotations": notes, "labels": dict.fromkeys(keys, label)}
    world.put("pods", make("p", meta=meta, requests={"cpu": request, "nvidia.com/gpu": "300m"}))
    is_accepted(world)


@MANY
@given(amounts=st.tuples(AMOUNTS, AMOUNTS, AMOUNTS), span=ODD_TEXTS, number=NUMBERS, quantity=ODD_TEXTS)
def test_queues_with_any_field_values_are_accepted(
    amounts: tuple[float, ...], span: str, number: int, quantity: str
) -> None:
    world = CachedCluster()
    resource = dict(zip(("quota", "limit", "overQuotaWeight"), amounts, strict=True))
    resources = dict.fromkeys(("cpu", "memory", "gpu"), resource)
    world.put("kai_queues", queue("q", resources=resources, reclaimMinRuntime=span, priority=number))
    shares = {key: {"cpu": quantity, "nvidia.com/gpu": quantity} for key in ("deserved", "capability")}
    world.put("volcano_queues", queue("v", weight=number, priority=number, **shares))
    is_accepted(world)


@pytest.mark.parametrize(
    ("requests", "pods"),
    [
        ({f"example.com/r{i}": "1" for i in range(300)}, 1),
        ({"memory": "8Pi"}, 600),
        ({"cpu": "9E", "example.com/r0": "9E"}, 600),
        ({"nvidia.com/gpu": "9E"}, 600),
    ],
)
@pytest.mark.parametrize("make", [pod, running])
def test_extreme_numbers_and_requests_of_pods_are_accepted(
    requests: dict[str, str], pods: int, make: Any
) -> None:
    world = CachedCluster()
    world.put("nodes", node(allocatable={"cpu": "1", "example.com/r0": "9E"}))
    for number in range(pods):
        world.put("pods", make(f"p{number}", requests=requests))
    is_accepted(world)


@pytest.mark.parametrize(
    "amounts", [{f"example.com/r{i}": "1" for i in range(300)}, {"memory": "9E", "nvidia.com/gpu": "9E"}]
)
def test_extreme_capacities_of_nodes_are_accepted(amounts: dict[str, str]) -> None:
    world = CachedCluster()
    for number in range(600):
        world.put("nodes", node(f"n{number}", allocatable=amounts))
    is_accepted(world)


@pytest.mark.parametrize(
    "key",
    [
        names.LAST_START,
        names.LAST_EVICTION,
        names.EVICTION_COUNT,
        names.TOTAL_EVICTION_WAIT,
        names.EVICTIONS_WITHOUT_PROGRESS,
        names.EVICTIONS,
    ],
)
def test_unreadable_value_is_one_warning_that_ends_when_it_is_fixed(key: str) -> None:
    world = CachedCluster()
    world.put("kai_pod_groups", pod_group("g", annotations={key: "odd"}))
    picture = world.builder()
    picture.snapshot(NOW)
    assert [key in warned.text for warned in picture.warnings.take_new()] == [True]
    world.put("kai_pod_groups", pod_group("g", annotations={key: "odd"}))
    picture.delta(NOW)
    assert not picture.warnings.take_new()
    world.put("kai_pod_groups", pod_group("g"))
    picture.delta(NOW)
    assert not picture.warnings.active
