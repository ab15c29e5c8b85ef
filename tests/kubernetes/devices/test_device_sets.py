"""Numbers of devices are exact for nested sets, and devices are chosen whenever there are enough."""

from collections.abc import Sequence
from itertools import combinations, permutations
from random import Random
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.kubernetes.devices import device_sets
from tenure.kubernetes.devices.allocation import DeviceChoice
from tenure.kubernetes.devices.requests import ClaimNeeds
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.kubernetes.observe.cached_cluster import NOW, CachedCluster, node, pod, queue

DRIVER = "gpu.io"
SELECTORS = ("", "model == 'A'", "model == 'A' && device.attributes['gpu.io'].index == 0", "model == 'B'")


def device_cluster(*models: str, taints: Sequence[dict[str, str]] = (), **spec: Any) -> CachedCluster:
    """Node n1 with a device of each model, and the class of all."""
    made = CachedCluster()
    made.put("nodes", node("n1"))
    made.put("kai_queues", queue("q"))
    publish(made, *models, taints=taints, **spec)
    expression = f"device.driver == '{DRIVER}'"
    spec = {"selectors": [{"cel": {"expression": expression}}]}
    made.put("device_classes", {"metadata": {"name": DRIVER}, "spec": spec})
    return made


def publish(cluster: CachedCluster, *models: str, name: str = "n1", **spec: Any) -> None:
    """Publish a device of each model."""
    more = {"taints": list(spec.pop("taints", ())), **spec.pop("device", {})}
    devices = [
        {"name": f"d{at}", "attributes": {"model": {"string": model}, "index": {"int": at}}, **more}
        for at, model in enumerate(models)
    ]
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1, **spec.pop("pool", {})}
    body = {"driver": DRIVER, "nodeName": "n1", "pool": pool, "devices": devices, **spec}
    cluster.put("resource_slices", {"metadata": {"name": name}, "spec": body})


def claim(name: str, selector: str = "", count: int = 1, **more: Any) -> dict[str, Any]:
    """Build a claim; `more` are other fields of its request."""
    exactly: dict[str, Any] = {"deviceClassName": DRIVER, "count": count, **more}
    if selector:
        exactly["selectors"] = [{"cel": {"expression": f"device.attributes['{DRIVER}'].{selector}"}}]
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    return {"metadata": {"name": name, "namespace": "team"}, "spec": spec, "status": {}}


def use(cluster: CachedCluster, item: dict[str, Any]) -> None:
    """Create a claim with a pod of the same name."""
    name = item["metadata"]["name"]
    cluster.put("resource_claims", item)
    cluster.put("pods", pod(name, spec={"resourceClaims": [{"name": "x", "resourceClaimName": name}]}))


def snapshot(cluster: CachedCluster) -> ClusterSnapshot:
    builder = cluster.builder()
    builder.claims.allocator_problem = lambda: ""
    return builder.snapshot(Timestamp(seconds=NOW.seconds))


def reasons(cluster: CachedCluster) -> dict[str, str]:
    return {row.uid: row.blocked_reason for row in snapshot(cluster).pods if row.blocked_reason}


def numbers(cluster: CachedCluster) -> tuple[list[int], dict[str, list[int]]]:
    """Devices of the node, and of each claim, in the order of the sets."""
    found = snapshot(cluster)
    sets = sorted(found.nodes[0].devices)
    of_claims = {
        row.id.partition("/")[2]: {one.device_class: one.count for one in row.requests}
        for row in found.resource_claims
    }
    in_order = {name: [counts.get(one, 0) for one in sets] for name, counts in of_claims.items()}
    return [found.nodes[0].devices[one] for one in sets], in_order


def test_claim_counts_in_all_sets_that_contain_its_devices() -> None:
    world = device_cluster("A", "A", "B")
    use(world, claim("any"))
    use(world, claim("a", "model == 'A'", count=2))
    assert numbers(world) == ([2, 3], {"any": [0, 1], "a": [2, 2]})


def test_equal_sets_are_one() -> None:
    world = device_cluster("A", "A")
    use(world, claim("any"))
    use(world, claim("a", "model == 'A'"))
    assert numbers(world) == ([2], {"any": [1], "a": [1]})


def test_allocated_claim_keeps_its_devices_on_their_node() -> None:
    world = device_cluster("A", "A", "B")
    given = claim("given")
    result = {"request": "r", "driver": DRIVER, "pool": "n1", "device": "d1"}
    given["status"] = {"allocation": {"devices": {"results": [result]}}}
    world.put("resource_claims", given)
    use(world, claim("a", "model == 'A'"))
    assert numbers(world) == ([2, 3], {"given": [1, 1], "a": [1, 1]})
    assert {row.id: row.node for row in snapshot(world).resource_claims} == {"team/a": "", "team/given": "n1"}


def test_no_pod_is_evicted_for_claims_that_numbers_cannot_describe() -> None:
    world = device_cluster("A", "A", "B")
    use(world, claim("one", "index < 2"))
    assert [group.never_evicts for group in snapshot(world).pod_groups] == [False]
    use(world, claim("two", "index > 0"))
    assert [group.never_evicts for group in snapshot(world).pod_groups] == [True, True]


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "incomplete pool": ({"pool": {"resourceSliceCount": 2}}, "no device of class 'gpu.io' fits"),
    "counters": (
        {"device": {"consumesCounters": [{"counterSet": "c"}]}},
        "no device of class 'gpu.io' fits; devices that are not supported: 1 with consumesCounters",
    ),
    "several allocations": (
        {"device": {"allowMultipleAllocations": True}},
        "no device of class 'gpu.io' fits; devices that are not supported: 1 with allowMultipleAllocations",
    ),
    "binding conditions": (
        {"device": {"bindingConditions": ["ready"]}},
        "no device of class 'gpu.io' fits; devices that are not supported: 1 with bindingConditions",
    ),
    "amounts of its node in 1.36": (
        {"device": {"nodeAllocatableResourceMappings": {"cpu": {"allocationMultiplier": "2"}}}},
        "no device of class 'gpu.io' fits; devices that are not supported: 1 with "
        "nodeAllocatableResourceMappings",
    ),
    "amounts of its node": (
        {"device": {"nodeAllocatableResources": [{"name": "cpu"}]}},
        "no device of class 'gpu.io' fits; devices that are not supported: 1 with nodeAllocatableResources",
    ),
    "without operations on nodes": (
        {"skipNodeOperations": ["*"]},
        "no device of class 'gpu.io' fits; devices that are not supported: 1 with spec.skipNodeOperations",
    ),
    "of all nodes": (
        {"nodeName": "", "allNodes": True},
        "no device of class 'gpu.io' fits; devices that are not supported: 1 with no spec.nodeName",
    ),
    "tainted": (
        {"taints": [{"key": "broken", "effect": "NoSchedule"}]},
        "no device of class 'gpu.io' fits",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_device_that_claims_cannot_use_is_told(case: str) -> None:
    spec, reason = CASES[case]
    world = device_cluster("A", **spec)
    use(world, claim("c"))
    assert reasons(world) == {"uid-c": f"resource claim 'c' has no status.allocation, and {reason}"}


@pytest.mark.parametrize(
    ("selector", "is_tainted"),
    [
        ({}, True),
        ({"driver": DRIVER, "pool": "n1", "device": "d0"}, True),
        ({"driver": DRIVER, "device": "d1"}, False),
        ({"driver": "other.io"}, False),
        ({"pool": "n2"}, False),
    ],
)
def test_rule_taints_the_devices_that_it_selects(selector: dict[str, str], is_tainted: bool) -> None:
    world = device_cluster("A")
    use(world, claim("plain"))
    use(world, claim("tolerant", tolerations=[{"key": "broken", "operator": "Exists"}]))
    taint = {"key": "broken", "effect": "NoExecute"}
    rule = {"metadata": {"name": "rule"}, "spec": {"deviceSelector": selector, "taint": taint}}
    builder = world.builder()
    builder.claims.allocator_problem = lambda: ""

    def waiting() -> set[str]:
        return {row.uid for row in builder.snapshot(NOW).pods if row.blocked_reason}

    assert waiting() == set()
    uid = world.put("device_taint_rules", rule)
    assert waiting() == ({"uid-plain"} if is_tainted else set())
    world.remove("device_taint_rules", uid)
    assert waiting() == set()


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "adminAccess": ({"adminAccess": True}, "adminAccess is not supported"),
    "capacity": ({"capacity": {"requests": {"memory": "1Gi"}}}, "capacity is not supported"),
    "derived attributes": (
        {"derivedAttributes": [{"name": "a"}]},
        "derivedAttributes is not supported",
    ),
    "all": ({"allocationMode": "All"}, "allocationMode All is not supported"),
    "another mode": ({"allocationMode": "Some"}, "allocationMode Some is not supported"),
    "macro": (
        {"selector": "a.all(x, true)"},
        "selectors[0].cel.expression has all(), which is not supported",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_field_that_is_not_supported_is_named(case: str) -> None:
    more, reason = REFUSED[case]
    world = device_cluster("A")
    use(world, claim("c", **more))
    expected = f"and its spec.devices.requests[0].exactly.{reason}"
    assert reasons(world)["uid-c"].endswith(expected)


def test_outdated_slices_are_ignored() -> None:
    world = device_cluster("A", "A")
    publish(world, "B", name="new", pool={"generation": 2})
    use(world, claim("any"))
    assert numbers(world) == ([1], {"any": [1]})


def test_many_selectors_of_one_namespace_leave_room_for_others() -> None:
    world = device_cluster(*"AB" * 30)
    for at in range(60):
        use(world, claim(f"own{at:02}", f"index == {at}"))
    other = claim("other", "model == 'B'")
    other["metadata"]["namespace"] = "other"
    world.put("resource_claims", other)
    item = pod("other", spec={"resourceClaims": [{"name": "x", "resourceClaimName": "other"}]})
    world.put("pods", {**item, "metadata": {**item["metadata"], "namespace": "other"}})
    found = snapshot(world)
    assert len(found.nodes[0].devices) <= 49
    blocked = {row.uid for row in found.pods if row.blocked_reason}
    assert "uid-other" not in blocked
    assert len(blocked) == 60 - 16


def test_selectors_are_evaluated_in_parts_and_those_of_few_claims_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(device_sets, "MAX_COST", 400)
    world = device_cluster(*"AB" * 4)
    for at in range(4):
        use(world, claim(f"c{at}", f"index == {at}"))
    builder = world.builder()
    builder.claims.allocator_problem = lambda: ""
    waiting: list[int] = []
    for _ in range(20):
        rows = builder.snapshot(NOW).pods
        waiting.append(sum("are being evaluated" in row.blocked_reason for row in rows))
        if not waiting[-1]:
            break
        assert builder.recheck_seconds == 0.0
    assert len(waiting) > 2
    assert waiting == sorted(waiting, reverse=True)
    assert waiting[-1] == 0
    assert builder.recheck_seconds is None


@pytest.mark.parametrize("seed", range(60))
def test_numbers_and_choice_agree_with_trying_everything(seed: int) -> None:
    random = Random(seed)
    world = device_cluster(*(random.choice("AB") for _ in range(random.randint(1, 5))))
    for at in range(random.randint(1, 4)):
        use(world, claim(f"c{at}", random.choice(SELECTORS), count=random.choice((1, 1, 2))))
    builder = world.builder()
    builder.claims.allocator_problem = lambda: ""
    builder.snapshot(NOW)
    index, sets = builder.claims.index, builder.claims.sets
    claims = {one.metadata.uid: one for one in world.mirrors.resource_claims.all()}
    needs = {uid: found for uid, one in claims.items() if (found := index.needs(one)) is not None}
    devices = list(sets.inventory.devices.values())
    chosen = DeviceChoice(devices, sets.fits, sets.rivals).choose(needs)
    wanted = [one for need in needs.values() for request in need.requests for one in request.alternatives]
    places = [one.kind for one in wanted for _ in range(one.amount)]
    can = any(
        all(sets.fits(kind, device) for kind, device in zip(places, order, strict=True))
        for order in permutations(devices, len(places))
    )
    assert (chosen is not None) == can
    assert _enough(sets.offered("n1"), [sets.requested(need) for need in needs.values()]) == can or _unknown(
        needs, sets
    )
    if chosen is not None:
        given = [one.device for of_claim in chosen.values() for one in of_claim]
        assert len(given) == len(set(given)) == len(places)
        assert all(left is not right for left, right in combinations(given, 2))


def _enough(offered: dict[str, int], requested: list[dict[str, int]]) -> bool:
    """Whether no set is requested more often than it has devices."""
    return all(sum(one.get(name, 0) for one in requested) <= count for name, count in offered.items())


def _unknown(needs: dict[str, ClaimNeeds], sets: Any) -> bool:
    """Whether a claim has no device that fits, and so no numbers: its pods are blocked."""
    return any(sets.problem(one) for one in needs.values())
