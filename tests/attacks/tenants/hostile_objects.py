"""Random hostile objects, as an API server accepts them from users of a namespace, and from kubelets.

The API server validates names, labels and the forms of quantities, and bounds annotations (256 KiB) and
objects (1.5 MB). Everything else is free: annotations, owner references, fields of pod groups, amounts.
"""

from collections.abc import Callable
from random import Random
from typing import Any, Final

from tenure.kubernetes.objects import names
from tenure.terms.annotations import key_of

Item = tuple[str, dict[str, Any]]
"""A collection of the object caches, and an object."""
NAMESPACES: Final = ("evil-0", "evil-1", "evil-2")
MAX_ANNOTATIONS: Final = 256 * 1024
MAX_OBJECT: Final = 1_500_000
_LABEL: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_ODD: Final = (
    *_LABEL,
    *"\x00\x01\x1b\n\r\t\"'\\/{}[]:;,. -_$%",
    "é",
    "ß",
    "İ",
    "\u202e",
    "\ufeff",
    "\U0001d54f",
    "漢",
)
_LENGTHS: Final = (0, 1, 63, 64, 252, 253, 254, 255, 300, 4_095, 4_096, 4_097, 20_000)
_ANNOTATIONS: Final = (
    names.KAI_POD_GROUP,
    *names.VOLCANO_POD_GROUPS,
    names.VOLCANO_TASK,
    names.VOLCANO_QUEUE,
    names.VOLCANO_PREEMPTABLE,
    names.PREEMPTION_DELAY,
    names.LAST_START,
    names.LAST_EVICTION,
    key_of("stale-podgroup-timestamp"),
    names.EVICTION_COUNT,
    names.TOTAL_EVICTION_WAIT,
    names.EVICTIONS_WITHOUT_PROGRESS,
    names.HELD_BY,
    names.ON_EVICT,
    names.HOLD,
    names.RELEASED,
    names.NOT_BEFORE,
    key_of("time-limit"),
    key_of("on-time-limit"),
    names.DEPENDS_ON,
    names.EVICTIONS,
    names.GPU_FRACTION,
    names.GPU_MEMORY,
    names.GPU_DEVICES,
    names.REQUEUE_NOT_BEFORE,
    names.SIGNATURE,
    names.PREEMPTIBILITY,
    *names.DURATIONS,
    "leaderworkerset.sigs.k8s.io/size",
)
_VALUES: Final = (
    *("", "0", "1", "-1", "2", "10000", "99999999999999999999", "1e400", "0.5", "nan", "-0", "٣", "0x10"),
    *("1h", "-1h", "1e9h", "100000w", "true", "preemptible", "semi-preemptible", "Non-Preemptible"),
    *("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2261-01-01T00:00:00Z", "2027-01-01T00:00:00+25:00"),
)
_QUANTITIES: Final = (
    *("0", "1", "1m", "1n", "100m", "300m", "1.5", "64", "8Pi", "9E", "1e18", "1e30", "16E", "-1", "1Ei"),
    *("9223372036854775807", "35184372088831", "35184372088832", "0.0000000001", "999999999999999999999"),
)
_INTEGERS: Final = (-(2**31), -1, 0, 1, 2, 3, 1_000, 2**30, 2**31 - 1)
_TIMES: Final = (
    "2027-01-01T00:00:00Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "1970-01-01T00:00:00Z",
)


def hostile_objects(seed: int, number: int) -> list[Item]:
    """The objects with this number of a run. The result is always the same."""
    random = Random(f"{seed}/{number}")
    kinds: tuple[Callable[[Random, int], Item], ...] = (
        _pod,
        _pod,
        _pod,
        _pod,
        _kai_group,
        _volcano_group,
        _node,
    )
    return [random.choice(kinds)(random, number)]


def text(random: Random) -> str:
    """Any text, such as the value of an annotation."""
    how = random.random()
    if how < 0.4:
        return random.choice(_VALUES)
    if how < 0.5:
        return f"g{random.randrange(50)}"
    length = random.choice(_LENGTHS)
    if how < 0.8:
        return random.choice(_ODD) * length
    start = random.randrange(len(_NOISE) - length)
    return _NOISE[start : start + length]


def label_value(random: Random) -> str:
    """A valid label value."""
    return random.choice(_LABEL_VALUES)


def qualified_name(random: Random) -> str:
    """A valid key of a label, or name of a resource."""
    return random.choice(_QUALIFIED_NAMES)


def _label_value(random: Random) -> str:
    """At most 63 letters, digits, and "-", "_" or "." between them."""
    how = random.random()
    if how < 0.3:
        return random.choice(("", "1", "q", "honest", "a-b", "9" * 63, "99999999999", "true"))
    inner = "".join(random.choices([*_LABEL, "-", "_", "."], k=random.randrange(62)))
    return f"{random.choice(_LABEL)}{inner}{random.choice(_LABEL)}"[:63].rstrip("-_.")


def _qualified_name(random: Random) -> str:
    """Up to 253 characters, a slash, and up to 63 characters."""
    name = "".join(random.choices(_LABEL, k=random.choice((1, 5, 63))))
    if random.random() < 0.3:
        return name
    labels = ["".join(random.choices("abcdefghij0123456789", k=random.choice((1, 5, 60)))) for _ in range(4)]
    return f"{'.'.join(labels)}/{name}"


_MADE: Final = Random("texts")
_NOISE: Final = "".join(_MADE.choices(_ODD, k=100_000))
_LABEL_VALUES: Final = [_label_value(_MADE) for _ in range(5_000)]
_QUALIFIED_NAMES: Final = [_qualified_name(_MADE) for _ in range(5_000)]
"""All texts of these kinds: choosing one is faster than making one."""


def _meta(random: Random, name: str) -> dict[str, Any]:
    annotations, left = {}, MAX_ANNOTATIONS
    for key in random.sample(_ANNOTATIONS, k=random.randrange(6)):
        value = text(random)
        left -= len(key) + len(value.encode())
        if left < 0:
            break
        annotations[key] = value
    keys = [names.QUEUE, *names.PRIORITY_CLASSES, names.TASK_PRIORITY, names.SUB_GROUP, names.GPU_GROUP]
    keys += [f"{names.GPU_GROUP}/{i}" for i in range(3)] + [names.PREEMPTIBILITY, *names.LEADER_LABELS]
    keys += ["leaderworkerset.sigs.k8s.io/group-key"]
    labels = {key: label_value(random) for key in random.sample(keys, k=random.randrange(5))}
    for _ in range(random.choice((0, 0, 0, 3, 40))):
        labels[qualified_name(random)] = label_value(random)
    if names.GPU_GROUP in labels and random.random() < 0.3:
        labels[names.GPU_GROUP] = f"unknown-uid-{name}-0"
    meta = {
        "name": name,
        "namespace": random.choice(NAMESPACES),
        "annotations": annotations,
        "labels": labels,
    }
    meta["creationTimestamp"] = random.choice(_TIMES)
    return meta


def _owner(random: Random) -> list[dict[str, Any]]:
    if random.random() < 0.5:
        return []
    kind = random.choice(("Job", "ReplicaSet", "StatefulSet", "RayCluster", text(random) or "X"))
    owner = {"apiVersion": random.choice(("batch/v1", "apps/v1", text(random) or "v1")), "kind": kind}
    return [{**owner, "name": text(random) or "x", "uid": f"o{random.randrange(20)}", "controller": True}]


def _quantities(random: Random) -> dict[str, str]:
    own = ("cpu", "memory", "nvidia.com/gpu", "pods", "ephemeral-storage", "example.com/r0", "hugepages-2Mi")
    found = {name: random.choice(_QUANTITIES) for name in random.sample(own, k=random.randrange(4))}
    for _ in range(random.choice((0, 0, 1, 5, 300))):
        found[qualified_name(random)] = random.choice(_QUANTITIES)
    return found


def _requirement(random: Random) -> dict[str, Any]:
    operator = random.choice(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
    count = {"Exists": 0, "DoesNotExist": 0, "Gt": 1, "Lt": 1}.get(operator, random.choice((1, 2, 100)))
    number = random.choice(("1", "-5", "9" * 18, "9" * 19, "9" * 40, "x", "٣"))
    values = [number if operator in ("Gt", "Lt") else label_value(random) for _ in range(count)]
    return {"key": qualified_name(random), "operator": operator, "values": values}


def _pod_term(random: Random) -> dict[str, Any]:
    labels = {qualified_name(random): label_value(random) for _ in range(random.choice((0, 1, 2, 50)))}
    term: dict[str, Any] = {"labelSelector": {"matchLabels": labels}, "topologyKey": qualified_name(random)}
    if random.random() < 0.1:
        term["namespaces"] = ["honest"]
    return term


def _affinity(random: Random) -> dict[str, Any]:
    rule = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity: dict[str, Any] = {}
    if random.random() < 0.3:
        expressions = [_requirement(random) for _ in range(random.choice((1, 2, 30)))]
        terms = [{"matchExpressions": expressions}] * random.choice((1, 1, 3, 20))
        if random.random() < 0.02:
            values = [f"{i:063}" for i in range(20_000)]
            terms = [{"matchExpressions": [{"key": "k", "operator": "In", "values": values}]}]
        affinity["nodeAffinity"] = {rule: {"nodeSelectorTerms": terms}}
    for kind in ("podAffinity", "podAntiAffinity"):
        if random.random() < 0.1:
            affinity[kind] = {rule: [_pod_term(random) for _ in range(random.choice((1, 3)))]}
    return affinity


def _pod(random: Random, number: int) -> Item:
    name = f"h{number}"
    meta = _meta(random, name)
    meta["ownerReferences"] = _owner(random)
    container = {
        "name": "main",
        "resources": {"requests": _quantities(random), "limits": _quantities(random)},
    }
    effects = ("", "NoSchedule", "NoExecute", "PreferNoSchedule")
    tolerations = [
        {"key": qualified_name(random), "operator": "Equal", "value": label_value(random), "effect": effect}
        for effect in effects[: random.randrange(5)]
    ]
    spec = {
        "schedulerName": random.choice(("kai-scheduler",) * 9 + (text(random),)),
        "containers": [container] * random.choice((1, 1, 2, 30)),
        "tolerations": [*tolerations, *([{"operator": "Exists"}] if random.random() < 0.3 else [])],
        "affinity": _affinity(random),
        "nodeSelector": {qualified_name(random): label_value(random)} if random.random() < 0.1 else {},
        "overhead": _quantities(random) if random.random() < 0.1 else {},
        "resources": {"requests": _quantities(random)} if random.random() < 0.1 else {},
        "schedulingGates": [{"name": "g"}] if random.random() < 0.1 else [],
        "resourceClaims": [{"name": "c"}] if random.random() < 0.05 else [],
    }
    status: dict[str, Any] = {"phase": "Pending"}
    if random.random() < 0.3:
        spec["nodeName"] = random.choice(("theirs", "n" * 253, "gone"))
        status = {"phase": random.choice(("Pending", "Running", "Succeeded", "Failed", "Unknown"))}
        status["startTime"] = random.choice(_TIMES)
    if random.random() < 0.1:
        meta["deletionTimestamp"] = random.choice(_TIMES)
    return "pods", {"metadata": meta, "spec": spec, "status": status}


def _kai_group(random: Random, number: int) -> Item:
    count = random.choice((0, 0, 1, 2, 5, 1_000, 1_001, 3_000))
    groups = [
        {"name": f"s{i}" if random.random() < 0.9 else text(random), "minMember": random.choice(_INTEGERS)}
        for i in range(count)
    ]
    for group in groups[1:]:
        if random.random() < 0.3:
            group["parent"] = random.choice(groups[:50])["name"]
    constraint = {"topology": text(random), "requiredTopologyLevel": text(random)}
    spec = {
        "queue": random.choice(("q", text(random))),
        "priorityClassName": text(random),
        "preemptibility": text(random),
        "minMember": random.choice(_INTEGERS),
        "minSubGroup": random.choice(_INTEGERS),
        "subGroups": groups,
        "preemptionDelay": text(random),
        "stalenessGracePeriod": text(random),
        "topologyConstraint": constraint if random.random() < 0.1 else {},
    }
    return "kai_pod_groups", {"metadata": _meta(random, f"g{number % 50}"), "spec": spec}


def _volcano_group(random: Random, number: int) -> Item:
    tasks = {text(random): random.choice(_INTEGERS) for _ in range(random.choice((0, 0, 1, 3, 1_500)))}
    spec = {
        "queue": random.choice(("q", text(random))),
        "priorityClassName": text(random),
        "minMember": random.choice(_INTEGERS),
        "minTaskMember": tasks,
    }
    return "volcano_pod_groups", {"metadata": _meta(random, f"g{number % 50}"), "spec": spec}


def _node(random: Random, number: int) -> Item:
    """A node of a hostile kubelet: it may write labels and the status of its own node."""
    count = random.choice((0, 3, 200, 4_000))
    labels = {key: label_value(random) for key in random.sample(_QUALIFIED_NAMES, k=count)}
    labels[names.GPU_MEMORY_LABEL] = label_value(random)
    condition = {"type": random.choice(("Ready", "DiskPressure", "x" * 316)), "status": "True"}
    status = {"allocatable": _quantities(random), "conditions": [condition]}
    taints = [{"key": "theirs", "effect": "NoSchedule"}]
    return "nodes", {
        "metadata": {"name": f"k{number}", "labels": labels},
        "spec": {"taints": taints},
        "status": status,
    }
