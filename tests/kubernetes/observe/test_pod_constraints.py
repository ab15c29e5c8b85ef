"""Constraints on other pods, requests during a resize, and pods of other schedulers in a snapshot."""

from typing import Any

import pytest
from tenure.v1 import snapshot_pb2 as pb

from tests.kubernetes.observe.cached_cluster import IMPOSSIBLE_NAME, CachedCluster, node, pod, running

WEB = {"matchLabels": {"app": "web"}}
OTHER = {"schedulerName": "default-scheduler"}


def snapshot(*pods: dict[str, Any]) -> pb.ClusterSnapshot:
    cluster = CachedCluster()
    cluster.put("nodes", node("n1"))
    for one in pods:
        cluster.put("pods", one)
    return cluster.snapshot()


def shape_of(spec: dict[str, Any], **more: Any) -> pb.PodShape:
    """The shape of a pending pod."""
    (shape,) = snapshot(pod(spec=spec, **more)).shapes
    return shape


def anti(**term: Any) -> dict[str, Any]:
    rule = {"topologyKey": "zone", "labelSelector": WEB, **term}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}}


def spread(**more: Any) -> dict[str, Any]:
    rule = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **more}
    return {"topologySpreadConstraints": [{"labelSelector": WEB, **rule}]}


def ports(*numbers: int, **more: Any) -> list[dict[str, Any]]:
    return [{"containerPort": number, "hostPort": number, "protocol": "TCP", **more} for number in numbers]


def test_host_ports_are_those_of_containers_and_sidecars() -> None:
    spec = {
        "containers": [{"name": "main", "ports": [*ports(80, hostIP="10.0.0.1"), {"containerPort": 9}]}],
        "initContainers": [
            {"name": "side", "restartPolicy": "Always", "ports": ports(443)},
            {"name": "early", "ports": ports(22)},
        ],
    }
    found = [(port.port, port.protocol, port.ip) for port in shape_of(spec).host_ports]
    assert found == [(80, "TCP", "10.0.0.1"), (443, "TCP", "")]


@pytest.mark.parametrize(
    ("term", "namespaces", "all_namespaces"),
    [
        pytest.param({}, [], False, id="own"),
        pytest.param({"namespaces": ["team"]}, [], False, id="own by name"),
        pytest.param({"namespaces": ["b", "a"]}, ["a", "b"], False, id="named"),
        pytest.param({"namespaceSelector": {}}, [], True, id="all"),
        pytest.param(
            {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "b"}}, "namespaces": ["a"]},
            ["a", "b"],
            False,
            id="selected by name",
        ),
        pytest.param(
            {"namespaceSelector": {"matchLabels": {"team": "red"}}}, [], True, id="by labels: at least all"
        ),
    ],
)
def test_namespaces_of_an_anti_affinity_term(
    term: dict[str, Any], namespaces: list[str], all_namespaces: bool
) -> None:
    (row,) = shape_of(anti(**term)).pod_anti_affinity
    assert (list(row.namespaces), row.all_namespaces) == (namespaces, all_namespaces)


def test_term_without_a_selector_selects_no_pods() -> None:
    assert not shape_of(anti(labelSelector=None)).pod_anti_affinity


def test_anti_affinity_to_no_namespace_keeps_no_pod_away() -> None:
    assert not shape_of(anti(namespaceSelector=IMPOSSIBLE_NAME)).pod_anti_affinity
    (row,) = shape_of(anti(namespaceSelector=IMPOSSIBLE_NAME, namespaces=["b"])).pod_anti_affinity
    assert (list(row.namespaces), row.all_namespaces) == (["b"], False)


def test_expressions_of_a_selector_are_requirements() -> None:
    expressions = [
        {"key": "app", "operator": "In", "values": ["a", "b"]},
        {"key": "old", "operator": "DoesNotExist"},
    ]
    (row,) = shape_of(anti(labelSelector={"matchExpressions": expressions})).pod_anti_affinity
    assert [(one.key, one.operator, list(one.values)) for one in row.match_expressions] == [
        ("app", pb.SELECTOR_OPERATOR_IN, ["a", "b"]),
        ("old", pb.SELECTOR_OPERATOR_DOES_NOT_EXIST, []),
    ]


def test_soft_topology_spread_restricts_no_node() -> None:
    assert not shape_of(spread(whenUnsatisfiable="ScheduleAnyway")).topology_spread


def test_topology_spread_has_its_policies_and_the_labels_that_it_names() -> None:
    labels = {"labels": {"app": "web", "version": "7"}}
    rule = {"minDomains": 3, "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"}
    spec = spread(**rule, matchLabelKeys=["version", "missing"])
    (row,) = shape_of(spec, meta=labels).topology_spread
    assert (row.max_skew, row.min_domains) == (1, 3)
    assert (row.counts_unselected_nodes, row.omits_tainted_nodes) == (True, True)
    assert [(one.key, list(one.values)) for one in row.match_expressions] == [("version", ["7"])]


@pytest.mark.parametrize(
    ("condition", "cpu_milli"),
    [
        pytest.param(None, 3000, id="the most of all three"),
        pytest.param("Deferred", 3000, id="deferred"),
        pytest.param("Infeasible", 2000, id="refused for good: what it has"),
    ],
)
def test_container_counts_with_the_most_of_a_resize(condition: str | None, cpu_milli: int) -> None:
    """It asks for 3 cores, its node has allocated 1, and it has 2."""
    amounts = {"resources": {"requests": {"cpu": "2"}}, "allocatedResources": {"cpu": "1"}}
    status: dict[str, Any] = {"containerStatuses": [{"name": "main", **amounts}]}
    if condition:
        status["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": condition}]
    (shape,) = snapshot(running("p1", requests={"cpu": "3"}, status=status)).shapes
    assert shape.requests.cpu_milli == cpu_milli


def test_requests_of_the_whole_pod_replace_cpu_and_memory_only() -> None:
    spec = {"resources": {"requests": {"cpu": "1", "nvidia.com/gpu": "4"}}}
    shape = shape_of(spec, requests={"cpu": "4", "memory": "1Gi"})
    assert (shape.requests.cpu_milli, shape.requests.memory_bytes) == (1000, 2**30)
    assert not shape.HasField("gpu")


WEB_POD = {"meta": {"labels": {"app": "web", "pod-template-hash": "x"}}}


@pytest.mark.parametrize(
    ("asking", "other", "expected"),
    [
        pytest.param({}, WEB_POD, [], id="nothing asks"),
        pytest.param(anti(), WEB_POD, [{"app": "web"}], id="selected"),
        pytest.param(spread(), WEB_POD, [{"app": "web"}], id="counted"),
        pytest.param(anti(), {"meta": {"labels": {"app": "db"}}}, [], id="not selected"),
        pytest.param({}, {"spec": anti()}, [{}], id="keeps pods away"),
        pytest.param(
            {}, {"spec": {"containers": [{"name": "c", "ports": ports(80)}]}}, [], id="no port asked"
        ),
    ],
)
def test_node_has_the_pods_of_other_schedulers_that_concern_a_pod(
    asking: dict[str, Any], other: dict[str, Any], expected: list[dict[str, str]]
) -> None:
    other = {**other, "spec": {**other.get("spec", {}), **OTHER}}
    pods = [running("o1", **other), running("o2", **other)]
    (row,) = snapshot(pod("asks", spec=asking), *pods).nodes
    assert [(dict(one.labels), one.count) for one in row.other_pods] == [(labels, 2) for labels in expected]


def test_node_has_the_ports_of_other_pods_when_a_pod_asks_for_any() -> None:
    other = running("o1", spec={"containers": [{"name": "c", "ports": ports(80)}], **OTHER})
    asks = pod("asks", spec={"containers": [{"name": "c", "ports": ports(9)}]})
    ((found,),) = [one.other_pods for one in snapshot(asks, other).nodes]
    assert [port.port for port in found.host_ports] == [80]


def test_pods_have_the_labels_that_terms_of_other_pods_refer_to() -> None:
    mine = pod("mine", **WEB_POD)
    (row,) = snapshot(mine, running("o1", spec={**anti(), **OTHER})).pods
    assert dict(row.labels) == {"app": "web"}


def test_node_changes_when_the_first_pod_asks_about_others() -> None:
    cluster = CachedCluster()
    cluster.put("nodes", node("n1"))
    cluster.put("pods", running("o1", **{**WEB_POD, "spec": OTHER}))
    builder = cluster.builder()
    now = pb.ClusterSnapshot(now={"seconds": 1_800_000_000}).now  # type: ignore[arg-type]
    assert not builder.snapshot(now).nodes[0].other_pods
    cluster.put("pods", pod("plain"))
    assert not builder.delta(now).upserts.nodes
    cluster.put("pods", pod("asks", spec=anti()))
    (row,) = builder.delta(now).upserts.nodes
    assert [dict(one.labels) for one in row.other_pods] == [{"app": "web"}]


@pytest.mark.parametrize(
    ("policy", "of_class", "expected"),
    [
        pytest.param("", "", False, id="unset"),
        pytest.param("PreemptLowerPriority", "PreemptLowerPriority", False, id="may preempt"),
        pytest.param("Never", "", True, id="of the pod"),
        pytest.param("", "Never", True, id="of the class that a label names"),
    ],
)
def test_pod_group_with_preemption_policy_never_evicts_nobody(
    policy: str, of_class: str, expected: bool
) -> None:
    cluster = CachedCluster()
    cluster.put("priority_classes", {"metadata": {"name": "calm"}, "value": 7, "preemptionPolicy": of_class})
    labels = {"labels": {"priorityClassName": "calm"}}
    cluster.put("pods", pod(spec={"preemptionPolicy": policy}, meta=labels))
    (group,) = cluster.snapshot().pod_groups
    assert (group.priority, group.never_evicts) == (7, expected)
