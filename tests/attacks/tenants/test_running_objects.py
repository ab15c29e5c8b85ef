"""Whatever a user writes on a running workload, its pods stay where other queues can reclaim them."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import pytest
from google.protobuf.json_format import MessageToJson
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.codec.engine import Engine
from tenure.kubernetes.objects import names
from tenure.kubernetes.observe.snapshot_builder import SnapshotBuilder
from tenure.kubernetes.observe.snapshot_scope import SnapshotScope
from tenure.kubernetes.observe.stored_annotations import StoredAnnotations, new_key
from tenure.solver.registry import default_profile
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.kubernetes.observe.cached_cluster import (
    CONFIG,
    LATER,
    NOW,
    CachedCluster,
    member,
    node,
    pod,
    pod_group,
    queue,
    running,
)

GPU: Final = {"nvidia.com/gpu": "4"}
LONG: Final = "x" * 254
NODE_POOL: Final = SnapshotScope(cluster_id="").node_pool_label
TOLERATIONS: Final = [{"key": f"{i:063}", "operator": "Exists"} for i in range(20_000)]
"""More than a server accepts. Tolerations can be added to a pod that runs."""
UNLIMITED: Final = {"quota": -1, "limit": -1}


class Borrowed:
    """A queue with the quota of all eight GPUs, and a pod group of another queue that runs on them."""

    quotas = (("q", 0), ("lends", 8))
    preemptibility = pb.PREEMPTIBILITY_PREEMPTIBLE
    preemptibility_text = "preemptible"

    def __init__(self, **labels: str) -> None:
        """`labels` of its queues."""
        self.world, self.stored = CachedCluster(), StoredAnnotations(new_key())
        served = ("nodes", "pods", "kai_queues", "kai_pod_groups", "topologies")
        self.world.mirrors.followed_collections.update({name: f"/apis/{name}" for name in served})
        self.world.put("nodes", node())
        for name, quota in self.quotas:
            gpus = {"quota": quota, "limit": -1, "overQuotaWeight": 1}
            share = {"cpu": UNLIMITED, "memory": UNLIMITED, "gpu": gpus}
            item = queue(name, resources=share)
            item["metadata"]["labels"] = labels
            self.world.put("kai_queues", item)
        grant = pb.Grant(queue="q", preemptibility=self.preemptibility, min_pods=2)
        self.annotations = self.stored.renew("uid-guest", {}, {names.GRANT: MessageToJson(grant)})
        self.write_group()
        for name in ("guest-0", "guest-1"):
            self.write_pod(name)
        self.builder = self.new_builder()
        self.builder.snapshot(NOW)

    def new_builder(self, config: SnapshotScope = CONFIG) -> SnapshotBuilder:
        """A builder of an adapter that starts now, with the same key."""
        return self.world.builder(config, stored=StoredAnnotations(self.stored._key))

    def write_group(self, **spec: Any) -> None:
        self.world.put("kai_pod_groups", self.group(**spec))

    def group(self, **spec: Any) -> dict[str, Any]:
        """The pod group as its owner writes it."""
        annotations = {**self.annotations, **spec.pop("annotations", {})}
        spec = {"minMember": 2, "preemptibility": self.preemptibility_text, **spec}
        return pod_group("guest", annotations=annotations, **spec)

    def write_pod(self, name: str, **more: Any) -> None:
        meta = more.pop("meta", member("guest"))
        self.world.put("pods", running(name, requests=GPU, meta=meta, **more))

    def evicted(self, builder: SnapshotBuilder, at: Timestamp = LATER) -> set[str]:
        """Pods that are evicted for a pod of the lender; later, those of unknown pod groups are in reach."""
        meta = {"labels": {names.QUEUE: "lends"}}
        self.world.put("pods", pod("owner", requests={"nvidia.com/gpu": "8"}, meta=meta))
        builder.snapshot(NOW)
        return evicted_pods(builder.snapshot(at))


def evicted_pods(
    snapshot: ClusterSnapshot, journal: Mapping[str, pb.Grant] = MappingProxyType({})
) -> set[str]:
    """Pods that a cycle evicts. Grants of the journal are added, by pod group."""
    for row in snapshot.pod_groups:
        row.grant.MergeFrom(journal.get(row.uid, pb.Grant()))
        row.grant.SetInParent()
    response = Engine(default_profile()).decide(DecideRequest(snapshot=snapshot)).parse()
    steps = [step for group in response.groups for step in group.decisions]
    return {step.evict.pod for step in steps if step.HasField("evict")}


def _all_pods(**more: Any) -> Callable[[Borrowed], None]:
    def write(borrowed: Borrowed) -> None:
        for name in ("guest-0", "guest-1"):
            borrowed.write_pod(name, **more)

    return write


def _group(**spec: Any) -> Callable[[Borrowed], None]:
    return lambda borrowed: borrowed.write_group(**spec)


WRITES: Final[dict[str, Callable[[Borrowed], None]]] = {
    "subgroups in a circle": _group(subGroups=[{"name": "a", "parent": "b"}, {"name": "b", "parent": "a"}]),
    "subgroups without names": _group(subGroups=[{"name": ""}]),
    "a topology that does not exist": _group(topologyConstraint={"topology": "none"}),
    "a queue with too long a name": _group(queue=LONG),
    "a queue that does not exist": _group(queue="gone"),
    "a queue with children": _group(queue=""),
    "what the adapter cannot read": lambda borrowed: borrowed.world.put_unreadable(
        "kai_pod_groups", borrowed.group(minMember="two")
    ),
    "no pod group": lambda borrowed: borrowed.world.remove("kai_pod_groups", "uid-guest"),
    "another pod group": _all_pods(meta=member("none")),
    "a pod group of Volcano": _all_pods(meta={"annotations": {"scheduling.k8s.io/group-name": "none"}}),
    "another subgroup": _all_pods(meta={**member("guest"), "labels": {names.SUB_GROUP: "none"}}),
    "too many tolerations": _all_pods(spec={"tolerations": TOLERATIONS}),
}


@pytest.mark.parametrize("restarts", [False, True], ids=["", "after a restart"])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_borrowed_gpus_are_reclaimed(write: Callable[[Borrowed], None], restarts: bool) -> None:
    borrowed = Borrowed()
    write(borrowed)
    if restarts:
        assert borrowed.evicted(borrowed.new_builder()) == {"uid-guest-0", "uid-guest-1"}
    else:
        assert borrowed.evicted(borrowed.builder, NOW) == {"uid-guest-0", "uid-guest-1"}


OF_OWNERS: Final = {
    "a pod group": member("none"),
    "a pod group of Volcano": {"annotations": {"scheduling.k8s.io/group-name": "none"}},
    "a pod group that cannot be read": member("odd"),
}


@pytest.mark.parametrize("restarts", [False, True], ids=["", "after a restart"])
@pytest.mark.parametrize("named", OF_OWNERS.values(), ids=OF_OWNERS)
def test_borrowed_gpus_of_a_derived_pod_group_are_reclaimed(named: dict[str, Any], restarts: bool) -> None:
    borrowed = Borrowed()
    label = {"labels": {names.QUEUE: "q"}}
    borrowed.world.remove("kai_pod_groups", "uid-guest")
    borrowed.world.remove("pods", "uid-guest-1")
    borrowed.write_pod("guest-0", meta=label)
    borrowed.builder = borrowed.new_builder()
    assert [row.queue for row in borrowed.builder.snapshot(NOW).pod_groups] == ["q"]
    borrowed.world.put_unreadable("kai_pod_groups", pod_group("odd", minMember="two"))
    borrowed.write_pod("guest-0", meta={**label, **named})
    if restarts:
        assert borrowed.evicted(borrowed.new_builder()) == {"uid-guest-0"}
    else:
        assert borrowed.evicted(borrowed.builder, NOW) == {"uid-guest-0"}


@pytest.mark.parametrize("restarts", [False, True], ids=["", "after a restart"])
def test_borrowed_gpus_are_reclaimed_from_a_pod_group_that_names_another_node_pool(restarts: bool) -> None:
    here = {NODE_POOL: "a"}
    borrowed = Borrowed(**here)
    pool = SnapshotScope(cluster_id="test", node_pool="a")
    borrowed.world.put("nodes", node(labels=here))
    written = borrowed.group()
    written["metadata"]["labels"] = here
    borrowed.world.put("kai_pod_groups", written)
    builder = borrowed.new_builder(pool)
    assert [row.uid for row in builder.snapshot(NOW).pod_groups] == ["uid-guest"]
    written["metadata"]["labels"] = {NODE_POOL: "b"}
    borrowed.world.put("kai_pod_groups", written)
    builder = borrowed.new_builder(pool) if restarts else builder
    meta = {"labels": {names.QUEUE: "lends", **here}}
    borrowed.world.put("pods", pod("owner", requests={"nvidia.com/gpu": "8"}, meta=meta))
    assert evicted_pods(builder.snapshot(NOW)) == {"uid-guest-0", "uid-guest-1"}


def in_pool(item: dict[str, Any], pool: str) -> dict[str, Any]:
    item["metadata"]["labels"] = {NODE_POOL: pool}
    return item


def borrowed_in_pool() -> tuple[Borrowed, SnapshotBuilder]:
    """A borrower in node pool a, and what its adapter sees."""
    borrowed = Borrowed(**{NODE_POOL: "a"})
    borrowed.world.put("nodes", node(labels={NODE_POOL: "a"}))
    borrowed.world.put("kai_pod_groups", in_pool(borrowed.group(), "a"))
    builder = borrowed.new_builder(SnapshotScope(cluster_id="test", node_pool="a"))
    assert [row.uid for row in builder.snapshot(NOW).pod_groups] == ["uid-guest"]
    return borrowed, builder


def test_borrowed_gpus_are_reclaimed_from_pods_that_name_a_pod_group_of_another_node_pool() -> None:
    borrowed, builder = borrowed_in_pool()
    borrowed.world.put("kai_pod_groups", in_pool(pod_group("elsewhere"), "b"))
    for name in ("guest-0", "guest-1"):
        borrowed.write_pod(name, meta=member("elsewhere"))
    meta = {"labels": {names.QUEUE: "lends", NODE_POOL: "a"}}
    borrowed.world.put("pods", pod("owner", requests={"nvidia.com/gpu": "8"}, meta=meta))
    assert evicted_pods(builder.snapshot(NOW)) == {"uid-guest-0", "uid-guest-1"}
    borrowed.world.put("kai_pod_groups", in_pool(pod_group("elsewhere", queue="q"), "a"))
    assert {row.pod_group for row in builder.snapshot(NOW).pods} >= {"uid-elsewhere"}, "it takes them now"


def test_pod_group_that_moved_to_another_node_pool_after_its_pods_is_left_to_its_adapter() -> None:
    borrowed, builder = borrowed_in_pool()
    for name in ("guest-0", "guest-1"):
        borrowed.world.remove("pods", f"uid-{name}")
    borrowed.world.put("kai_pod_groups", in_pool(borrowed.group(), "b"))
    builder.snapshot(NOW)
    borrowed.world.put("nodes", in_pool(node("n2"), "b"))
    for name in ("guest-0", "guest-1"):
        borrowed.world.put("pods", running(name, on="n2", requests=GPU, meta=member("guest")))
    snapshot = builder.snapshot(NOW)
    assert (list(snapshot.pods), list(snapshot.pod_groups)) == ([], [])
    assert not builder.warnings.active
    assert not builder.set_aside.objects


def test_derived_pod_group_keeps_running_pods_that_name_another_node_pool() -> None:
    world, here = CachedCluster(), {NODE_POOL: "a"}
    world.put("nodes", node(labels=here))
    world.put("kai_queues", queue("q"))
    meta = {"labels": {names.QUEUE: "q", **here}}
    world.put("pods", running("p", meta=meta))
    builder = world.builder(SnapshotScope(cluster_id="test", node_pool="a"))
    assert [row.uid for row in builder.snapshot(NOW).pods] == ["uid-p"]
    world.put("pods", running("p", meta={"labels": {**meta["labels"], NODE_POOL: "b"}}))
    assert [row.uid for row in builder.snapshot(NOW).pods] == ["uid-p"]
    assert [each.text for each in builder.warnings.active] == [
        "it names another node pool now, which is ignored"
    ]


def test_pod_of_a_deleted_pod_group_that_terminates_is_waited_for() -> None:
    """Else its GPUs would seem to be held by others, and a second victim would be evicted."""
    borrowed = Borrowed()
    borrowed.builder.warnings.take_new()
    (before,) = borrowed.builder.snapshot(NOW).nodes
    borrowed.world.remove("kai_pod_groups", "uid-guest")
    for name in ("guest-0", "guest-1"):
        deleted = {"deletionTimestamp": "2027-01-15T07:59:00Z"}
        borrowed.write_pod(name, meta={**member("guest"), **deleted})
    snapshot = borrowed.builder.snapshot(NOW)
    assert {(row.pod_group, row.status) for row in snapshot.pods} == {("uid-guest", pb.POD_STATUS_RELEASING)}
    assert list(snapshot.nodes) == [before], "what they hold is not that of others"
    assert not borrowed.builder.warnings.active, "so ends every pod group that is deleted with its pods"


def test_pending_pods_of_an_unusable_pod_group_wait() -> None:
    borrowed = Borrowed()
    borrowed.world.put("pods", pod("guest-2", requests=GPU, meta=member("guest")))
    WRITES["subgroups in a circle"](borrowed)
    rows = {row.uid: row for row in borrowed.builder.snapshot(NOW).pods}
    assert "contains itself" in rows["uid-guest-2"].blocked_reason
    assert not rows["uid-guest-0"].blocked_reason
    (aside,) = borrowed.builder.set_aside.take_new()
    assert aside.target.name == "guest"


@pytest.mark.parametrize("later", [{"gpu-fraction": "0.1"}, {}, {"gpu-memory": "10"}], ids=str)
def test_share_of_a_gpu_is_the_one_that_a_pod_was_placed_with(later: dict[str, str]) -> None:
    """Else others would be placed on memory that it uses, and its queue would seem to use less."""
    world = CachedCluster()
    world.put("nodes", node())

    def write(share: dict[str, str]) -> None:
        meta = {"annotations": share, "labels": {names.GPU_GROUP: "device-0"}}
        world.put("pods", running("p", meta=meta))

    write({"gpu-fraction": "0.9"})
    builder = world.builder()
    (shape,) = builder.snapshot(NOW).shapes
    assert shape.gpu.portion_milli == 900
    write(later)
    assert [row.gpu.portion_milli for row in builder.snapshot(NOW).shapes] == [900]
    (warned,) = [each for each in builder.warnings.active if "share" in each.text]
    assert warned.text == "its share of a GPU was changed while it runs, which is ignored"
