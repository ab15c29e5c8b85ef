"""Volume claims restrict the nodes of a pod, as in kube-scheduler, or keep it from all, with a reason."""

from typing import Any

import pytest
from tenure.kubernetes.observe.snapshot_builder import SnapshotBuilder
from tenure.v1.snapshot_pb2 import ClusterSnapshot, PodShape

from tests.kubernetes.observe.cached_cluster import NOW, CachedCluster, pod, running
from tests.kubernetes.observe.test_binding_backoff import later
from tests.kubernetes.volumes.volume_objects import (
    DRIVER,
    ZONE,
    attach_limit,
    bound_claim,
    capacity,
    claim,
    csi,
    mounts,
    storage_class,
    storage_cluster,
    volume,
)

Objects = list[tuple[str, dict[str, Any]]]
NO_VOLUME = (
    "volume claim 'data' can have no volume on any node: no free volume of storage class '{}' matches, "
    "and none can be provisioned"
)
RESOURCE = f"attachable-volumes-csi-{DRIVER}"
ALL = {"n1", "n2", "n3"}
SELECTED = "volume.kubernetes.io/selected-node"
IN_ZONE_A = [{"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]}]
TRACKED = ("csi_drivers", {"metadata": {"name": DRIVER}, "spec": {"storageCapacity": True}})


@pytest.fixture
def world() -> CachedCluster:
    return storage_cluster()


def shape_of(snapshot: ClusterSnapshot, name: str) -> PodShape:
    (row,) = (row for row in snapshot.pods if row.name == name)
    return next(shape for shape in snapshot.shapes if shape.id == row.shape)


def nodes_for(snapshot: ClusterSnapshot, name: str = "p") -> set[str]:
    """Nodes that the affinity of a pod selects, by operators In, NotIn and DoesNotExist."""
    terms = shape_of(snapshot, name).node_affinity
    found = set()
    for node in snapshot.nodes:
        held = [
            all(
                (node.labels.get(one.key) in one.values) is (one.operator == 1)
                if one.values
                else one.key not in node.labels
                for one in term.requirements
            )
            for term in terms
        ]
        if any(held) or not terms:
            found.add(node.name)
    return found


def blocked_reason(snapshot: ClusterSnapshot, name: str = "p") -> str:
    return next(row.blocked_reason for row in snapshot.pods if row.name == name)


NODES: dict[str, tuple[Objects, set[str]]] = {
    "a bound volume on a node": (
        [("volume_claims", bound_claim("data", "v")), ("volumes", volume("v", ("n2",), phase="Bound"))],
        {"n2"},
    ),
    "a bound volume with the label of a zone": (
        [("volume_claims", bound_claim("data", "v")), ("volumes", volume("v", labels={ZONE: "b"}))],
        {"n3"},
    ),
    "a bound volume in one of several zones": (
        [("volume_claims", bound_claim("data", "v")), ("volumes", volume("v", labels={ZONE: "a__b"}))],
        ALL,
    ),
    "a bound volume for all nodes": (
        [("volume_claims", bound_claim("data", "v")), ("volumes", volume("v"))],
        ALL,
    ),
    "a claim that is provisioned anywhere": ([("volume_claims", claim())], ALL),
    "a claim whose node is selected": (
        [("volume_claims", claim(meta={"annotations": {SELECTED: "n3"}}))],
        {"n3"},
    ),
    "a claim whose selected node is gone": (
        [("volume_claims", claim(meta={"annotations": {SELECTED: "gone"}}))],
        ALL,
    ),
    "a class for a zone": (
        [
            ("storage_classes", storage_class("zonal", allowedTopologies=IN_ZONE_A)),
            ("volume_claims", claim(kind="zonal")),
        ],
        {"n1", "n2"},
    ),
    "capacity on some nodes": (
        [
            TRACKED,
            ("storage_capacities", capacity("c1", "5Gi", "n1")),
            ("storage_capacities", capacity("c2", "1Gi", "n2")),
            ("storage_capacities", capacity("c3", "5Gi", "n3", kind="other")),
            ("storage_capacities", capacity("c4", "9Gi", None)),
            ("volume_claims", claim(size="2Gi")),
        ],
        {"n1"},
    ),
    "capacity in an allowed topology": (
        [
            TRACKED,
            ("storage_classes", storage_class("zonal", allowedTopologies=IN_ZONE_A)),
            ("storage_capacities", capacity("c1", "5Gi", "n1", kind="zonal")),
            ("storage_capacities", capacity("c3", "5Gi", "n3", kind="zonal")),
            ("volume_claims", claim(kind="zonal")),
        ],
        {"n1"},
    ),
    "free volumes on two nodes": (
        [
            ("volumes", volume("v1", ("n1",))),
            ("volumes", volume("v3", ("n3",))),
            ("volume_claims", claim(kind="local")),
        ],
        {"n1", "n3"},
    ),
    "free volumes that do not fit": (
        [
            ("volumes", volume("small", ("n1",), size="1Mi")),
            ("volumes", volume("block", ("n1",), volumeMode="Block")),
            ("volumes", volume("read", ("n1",), accessModes=["ReadOnlyMany"])),
            ("volumes", volume("other", ("n1",), kind="other")),
            ("volumes", volume("used", ("n1",), phase="Bound", claimRef={"namespace": "x", "name": "y"})),
            ("volumes", volume("released", ("n1",), phase="Released")),
            ("volumes", volume("v", ("n2",))),
            ("volume_claims", claim(kind="local")),
        ],
        {"n2"},
    ),
    "a volume that names the claim": (
        [
            ("volumes", volume("v1", ("n1",))),
            ("volumes", volume("v2", ("n2",), claimRef={"namespace": "team", "name": "data"})),
            ("volume_claims", claim(kind="local")),
        ],
        {"n2"},
    ),
    "a selector of volumes": (
        [
            ("volumes", volume("v1", ("n1",))),
            ("volumes", volume("v2", ("n2",), labels={"speed": "fast"})),
            ("volume_claims", claim(kind="local", spec={"selector": {"matchLabels": {"speed": "fast"}}})),
        ],
        {"n2"},
    ),
}


@pytest.mark.parametrize("case", NODES)
def test_nodes_of_a_pod_with_a_claim(world: CachedCluster, case: str) -> None:
    objects, expected = NODES[case]
    for collection, item in objects:
        world.put(collection, item)
    world.put("pods", pod("p", spec=mounts("data")))
    snapshot = world.snapshot()
    assert blocked_reason(snapshot) == ""
    assert nodes_for(snapshot) == expected


def test_pod_must_satisfy_its_own_affinity_and_all_its_volumes(world: CachedCluster) -> None:
    own = {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [in_zones("a"), in_zones("b")]
        }
    }
    world.put("volume_claims", bound_claim("data", "v"))
    world.put("volumes", volume("v", ("n1", "n3"), phase="Bound"))
    world.put("volumes", volume("w", ("n2", "n3")))
    world.put("volume_claims", claim("more", "local"))
    world.put("pods", pod("p", spec={**mounts("data", "more"), "affinity": {"nodeAffinity": own}}))
    assert nodes_for(world.snapshot()) == {"n3"}


def in_zones(*zones: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": ZONE, "operator": "In", "values": list(zones)}]}


BLOCKED: dict[str, tuple[Objects, str]] = {
    "missing": ([], "volume claim 'data' does not exist"),
    "terminating": (
        [("volume_claims", claim(meta={"deletionTimestamp": "2027-01-01T00:00:00Z"}))],
        "volume claim 'data' is terminating",
    ),
    "lost": ([("volume_claims", claim(status={"phase": "Lost"}))], "volume claim 'data' has lost its volume"),
    "its volume is gone": (
        [("volume_claims", bound_claim("data", "v"))],
        "volume 'v' of volume claim 'data' does not exist",
    ),
    "its class binds without a pod": (
        [("volume_claims", claim(kind="now"))],
        "volume claim 'data' is not bound yet",
    ),
    "its class does not exist": (
        [("volume_claims", claim(kind="fast"))],
        "volume claim 'data' is not bound yet: storage class 'fast' does not exist",
    ),
    "it has no class": (
        [("volume_claims", claim(kind=""))],
        "volume claim 'data' is not bound yet: it has no storage class, and no volume without one matches",
    ),
    "it names a volume": (
        [("volume_claims", claim(spec={"volumeName": "v"}))],
        "volume claim 'data' is not bound yet: it waits for volume 'v'",
    ),
    "no volume is left": ([("volume_claims", claim(kind="local"))], NO_VOLUME.format("local")),
    "no capacity is left": ([TRACKED, ("volume_claims", claim())], NO_VOLUME.format("disk")),
}


@pytest.mark.parametrize("case", BLOCKED)
def test_pod_whose_claim_cannot_be_used_is_blocked_with_the_reason(world: CachedCluster, case: str) -> None:
    objects, reason = BLOCKED[case]
    for collection, item in objects:
        world.put(collection, item)
    world.put("pods", pod("p", spec=mounts("data")))
    assert blocked_reason(world.snapshot()) == reason


def test_claim_of_a_pod_alone_must_be_owned_by_it(world: CachedCluster) -> None:
    spec = {"volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}}]}
    uid = world.put("pods", pod("p", spec=spec))
    assert blocked_reason(world.snapshot()) == "volume claim 'p-scratch' does not exist"
    world.put("volume_claims", claim("p-scratch"))
    assert blocked_reason(world.snapshot()) == "volume claim 'p-scratch' was not created for this pod"
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid, "controller": True}
    world.put("volume_claims", claim("p-scratch", meta={"ownerReferences": [owner]}))
    assert blocked_reason(world.snapshot()) == ""


def test_claim_for_one_pod_goes_to_the_oldest_and_then_to_the_next(world: CachedCluster) -> None:
    world.put("volume_claims", claim(spec={"accessModes": ["ReadWriteOncePod"]}))
    for name in ("p", "q"):
        world.put("pods", pod(name, spec=mounts("data")))
    builder = world.builder()
    first = builder.snapshot(NOW)
    assert blocked_reason(first, "p") == ""
    assert blocked_reason(first, "q") == "volume claim 'data' allows one pod, and pod 'p' uses it"
    world.put("pods", running("p", spec=mounts("data")))
    assert changed(builder) == {"p": ""}
    world.remove("pods", "uid-p")
    assert changed(builder) == {"q": ""}


def changed(builder: SnapshotBuilder) -> dict[str, str]:
    return {row.name: row.blocked_reason for row in builder.delta(NOW).upserts.pods}


CHANGES: dict[str, tuple[Objects, set[str]]] = {
    "the claim arrives": ([("volume_claims", claim())], ALL),
    "its volume arrives": (
        [("volume_claims", bound_claim("data", "v")), ("volumes", volume("v", ("n2",)))],
        {"n2"},
    ),
    "a free volume arrives": (
        [("volume_claims", claim(kind="local")), ("volumes", volume("v", ("n2",)))],
        {"n2"},
    ),
    "capacity arrives": (
        [TRACKED, ("volume_claims", claim()), ("storage_capacities", capacity("c", "5Gi", "n1"))],
        {"n1"},
    ),
    "the class arrives": (
        [("volume_claims", claim(kind="zonal")), ("storage_classes", storage_class("zonal"))],
        ALL,
    ),
}


@pytest.mark.parametrize("case", CHANGES)
def test_waiting_pod_is_read_again_when(world: CachedCluster, case: str) -> None:
    objects, expected = CHANGES[case]
    world.put("pods", pod("p", spec=mounts("data")))
    builder = world.builder()
    builder.snapshot(NOW)
    for collection, item in objects:
        world.put(collection, item)
        builder.delta(NOW)
    snapshot = builder.snapshot(NOW)
    assert blocked_reason(snapshot) == ""
    assert nodes_for(snapshot) == expected
    assert snapshot.pods == world.snapshot().pods


def test_node_that_is_selected_is_dropped_when_it_vanishes(world: CachedCluster) -> None:
    world.put("volume_claims", claim(meta={"annotations": {SELECTED: "n3"}}))
    world.put("pods", pod("p", spec=mounts("data")))
    builder = world.builder()
    assert nodes_for(builder.snapshot(NOW)) == {"n3"}
    world.remove("nodes", "nodes-n3")
    builder.delta(NOW)
    assert nodes_for(builder.snapshot(NOW)) == {"n1", "n2"}


def offered(snapshot: ClusterSnapshot) -> dict[str, int]:
    return {row.name: row.allocatable.extended.get(RESOURCE, 0) for row in snapshot.nodes}


def test_attach_limits_are_a_resource_of_nodes_and_pods(world: CachedCluster) -> None:
    world.put("csi_nodes", attach_limit("n1", 3))
    world.put("volumes", volume("v", **csi("vol-1")))
    world.put("volume_claims", bound_claim("data", "v"))
    world.put("volume_claims", claim("new"))
    world.put("pods", pod("p", spec=mounts("data", "new")))
    snapshot = world.snapshot()
    assert shape_of(snapshot, "p").requests.extended == {RESOURCE: 2}
    assert offered(snapshot) == {"n1": 3, "n2": 2**20, "n3": 2**20}


def test_volume_of_several_pods_of_a_node_is_attached_once(world: CachedCluster) -> None:
    world.put("csi_nodes", attach_limit("n1", 3))
    world.put("volumes", volume("v", **csi("vol-1")))
    world.put("volume_claims", bound_claim("data", "v"))
    for name in ("p", "q"):
        world.put("pods", running(name, spec=mounts("data")))
    builder = world.builder()
    assert offered(builder.snapshot(NOW))["n1"] == 4, "two pods use 2, one volume is attached: 2 are left"
    world.remove("pods", "uid-q")
    assert offered(builder.snapshot(NOW))["n1"] == 3


def test_volume_that_is_attached_and_unused_leaves_less(world: CachedCluster) -> None:
    world.put("csi_nodes", attach_limit("n1", 3))
    for number in range(2):
        world.put("volumes", volume(f"v{number}", **csi(f"vol-{number}")))
        source = {"persistentVolumeName": f"v{number}"}
        attachment = {"attacher": DRIVER, "nodeName": "n1", "source": source}
        world.put("volume_attachments", {"metadata": {"name": f"a{number}"}, "spec": attachment})
    world.put("volume_claims", bound_claim("data", "v0"))
    world.put("pods", running("p", spec=mounts("data")))
    assert offered(world.snapshot())["n1"] == 2, "one of them is of a pod, the other of none"


def test_volumes_of_other_schedulers_use_the_limit(world: CachedCluster) -> None:
    world.put("csi_nodes", attach_limit("n1", 3))
    world.put("volumes", volume("v", **csi("vol-1")))
    world.put("volume_claims", bound_claim("data", "v"))
    world.put("pods", running("p", spec={**mounts("data"), "schedulerName": "default-scheduler"}))
    assert offered(world.snapshot())["n1"] == 2


def test_node_on_which_binding_failed_is_avoided_for_longer_each_time(world: CachedCluster) -> None:
    world.put("volume_claims", claim())
    world.put("pods", pod("p", spec=mounts("data")))
    builder, waits = world.builder(), world.mirrors.volume_waits
    builder.snapshot(NOW)
    waits.avoid("uid-p", "n1")
    builder.delta(NOW)
    assert nodes_for(builder.snapshot(NOW)) == {"n2", "n3"}
    assert builder.recheck_seconds == NOW.seconds + 60
    assert nodes_for(builder.snapshot(later(60))) == ALL
    waits.avoid("uid-p", "n1")
    builder.delta(later(60))
    assert builder.recheck_seconds == NOW.seconds + 60 + 120
    world.remove("pods", "uid-p")
    builder.delta(later(61))
    assert builder.recheck_seconds is None


def test_thousand_volumes_of_one_class_are_one_term(world: CachedCluster) -> None:
    for number in range(1000):
        world.put("volumes", volume(f"v{number}", (f"n{number}",)))
    world.put("volume_claims", claim(kind="local"))
    world.put("pods", pod("p", spec=mounts("data")))
    (term,) = shape_of(world.snapshot(), "p").node_affinity
    (requirement,) = term.requirements
    assert len(requirement.values) == 1000
