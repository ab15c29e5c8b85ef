"""Shapes: interned requests and constraints. Pods with equal ones have the same shape."""

from collections import Counter
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec
from tenure.kubernetes.constraints.affinity import Unrepresentable, node_affinity, tolerations
from tenure.kubernetes.constraints.pod_terms import (
    affinity_terms,
    anti_affinity_terms,
    host_ports,
    topology_spread,
)
from tenure.kubernetes.constraints.preferences import add_preferences
from tenure.kubernetes.constraints.requests import pod_requests, resize_key
from tenure.kubernetes.objects.pod import Container, Pod, PodSpec, Port
from tenure.kubernetes.objects.resource_amounts import (
    CPU,
    GPU,
    MAX_REQUEST,
    MEMORY,
    MILLI,
    PODS,
    Amounts,
    clamp,
    to_resources,
)
from tenure.kubernetes.rows.gpus import ANNOTATIONS, gpu_request, shared_devices
from tenure.v1 import snapshot_pb2 as pb

_GUARANTEED: Final = frozenset(("cpu", "memory"))


def is_guaranteed(spec: PodSpec) -> bool:
    """Whether the pod has QoS class Guaranteed: requests equal limits in every container."""
    return all(map(_is_bounded, (*spec.containers, *spec.init_containers)))


def _is_bounded(container: Container) -> bool:
    requests, limits = container.resources.requests, container.resources.limits
    return all(limits.get(name) and requests.get(name, limits[name]) == limits[name] for name in _GUARANTEED)


ID_LENGTH: Final = 16
"""Hex digits of an id: 64 bits; a million shapes collide with a probability of 3 in 10^8."""
_ENCODE: Final = msgspec.msgpack.Encoder(order="deterministic").encode


class InternedShape(NamedTuple):
    """A shape with derived data."""

    row: pb.PodShape
    usage: Amounts
    """Usage on a node, pod slot included."""
    shared_devices: int
    """Number of shared GPUs; 0: none."""
    blocked_reason: str
    """Why no pod of the shape can be placed; "": it can."""
    warnings: tuple[str, ...]


def shape_of(pod: Pod) -> InternedShape:
    """The shape of a pod. Its id depends on the pod only."""
    warnings: list[str] = []
    spec, namespace = pod.spec, pod.metadata.namespace
    requests = pod_requests(pod, warnings)
    blocked_reason = f"its requests are invalid: {warnings[0]}" if warnings else _too_much(requests)
    requests = clamp(requests, MAX_REQUEST)
    gpu = gpu_request(requests, pod.metadata.annotations, warnings)
    row = pb.PodShape(
        requests=to_resources({name: n for name, n in requests.items() if name != GPU}, with_pods=False),
        gpu=gpu,
        node_selector=spec.node_selector,
        tolerations=tolerations(spec.tolerations),
        guaranteed=is_guaranteed(spec),
        host_ports=host_ports(spec),
    )
    try:
        row.pod_anti_affinity.extend(anti_affinity_terms(spec.affinity.pod_anti_affinity.required, namespace))
        row.node_affinity.extend(node_affinity(spec))
        row.pod_affinity.extend(affinity_terms(spec.affinity.pod_affinity.required, namespace))
        row.topology_spread.extend(topology_spread(spec, pod.metadata.labels, "DoNotSchedule"))
    except Unrepresentable as problem:
        blocked_reason = str(problem)
    add_preferences(row, spec, namespace, pod.metadata.labels, warnings)
    row.id = shape_id(row)
    demand = dict(requests) | {PODS: 1}
    if sharing := shared_devices(gpu):
        demand[GPU] = sharing * MILLI
    elif gpu is not None:
        demand[GPU] = gpu.devices * MILLI
    return InternedShape(row, demand, sharing, blocked_reason, tuple(warnings))


def drop_unoffered_resources(shaped: InternedShape, offered: frozenset[str]) -> InternedShape:
    """The shape without resources that no node offers; a pod that requests one cannot be placed."""
    missing = sorted(name for name in shaped.row.requests.extended if name not in offered)
    if not missing:
        return shaped
    row = pb.PodShape()
    row.CopyFrom(shaped.row)
    row.ClearField("id")
    for name in missing:
        del row.requests.extended[name]
    row.id = shape_id(row)
    more = ", ..." if len(missing) > 1 else ""
    return shaped._replace(
        row=row, blocked_reason=shaped.blocked_reason or f"no node offers {missing[0]}{more}"
    )


def without_constraints(shaped: InternedShape) -> InternedShape:
    """What a pod on a node uses there, whatever is written about where it may start."""
    row = pb.PodShape(requests=shaped.row.requests)
    if shaped.row.HasField("gpu"):
        row.gpu.CopyFrom(shaped.row.gpu)
    row.id = shape_id(row)
    return shaped._replace(row=row)


class ShapeInterner:
    """Shapes of pods, computed once per distinct request."""

    def __init__(self) -> None:
        self._by_request: dict[bytes, InternedShape] = {}
        self._uses: Counter[bytes] = Counter()

    def acquire(self, pod: Pod) -> tuple[bytes, InternedShape]:
        """The shape of a pod, and a key for `release`."""
        key = _request_key(pod)
        shaped = self._by_request.get(key)
        if shaped is None:
            shaped = self._by_request[key] = _readable_shape(pod)
        self._uses[key] += 1
        return key, shaped

    def release(self, key: bytes) -> None:
        """Count one pod less."""
        self._uses[key] -= 1
        if not self._uses[key]:
            del self._uses[key], self._by_request[key]


def _readable_shape(pod: Pod) -> InternedShape:
    """The shape of a pod. One that cannot be read is not placed, and may use all of its node."""
    try:
        return shape_of(pod)
    except Exception as error:  # an object with invalid values must not stop the others
        row = pb.PodShape()
        row.id = shape_id(row)
        usage = dict.fromkeys((CPU, MEMORY, GPU), MAX_REQUEST) | {PODS: 1}
        return InternedShape(row, usage, 0, f"its requests cannot be read: {error}", ())


def shape_id(row: pb.PodShape) -> str:
    """The id of a shape, which depends on everything but its id."""
    return sha256(row.SerializeToString(deterministic=True)).hexdigest()[:ID_LENGTH]


def largest_request(shape: pb.PodShape) -> int:
    """The largest amount that a pod of a shape requests of any resource."""
    requests = shape.requests
    own = (requests.cpu_milli, requests.memory_bytes, shape.gpu.devices * MILLI)
    return max(*own, *requests.extended.values())


def _too_much(requests: Amounts) -> str:
    """Why no pod of this size can be placed; "": it may be."""
    names = sorted(name for name, amount in requests.items() if amount >= MAX_REQUEST)
    return f"it requests more {names[0]} than any node has" if names else ""


def _request_key(pod: Pod) -> bytes:
    """All fields of a pod that its shape depends on."""
    spec, annotations, labels = pod.spec, pod.metadata.annotations, pod.metadata.labels
    spread = spec.topology_spread_constraints
    return _ENCODE(
        (
            [(one.resources, one.restart_policy, _host_ports(one)) for one in spec.init_containers],
            [(one.resources, _host_ports(one)) for one in spec.containers],
            (spec.resources, spec.overhead, spec.node_selector, spec.tolerations, spec.affinity),
            [annotations.get(name) for name in ANNOTATIONS],
            pod.metadata.namespace if _has_pod_terms(spec) else "",
            (spread, [labels.get(key) for one in spread for key in one.match_label_keys]),
            resize_key(pod),
        )
    )


def _host_ports(container: Container) -> list[Port]:
    return [port for port in container.ports if port.host_port]


def _has_pod_terms(spec: PodSpec) -> bool:
    near, away = spec.affinity.pod_affinity, spec.affinity.pod_anti_affinity
    return bool(near.required or near.preferred or away.required or away.preferred)
