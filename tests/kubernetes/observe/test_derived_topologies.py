"""Topology constraints, durations, projects and opt-outs that workloads of KAI state on owners and pods."""

from typing import Any, Final

import pytest
from tenure.client import Client
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.observe.snapshot_builder import SnapshotBuilder
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
from tests.kubernetes.owners.owner_chains import OwnedPods

KAI: Final = "kai.scheduler"
RACK: Final = "example.com/rack"
ZONE: Final = "example.com/zone"
TOPOLOGY: Final = {"levels": [{"nodeLabel": ZONE}, {"nodeLabel": RACK, "alias": "rack"}]}
UNLIMITED: Final = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
GPUS: Final = {"cpu": "1", "nvidia.com/gpu": "8"}


def placed(level: str, kind: str = "required", topology: str = "fabric") -> dict[str, str]:
    """Annotations of a workload with a topology constraint."""
    return {f"{KAI}/topology": topology, f"{KAI}/topology-{kind}-placement": level}


def racks(world: CachedCluster, *free: tuple[str, str], spec: dict[str, Any] | None = None) -> None:
    """Nodes of 8 GPUs by name and rack, their topology, and a queue without bounds."""
    world.put("topologies", {"metadata": {"name": "fabric"}, "spec": spec or TOPOLOGY})
    for name, rack in free:
        world.put("nodes", node(name, labels={ZONE: "z", RACK: rack}))
    resources = dict.fromkeys(("cpu", "memory", "gpu"), UNLIMITED)
    world.put("kai_queues", queue("default-queue", resources=resources))


def gang_of_two(world: OwnedPods, **annotations: str) -> None:
    """An indexed Job of two pods of 8 GPUs, which is a gang."""
    written = {f"{KAI}/batch-min-member": "2", **annotations}
    world.owner("batch/v1", "Job/train", spec={"parallelism": 2}, annotations=written)
    for name in ("train-0", "train-1"):
        world.pod(name, "Job/train", requests=GPUS)


def constraint(builder: SnapshotBuilder) -> pb.TopologyConstraint:
    [row] = builder.snapshot(NOW).pod_groups
    return row.topology_constraint


def racks_used(world: CachedCluster, builder: SnapshotBuilder, client: Client) -> list[str]:
    """Racks of the nodes that pods are bound to."""
    found = client.decide(builder.snapshot(NOW))
    decisions = [one for group in found.groups for one in group.decisions]
    nodes = (one.bind.node for one in decisions if one.WhichOneof("kind") == "bind")
    by_name = {one.metadata.name: one.metadata.labels[RACK] for one in world.mirrors.nodes.all()}
    return sorted(by_name[name] for name in nodes)


TWO_RACKS: Final = (("a1", "a"), ("b1", "b"))
PLACES: Final[dict[str, tuple[dict[str, str], tuple[tuple[str, str], ...], list[str]]]] = {
    "no constraint": ({}, TWO_RACKS, ["a", "b"]),
    "required, free in two racks": (placed(RACK), TWO_RACKS, []),
    "required, free in one rack": (placed(RACK), (*TWO_RACKS, ("b2", "b")), ["b", "b"]),
    "required, by its alias": (placed("rack"), (*TWO_RACKS, ("b2", "b")), ["b", "b"]),
    "preferred, free in two racks": (placed(RACK, "preferred"), TWO_RACKS, ["a", "b"]),
    "required, of a level above": (placed(ZONE), TWO_RACKS, ["a", "b"]),
}


@pytest.mark.parametrize("case", PLACES)
def test_gang_of_a_job_starts_where_its_topology_permits_r9_21(
    transport: Transport, client: Client, case: str
) -> None:
    annotations, nodes, expected = PLACES[case]
    world = OwnedPods(transport)
    racks(world.world, *nodes)
    gang_of_two(world, **annotations)
    assert racks_used(world.world, world.builder(), client) == expected


LEVELS: Final = {
    "required": (placed(RACK), pb.TopologyConstraint(topology="fabric", required_level=RACK)),
    "preferred": (placed(RACK, "preferred"), pb.TopologyConstraint(topology="fabric", preferred_level=RACK)),
    "alias": (placed("rack"), pb.TopologyConstraint(topology="fabric", required_level=RACK)),
    "both": (
        {**placed(ZONE), **placed(RACK, "preferred")},
        pb.TopologyConstraint(topology="fabric", required_level=ZONE, preferred_level=RACK),
    ),
}


@pytest.mark.parametrize("place", ["pod", "owner"])
@pytest.mark.parametrize("case", LEVELS)
def test_topology_is_read_from_owners_and_pods_r9_21(transport: Transport, case: str, place: str) -> None:
    annotations, expected = LEVELS[case]
    world = OwnedPods(transport)
    racks(world.world)
    world.owner("batch/v1", "Job/j", spec={}, annotations=annotations if place == "owner" else {})
    world.pod("a", "Job/j", annotations=annotations if place == "pod" else {})
    assert constraint(world.builder()) == expected


def test_topology_of_the_owner_precedes_that_of_its_pods_r9_21(transport: Transport) -> None:
    world = OwnedPods(transport)
    racks(world.world)
    world.owner("batch/v1", "Job/j", spec={}, annotations=placed(ZONE))
    world.pod("a", "Job/j", annotations=placed(RACK))
    assert constraint(world.builder()).required_level == ZONE


def parts_of_a_gang(transport: Transport, *, phase: str = "Pending", **of_owner: str) -> OwnedPods:
    """A master and two workers of 8 GPUs, which alone name a rack; a rack is free for the workers."""
    world = OwnedPods(transport)
    racks(world.world, ("a1", "a"), ("b1", "b"), ("b2", "b"))
    replicas = {"Master": {"replicas": 1}, "Worker": {"replicas": 2}}
    specs = {"pytorchReplicaSpecs": replicas}
    world.owner("kubeflow.org/v1", "PyTorchJob/t", spec=specs, annotations=of_owner)
    role = "training.kubeflow.org/replica-type"
    on = {"phase": phase, **({} if phase == "Pending" else {"on": "a1"})}
    world.pod("t-master", "PyTorchJob/t", requests=GPUS, labels={role: "master"}, **on)
    for name in ("t-worker-0", "t-worker-1"):
        world.pod(name, "PyTorchJob/t", requests=GPUS, labels={role: "worker"}, annotations=placed(RACK))
    return world


@pytest.mark.parametrize("phase", ["Pending", "Running"])
def test_pods_that_state_different_topologies_wait_and_say_why_r9_21(
    transport: Transport, client: Client, phase: str
) -> None:
    """Else the workers would start in two racks, or the master with them in one."""
    world = parts_of_a_gang(transport, phase=phase)
    builder = world.builder()
    assert racks_used(world.world, builder, client) == []
    reasons = {one.target.name: one.reason.text for one in builder.set_aside.take_new()}
    assert {name for name in reasons if "worker" in name} == {"t-worker-0", "t-worker-1"}
    assert all("different topology constraints" in text for text in reasons.values())


def test_topology_of_the_owner_is_that_of_all_its_pods_r9_21(transport: Transport) -> None:
    assert constraint(parts_of_a_gang(transport, **placed(ZONE)).builder()).required_level == ZONE


def test_empty_values_of_the_owner_count_as_unset_r9_21(transport: Transport) -> None:
    keys = ("safe-to-consolidate", "staleness-grace-period", *(key.partition("/")[2] for key in placed(RACK)))
    world = OwnedPods(transport)
    racks(world.world)
    world.owner("batch/v1", "Job/j", spec={}, annotations={f"{KAI}/{key}": " " for key in keys})
    written = {f"{KAI}/safe-to-consolidate": "false", f"{KAI}/staleness-grace-period": "5m", **placed(RACK)}
    world.pod("a", "Job/j", annotations=written)
    [row] = world.builder().snapshot(NOW).pod_groups
    assert row.topology_constraint.required_level == RACK
    assert (list(row.opt_out_actions), row.staleness_grace_period.seconds) == (["consolidation"], 300)


UNUSABLE: Final = {
    "unknown topology": (placed(RACK, topology="other"), "topology 'other' does not exist"),
    "unknown level": (placed("row"), "topology 'fabric' has no level 'row'"),
    "unknown preferred level": (placed("row", "preferred"), "topology 'fabric' has no level 'row'"),
    "level without a topology": (
        {f"{KAI}/topology-required-placement": RACK},
        f"it names level '{RACK}', but no topology",
    ),
    "topology without a level": ({f"{KAI}/topology": "fabric"}, "topology 'fabric' has no level"),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_workload_with_an_unusable_topology_waits_and_its_pods_say_why_r9_21(case: str) -> None:
    annotations, problem = UNUSABLE[case]
    world = CachedCluster()
    racks(world)
    world.put("pods", pod("a", meta={"annotations": annotations}))
    builder = world.builder()
    assert not builder.snapshot(NOW).pods
    [found] = builder.set_aside.take_new()
    assert (found.target.name, found.reason.code) == ("a", "SetAside")
    assert problem in found.reason.text


def test_running_pods_of_a_workload_with_an_unusable_topology_stay_in_their_queue_r9_21() -> None:
    world = CachedCluster()
    racks(world, ("n1", "a"))
    world.put("pods", running("a", meta={"annotations": placed("row")}))
    [row] = world.snapshot().pod_groups
    assert (row.queue, row.HasField("topology_constraint")) == ("default-queue", False)


def test_constraint_of_a_pod_group_names_levels_by_their_aliases_r9_32() -> None:
    world = CachedCluster()
    racks(world)
    wanted = {"topology": "fabric", "requiredTopologyLevel": "rack"}
    sub_groups = [{"name": "s", "minMember": 1, "topologyConstraint": wanted}]
    world.put("kai_pod_groups", pod_group("g", topologyConstraint=wanted, subGroups=sub_groups))
    [row] = world.snapshot().pod_groups
    assert row.topology_constraint.required_level == RACK
    assert row.sub_groups[0].topology_constraint.required_level == RACK


def test_alias_that_repeats_the_label_of_its_level_names_one_level_r9_32() -> None:
    world = CachedCluster()
    racks(world, spec={"levels": [{"nodeLabel": ZONE}, {"nodeLabel": RACK, "alias": RACK}]})
    world.put("pods", pod("a", meta={"annotations": placed(RACK)}))
    assert constraint(world.builder()).required_level == RACK


LEVELS_THAT_CLASH: Final = {
    "an alias of two levels": (
        [{"nodeLabel": ZONE, "alias": "rack"}, {"nodeLabel": RACK, "alias": "rack"}],
        "'rack' names two of its levels",
    ),
    "an alias that is a label": (
        [{"nodeLabel": ZONE, "alias": RACK}, {"nodeLabel": RACK}],
        f"'{RACK}' names two of its levels",
    ),
    "a label twice": ([{"nodeLabel": RACK}, {"nodeLabel": RACK}], f"'{RACK}' names two of its levels"),
    "a level without a label": ([{"alias": "rack"}], "a level has no node label"),
    "no levels": ([], "it has no levels"),
}


@pytest.mark.parametrize("case", LEVELS_THAT_CLASH)
def test_topology_with_levels_that_clash_is_set_aside_r9_32(case: str) -> None:
    levels, problem = LEVELS_THAT_CLASH[case]
    world = CachedCluster()
    racks(world, spec={"levels": levels})
    world.put("pods", pod("a", meta={"annotations": placed("rack")}))
    builder = world.builder()
    assert not builder.snapshot(NOW).topologies
    reasons = {one.target.kind: one.reason.text for one in builder.set_aside.take_new()}
    assert problem in reasons["Topology"]
    assert "cannot be used" in reasons["Pod"]


def test_durations_are_annotations_of_pod_groups_owners_and_pods_r6_40(transport: Transport) -> None:
    written = {f"{KAI}/staleness-grace-period": "90s", f"{KAI}/preemption-delay": "30s"}
    world = OwnedPods(transport)
    world.owner("batch/v1", "Job/j", spec={}, annotations=written)
    world.pod("a", "Job/j", annotations=dict.fromkeys(written, "1h"))
    world.pod("alone", annotations=written)
    world.world.put("kai_pod_groups", pod_group("g", annotations=written))
    world.world.put("volcano_pod_groups", pod_group("v", annotations=written))
    found = [(row.staleness_grace_period.seconds, row.preemption_delay.seconds) for row in rows(world)]
    assert found == [(90, 30)] * 4


def rows(world: OwnedPods) -> list[pb.PodGroup]:
    return list(world.builder().snapshot(NOW).pod_groups)


def test_field_of_a_pod_group_precedes_its_annotation_r6_40() -> None:
    world = CachedCluster()
    written = {f"{KAI}/staleness-grace-period": "90s"}
    world.put("kai_pod_groups", pod_group("g", annotations=written, stalenessGracePeriod="-1s"))
    [row] = world.snapshot().pod_groups
    assert row.staleness_grace_period.seconds == -1


@pytest.mark.parametrize("key", ["staleness-grace-period", "preemption-delay"])
def test_unreadable_duration_is_unset_with_a_warning(key: str) -> None:
    world = CachedCluster()
    world.put("pods", pod("a", meta={"annotations": {f"{KAI}/{key}": "soon"}}))
    builder = world.builder()
    [row] = builder.snapshot(NOW).pod_groups
    assert (row.HasField("staleness_grace_period"), row.HasField("preemption_delay")) == (False, False)
    assert any(f"annotation {KAI}/{key}: 'soon' is not a duration" in one for one in builder.warnings.active)


QUEUES: Final[dict[str, tuple[dict[str, str], dict[str, str], str, str]]] = {
    "project of the pod": ({}, {"project": "vision"}, "", "vision"),
    "project of the owner first": ({"project": "speech"}, {"project": "vision"}, "", "speech"),
    "queue of the pod before a project": (
        {"project": "speech"},
        {f"{KAI}/queue": "own"},
        "",
        "own",
    ),
    "project in a node pool": ({"project": "vision"}, {}, "a100", "vision-a100"),
    "blank project": ({"project": ""}, {}, "", "default-queue"),
}


@pytest.mark.parametrize("case", QUEUES)
def test_project_names_the_queue_where_nothing_else_does(transport: Transport, case: str) -> None:
    of_owner, of_pod, pool, expected = QUEUES[case]
    world = OwnedPods(transport)
    world.owner("batch/v1", "Job/j", spec={}, labels=of_owner)
    labels = {**of_pod, **({f"{KAI}/node-pool": pool} if pool else {})}
    world.pod("a", "Job/j", labels=labels)
    scope = CONFIG.__class__(cluster_id="test", node_pool=pool)
    builder = world.builder(config=scope)
    [row] = builder.snapshot(NOW).pod_groups
    assert row.queue == expected


SKIP: Final = {f"{KAI}/skip-podgrouper": "true"}
SKIPS: Final = {
    "pod": ({}, SKIP, True),
    "owner": (SKIP, {}, True),
    "another text": ({f"{KAI}/skip-podgrouper": "True"}, {}, False),
}


@pytest.mark.parametrize("case", SKIPS)
def test_pod_that_skips_grouping_waits_until_it_names_a_pod_group(transport: Transport, case: str) -> None:
    of_owner, of_pod, waits = SKIPS[case]
    world = OwnedPods(transport)
    world.owner("batch/v1", "Job/j", spec={}, annotations=of_owner)
    world.pod("a", "Job/j", annotations=of_pod)
    builder = world.builder()
    found = builder.snapshot(NOW)
    assert len(found.pod_groups) == (0 if waits else 1)
    told = [(one.target.name, one.reason.code) for one in builder.set_aside.take_new()]
    assert told == ([("a", "SetAside")] if waits else [])
    world.world.put("kai_pod_groups", pod_group("g"))
    world.pod("a", "Job/j", annotations={**of_pod, **member("g")["annotations"]})
    builder.delta(NOW)
    assert builder.pod("uid-a").pod_group == "uid-g"  # type: ignore[union-attr]
    assert not builder.set_aside.objects


def test_running_pod_cannot_leave_its_queue_by_skipping_grouping() -> None:
    world = CachedCluster()
    racks(world, ("n1", "a"))
    world.put("pods", running("a"))
    builder = world.builder()
    builder.snapshot(NOW)
    world.put("pods", running("a", meta={"annotations": SKIP}))
    builder.delta(NOW)
    assert builder.pod("uid-a").pod_group == "uid-a"  # type: ignore[union-attr]


APPS: Final = {
    "StatefulSet": ("StatefulSet/w",),
    "ReplicaSet": ("ReplicaSet/w",),
    "Deployment": ("Deployment/w", "ReplicaSet/w"),
}


@pytest.mark.parametrize("kind", APPS)
def test_pods_of_an_owner_with_a_topology_are_in_one_domain_r9_21(
    transport: Transport, client: Client, kind: str
) -> None:
    world = OwnedPods(transport)
    racks(world.world, *TWO_RACKS)
    above, *below = APPS[kind]
    world.owner("apps/v1", above, annotations=placed(RACK))
    for one in below:
        world.owner("apps/v1", one, above)
    for name in ("w-0", "w-1"):
        world.pod(name, (above, *below)[-1], requests=GPUS)
    assert racks_used(world.world, world.builder(), client) == ["a"]
    world.world.put("nodes", node("a2", labels={ZONE: "z", RACK: "a"}))
    world.pod("w-0", (above, *below)[-1], "Running", requests=GPUS, on="a1")
    assert racks_used(world.world, world.builder(), client) == ["a"]


PARTS: Final = {
    "another level than the whole": (placed(ZONE), placed(RACK), "topology-required-placement of a part"),
    "a level of its own": ({}, placed(RACK), "topology-required-placement of a part"),
    "the level of the whole": (placed(RACK), placed(RACK), ""),
    "none": (placed(RACK), {}, ""),
}


@pytest.mark.parametrize("case", PARTS)
def test_pods_wait_of_which_only_some_are_to_be_in_one_domain_r9_21(transport: Transport, case: str) -> None:
    of_whole, of_part, problem = PARTS[case]
    world = OwnedPods(transport)
    racks(world.world)
    jobs = [{"name": "w", "replicas": 2, "template": {"spec": {}}}]
    spec = {"replicatedJobs": jobs}
    world.owner("jobset.x-k8s.io/v1alpha2", "JobSet/s", spec=spec, annotations=of_whole)
    for name in ("s-w-0", "s-w-1"):
        world.owner("batch/v1", f"Job/{name}", "JobSet/s", spec={}, annotations=of_part)
        labels = {"jobset.sigs.k8s.io/replicatedjob-name": "w"}
        world.pod(f"{name}-0", f"Job/{name}", labels=labels)
    blocked = {row.blocked_reason for row in world.builder().snapshot(NOW).pods}
    assert len(blocked) == 1
    assert problem in next(iter(blocked))
    assert bool(problem) == any(blocked)
