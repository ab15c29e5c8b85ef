"""Random clusters of a few nodes with every feature of pods that restricts or prefers nodes.

Objects are as the API server stores them: with defaults, and with `matchLabelKeys` in the selector.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.kubernetes.feasible_nodes.kube_filters import Question
from tests.kubernetes.observe.cached_cluster import node, pod, running
from tests.properties.generators.draw import Draw

Object = dict[str, Any]

HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
NAME_LABEL: Final = "kubernetes.io/metadata.name"
"""Label of each namespace with its name."""
_NAMESPACES: Final = ("a", "b", "c")
_APPS: Final = ("web", "db", "batch")
_TIERS: Final = ("front", "back")
_PORTS: Final = (80, 443, 9100)
_ADDRESSES: Final = ("", "0.0.0.0", "10.0.0.1", "10.0.0.2")
_PROTOCOLS: Final = ("TCP", "TCP", "UDP")
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")
_SMALL: Final = {"cpu": "4", "memory": "8Gi", "pods": "8"}
_ROOMY: Final = {"cpu": "64", "memory": "128Gi", "pods": "110"}
_LEAVING: Final = {"deletionTimestamp": "2027-01-15T08:00:30Z", "deletionGracePeriodSeconds": 30}


def random_question(draw: Draw) -> Question:
    """A cluster and a pending pod with one to four features."""
    names = list(FEATURES)
    features = sorted({draw.choice(names) for _ in range(draw.integer(1, 4))})
    return _question(draw, features, [_node(draw, f"n{i}") for i in range(draw.integer(3, 7))])


def preferring_question(draw: Draw) -> Question:
    """A cluster and a pending pod with preferences, which fits on most of the nodes."""
    features = {draw.choice(PREFERENCES) for _ in range(draw.integer(1, 4))}
    if draw.chance(25):
        features.add(draw.choice(list(FEATURES)))
    nodes = [_node(draw, f"n{i}", _ROOMY) for i in range(draw.integer(5, 10))]
    for each in nodes:
        if draw.chance(80):
            for taint in each["spec"].get("taints", ()):
                taint["effect"] = "PreferNoSchedule"
    return _question(draw, sorted(features), nodes)


def evicting_question(draw: Draw) -> Question:
    """A cluster that is nearly full, and a pending pod with relations that needs most of a node."""
    features = sorted({draw.choice(RELATIONS) for _ in range(draw.integer(1, 3))})
    question = _question(draw, features, [_node(draw, f"n{i}") for i in range(draw.integer(2, 4))])
    for each in question.nodes:
        each["spec"].pop("taints", None)
    for each in question.pods:
        each["spec"]["containers"][0]["resources"]["requests"]["cpu"] = draw.choice(("1", "2"))
        each["spec"]["schedulerName"] = draw.choice(("kai-scheduler",) * 5 + ("default-scheduler",))
    cpu = draw.choice(("2", "3"))
    question.pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = cpu
    return question


def _question(draw: Draw, features: list[str], nodes: list[Object]) -> Question:
    pods = [_placed(draw, f"p{i}", nodes) for i in range(draw.integer(0, 16))]
    asking = pod("asking", **_described(draw, "a"))
    for name in features:
        FEATURES[name](draw, asking)
    namespaces = [
        {"metadata": {"name": name, "labels": {NAME_LABEL: name, "team": team}}}
        for name, team in zip(_NAMESPACES, ("red", "red", "blue"), strict=True)
    ]
    return Question(nodes, namespaces, pods, asking, features)


def _node(draw: Draw, name: str, allocatable: Mapping[str, str] = _SMALL) -> Object:
    """A node in a zone or in none."""
    labels = {HOSTNAME: name, "disk": draw.choice(("ssd", "hdd")), "rank": str(draw.integer(1, 9))}
    if draw.chance(85):
        labels[ZONE] = draw.choice(("z1", "z2", "z3"))
    made = node(name, labels=labels, allocatable=dict(allocatable))
    if draw.chance(35):
        taints = [_taint(draw) for _ in range(draw.integer(1, 3))]
        made["spec"]["taints"] = list({(each["key"], each["effect"]): each for each in taints}.values())
    return made


def _taint(draw: Draw) -> Object:
    effect = draw.choice(("NoSchedule", "PreferNoSchedule", "NoExecute"))
    return {"key": draw.choice(("gpu", "spot")), "value": draw.choice(("", "a", "5")), "effect": effect}


def _described(draw: Draw, namespace: str) -> Object:
    labels = {"app": draw.choice(_APPS), "kai.scheduler/queue": "q"}
    if draw.chance(60):
        labels["tier"] = draw.choice(_TIERS)
    requests = {"cpu": draw.choice(("100m", "500m", "1")), "memory": "256Mi"}
    return {"meta": {"namespace": namespace, "labels": labels}, "requests": requests}


def _placed(draw: Draw, name: str, nodes: list[Object]) -> Object:
    """A pod on a node, of this scheduler or another one, often with constraints of its own."""
    on = draw.choice(nodes)["metadata"]["name"]
    made = running(name, on, **_described(draw, draw.choice(("a", *_NAMESPACES))))
    made["spec"]["schedulerName"] = draw.choice(("kai-scheduler", "default-scheduler"))
    if draw.chance(15):
        made["metadata"].update(_LEAVING)
    if draw.chance(10):
        made["status"]["phase"] = draw.choice(("Succeeded", "Failed"))
    if draw.chance(25):
        _host_ports(draw, made)
    if draw.chance(25):
        _anti_affinity(draw, made)
    if draw.chance(15):
        _resize(draw, made)
    if draw.chance(15):
        _start(draw, made)
    if draw.chance(25):
        _preferred_pods(draw, made)
    if draw.chance(15):
        _affinity(draw, made)
    return made


def _host_ports(draw: Draw, item: Object) -> None:
    container = item["spec"]["containers"][0]
    container["ports"] = [_port(draw) for _ in range(draw.integer(1, 2))]
    if draw.chance(30):
        sidecar = {"name": "side", "restartPolicy": "Always", "ports": [_port(draw)]}
        item["spec"].setdefault("initContainers", []).append(sidecar)
    if draw.chance(20):
        item["spec"].setdefault("initContainers", []).append({"name": "early", "ports": [_port(draw)]})


def _port(draw: Draw) -> Object:
    number = draw.choice(_PORTS)
    port: Object = {"containerPort": number, "protocol": draw.choice(_PROTOCOLS)}
    if draw.chance(85):
        port["hostPort"] = number
    if address := draw.choice(_ADDRESSES):
        port["hostIP"] = address
    return port


def _selector(draw: Draw) -> Object | None:
    """A label selector of any kind: none selects nothing, an empty one everything."""
    kind = draw.integer(0, 9)
    if kind == 0:
        return None
    if kind == 1:
        return {}
    selector: Object = {}
    if kind < 7:
        selector["matchLabels"] = {"app": draw.choice(_APPS)}
    if kind > 4:
        operator = draw.choice(_OPERATORS)
        expression: Object = {"key": draw.choice(("tier", "app")), "operator": operator}
        if operator in ("In", "NotIn"):
            expression["values"] = [draw.choice((*_APPS, *_TIERS)) for _ in range(draw.integer(1, 3))]
        selector["matchExpressions"] = [expression]
    return selector


def _pod_term(draw: Draw) -> Object:
    term: Object = {"topologyKey": draw.choice((ZONE, HOSTNAME, "disk"))}
    if (selector := _selector(draw)) is not None:
        term["labelSelector"] = selector
    if draw.chance(30):
        term["namespaces"] = sorted({draw.choice(_NAMESPACES) for _ in range(2)})
    if draw.chance(25):
        term["namespaceSelector"] = draw.choice(
            ({}, {"matchLabels": {"team": draw.choice(("red", "blue"))}}, _by_name(draw))
        )
    return term


def _by_name(draw: Draw) -> Object:
    """A selector of namespaces by their names; of none if two names disagree."""
    names = {draw.choice(_NAMESPACES) for _ in range(2)}
    expression = {"key": NAME_LABEL, "operator": "In", "values": sorted(names)}
    return {"matchLabels": {NAME_LABEL: draw.choice(_NAMESPACES)}, "matchExpressions": [expression]}


def _affinity_of(item: Object, kind: str) -> Object:
    affinity: Object = item["spec"].setdefault("affinity", {}).setdefault(kind, {})
    return affinity


_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def _affinity(draw: Draw, item: Object) -> None:
    terms = [_pod_term(draw) for _ in range(draw.integer(1, 2))]
    _affinity_of(item, "podAffinity")[_REQUIRED] = terms


def _anti_affinity(draw: Draw, item: Object) -> None:
    terms = [_pod_term(draw) for _ in range(draw.integer(1, 2))]
    _affinity_of(item, "podAntiAffinity")[_REQUIRED] = terms


def _preferred_pods(draw: Draw, item: Object) -> None:
    for kind in ("podAffinity", "podAntiAffinity"):
        _affinity_of(item, kind)[_PREFERRED] = [
            {"weight": draw.integer(1, 100), "podAffinityTerm": _pod_term(draw)}
            for _ in range(draw.integer(0, 2))
        ]


def _node_requirement(draw: Draw) -> Object:
    operator = draw.choice((*_OPERATORS, "Gt", "Lt"))
    if operator in ("Gt", "Lt"):
        return {"key": "rank", "operator": operator, "values": [str(draw.integer(2, 7))]}
    expression: Object = {"key": draw.choice(("disk", ZONE)), "operator": operator}
    if operator in ("In", "NotIn"):
        expression["values"] = [draw.choice(("ssd", "z1", "z2")) for _ in range(draw.integer(1, 2))]
    return expression


def _node_affinity(draw: Draw, item: Object) -> None:
    terms: list[Object] = [
        {"matchExpressions": [_node_requirement(draw) for _ in range(draw.integer(1, 2))]}
        for _ in range(draw.integer(1, 2))
    ]
    if draw.chance(20):
        field = {"key": "metadata.name", "operator": draw.choice(("In", "NotIn")), "values": ["n1"]}
        terms[0]["matchFields"] = [field]
    _affinity_of(item, "nodeAffinity")[_REQUIRED] = {"nodeSelectorTerms": terms}
    if draw.chance(50):
        item["spec"]["nodeSelector"] = {"disk": draw.choice(("ssd", "hdd"))}


def _preferred_nodes(draw: Draw, item: Object) -> None:
    _affinity_of(item, "nodeAffinity")[_PREFERRED] = [
        {"weight": draw.integer(1, 100), "preference": {"matchExpressions": [_node_requirement(draw)]}}
        for _ in range(draw.integer(1, 3))
    ]


def _tolerations(draw: Draw, item: Object) -> None:
    rows: list[Object] = []
    for _ in range(draw.integer(1, 3)):
        row: Object = {"operator": draw.choice(("Exists", "Equal"))}
        if row["operator"] == "Equal" or draw.chance(80):
            row["key"] = draw.choice(("gpu", "spot"))
        if row["operator"] == "Equal":
            row["value"] = draw.choice(("", "a", "5"))
        if draw.chance(60):
            row["effect"] = draw.choice(("NoSchedule", "PreferNoSchedule", "NoExecute"))
        rows.append(row)
    item["spec"]["tolerations"] = rows


def _spread(draw: Draw, item: Object) -> None:
    item["spec"]["topologySpreadConstraints"] = [
        _spread_constraint(draw, item, hard=draw.chance(75)) for _ in range(draw.integer(1, 2))
    ]


def _preferred_spread(draw: Draw, item: Object) -> None:
    item["spec"].setdefault("topologySpreadConstraints", []).extend(
        _spread_constraint(draw, item, hard=False) for _ in range(draw.integer(1, 3))
    )


def _spread_constraint(draw: Draw, item: Object, *, hard: bool) -> Object:
    constraint: Object = {
        "maxSkew": draw.integer(1, 3),
        "topologyKey": draw.choice((ZONE, HOSTNAME, "disk")),
        "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
    }
    if (selector := _selector(draw)) is not None:
        constraint["labelSelector"] = selector
        if draw.chance(25) and "tier" in item["metadata"]["labels"]:
            constraint["matchLabelKeys"] = ["tier"]
            merged = {"key": "tier", "operator": "In", "values": [item["metadata"]["labels"]["tier"]]}
            selector.setdefault("matchExpressions", []).append(merged)
    if hard and draw.chance(30):
        constraint["minDomains"] = draw.integer(1, 4)
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if draw.chance(40):
            constraint[policy] = draw.choice(("Honor", "Ignore"))
    return constraint


def _start(draw: Draw, item: Object) -> None:
    """Init containers, sidecars, overhead, and requests of the whole pod."""
    init = item["spec"].setdefault("initContainers", [])
    for i in range(draw.integer(1, 3)):
        container: Object = {"name": f"i{i}", "resources": {"requests": {"cpu": draw.choice(("500m", "2"))}}}
        if draw.chance(50):
            container["restartPolicy"] = "Always"
        init.append(container)
    if draw.chance(50):
        item["spec"]["overhead"] = {"cpu": "250m", "memory": "64Mi"}
    if draw.chance(25):
        item["spec"]["resources"] = {"requests": {"cpu": draw.choice(("1500m", "3"))}}


def _resize(draw: Draw, item: Object) -> None:
    """An in-place resize that the node has not carried out, or refused."""
    status = {"name": "main", "resources": {"requests": {"cpu": draw.choice(("250m", "2"))}}}
    status["allocatedResources"] = {"cpu": draw.choice(("250m", "2")), "memory": "256Mi"}
    item["status"]["containerStatuses"] = [status]
    if draw.chance(60):
        reason = draw.choice(("Infeasible", "Deferred"))
        condition = {"type": "PodResizePending", "status": "True", "reason": reason}
        item["status"]["conditions"] = [condition]


def _gate(draw: Draw, item: Object) -> None:
    if draw.chance(40):
        item["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]


FEATURES: Final[dict[str, Callable[[Draw, Object], None]]] = {
    "host ports": _host_ports,
    "pod affinity": _affinity,
    "pod anti-affinity": _anti_affinity,
    "preferred pod affinity": _preferred_pods,
    "node affinity": _node_affinity,
    "preferred node affinity": _preferred_nodes,
    "tolerations": _tolerations,
    "topology spread": _spread,
    "preferred topology spread": _preferred_spread,
    "start": _start,
    "scheduling gates": _gate,
}
"""Features of the asking pod by name."""

PREFERENCES: Final = (
    "preferred node affinity",
    "preferred pod affinity",
    "preferred topology spread",
    "tolerations",
)
"""Features that restrict no pod to certain nodes."""

RELATIONS: Final = ("host ports", "pod affinity", "pod anti-affinity", "topology spread")
"""Features by which other pods restrict its nodes."""
