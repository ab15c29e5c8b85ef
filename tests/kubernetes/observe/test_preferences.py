"""Preferences of pods in a snapshot; one that it cannot represent is left out and named."""

from typing import Any, Final, NamedTuple

import pytest
from google.protobuf.json_format import MessageToDict
from tenure.v1 import snapshot_pb2 as pb

from tests.kubernetes.observe.cached_cluster import NOW, CachedCluster, node, pod, running

WEB: Final = {"matchLabels": {"app": "web"}}
RULE: Final = "preferredDuringSchedulingIgnoredDuringExecution"
SSD: Final = {"key": "disk", "operator": "In", "values": ["ssd"]}


class Shaped(NamedTuple):
    """The shape of a pending pod, and what the adapter says about the pod."""

    row: pb.PodShape
    warnings: list[str]
    blocked_reason: str


def shaped(spec: dict[str, Any]) -> Shaped:
    cluster = CachedCluster()
    cluster.put("nodes", node("n1"))
    cluster.put("pods", pod(spec=spec))
    builder = cluster.builder()
    built = builder.snapshot(NOW)
    warnings = [one.text for one in builder.warnings.active if one.subject.startswith("Pod ")]
    return Shaped(built.shapes[0], warnings, built.pods[0].blocked_reason)


def pods(kind: str, *terms: dict[str, Any]) -> dict[str, Any]:
    """A spec with preferred terms of pod affinity or anti-affinity."""
    rows = [{"weight": 7, "podAffinityTerm": {"topologyKey": "zone", **term}} for term in terms]
    return {"affinity": {kind: {RULE: rows}}}


def nodes(*preferences: dict[str, Any]) -> dict[str, Any]:
    rows = [{"weight": 7, "preference": preference} for preference in preferences]
    return {"affinity": {"nodeAffinity": {RULE: rows}}}


def test_preferred_node_affinity() -> None:
    spec = nodes({"matchExpressions": [SSD], "matchFields": [{**SSD, "key": "metadata.name"}]}, {})
    (row,) = shaped(spec).row.preferred_node_affinity
    assert row.weight == 7
    assert [one.key for one in row.preference.requirements] == ["disk", "metadata.name"]


@pytest.mark.parametrize("kind", ["podAffinity", "podAntiAffinity"])
@pytest.mark.parametrize(
    ("term", "expected"),
    [
        pytest.param({"labelSelector": WEB}, {}, id="own namespace"),
        pytest.param({"labelSelector": WEB, "namespaces": ["b"]}, {"namespaces": ["b"]}, id="named"),
        pytest.param(
            {"labelSelector": WEB, "namespaceSelector": {}}, {"allNamespaces": True}, id="all namespaces"
        ),
    ],
)
def test_preferred_pod_affinity(kind: str, term: dict[str, Any], expected: dict[str, Any]) -> None:
    found = shaped(pods(kind, term)).row
    rows = found.preferred_pod_affinity if kind == "podAffinity" else found.preferred_pod_anti_affinity
    wanted = {"topologyKey": "zone", "matchLabels": {"app": "web"}, **expected}
    assert [MessageToDict(row) for row in rows] == [{"weight": 7, "term": wanted}]
    assert [*found.pod_affinity, *found.pod_anti_affinity] == []


def test_term_without_a_selector_prefers_nothing() -> None:
    found = shaped(pods("podAffinity", {}))
    assert (len(found.row.preferred_pod_affinity), found.warnings) == (0, [])


def test_spread_is_required_or_preferred() -> None:
    rules = [
        {"maxSkew": skew, "topologyKey": "zone", "whenUnsatisfiable": when, "labelSelector": WEB}
        for skew, when in ((1, "DoNotSchedule"), (2, "ScheduleAnyway"))
    ]
    found = shaped({"topologySpreadConstraints": rules}).row
    assert [row.max_skew for row in found.topology_spread] == [1]
    assert [row.max_skew for row in found.preferred_topology_spread] == [2]


MANY: Final = [{"labelSelector": WEB} for _ in range(65)]
LONG: Final = {"matchExpressions": [{"key": f"k{i}", "operator": "Exists"} for i in range(65)]}


@pytest.mark.parametrize(
    ("spec", "left", "warning"),
    [
        pytest.param(
            pods("podAffinity", {"labelSelector": WEB}, {"labelSelector": WEB, "namespaceSelector": WEB}),
            1,
            f"its affinity.podAffinity.{RULE}[1] is ignored: "
            "its pod affinity has a namespaceSelector other than by kubernetes.io/metadata.name",
            id="labels of namespaces",
        ),
        pytest.param(
            pods("podAntiAffinity", {"labelSelector": LONG}, {"labelSelector": WEB}),
            1,
            f"its affinity.podAntiAffinity.{RULE}[0] is ignored: "
            "a selector of pods has more than 64 expressions",
            id="a long selector",
        ),
        pytest.param(
            pods("podAffinity", *MANY),
            64,
            f"its affinity.podAffinity.{RULE} counts up to [63]; the other terms are ignored",
            id="many terms",
        ),
        pytest.param(
            nodes({"matchExpressions": [{**SSD, "operator": "Near"}]}, {"matchExpressions": [SSD]}),
            1,
            f"its affinity.nodeAffinity.{RULE}[0] is ignored: "
            "it has the unsupported expression 'disk' 'Near' ['ssd']",
            id="an unknown operator",
        ),
    ],
)
def test_what_cannot_be_represented_is_named_and_blocks_no_pod(
    spec: dict[str, Any], left: int, warning: str
) -> None:
    found = shaped(spec)
    preferred = (
        found.row.preferred_node_affinity,
        found.row.preferred_pod_affinity,
        found.row.preferred_pod_anti_affinity,
    )
    assert (sum(map(len, preferred)), found.warnings, found.blocked_reason) == (left, [warning], "")


def test_pods_of_other_schedulers_that_are_preferred_have_rows() -> None:
    cluster = CachedCluster()
    cluster.put("nodes", node("n1"))
    labels = {"app": "web", "tier": "front"}
    cluster.put(
        "pods", running("theirs", "n1", meta={"labels": labels}, spec={"schedulerName": "default-scheduler"})
    )
    cluster.put("pods", pod(spec=pods("podAffinity", {"labelSelector": WEB})))
    (row,) = cluster.snapshot().nodes
    assert [dict(one.labels) for one in row.other_pods] == [{"app": "web"}]
