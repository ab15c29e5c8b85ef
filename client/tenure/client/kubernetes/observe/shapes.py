"""Task shapes: what a pod asks for, interned. Pods that ask for the same have the same shape."""

from collections import Counter
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec
from tenure.client.kubernetes.objects.pod import Pod, PodSpec
from tenure.client.kubernetes.observe.affinity import CannotSay, node_affinity, pod_terms, tolerations
from tenure.client.kubernetes.observe.amounts import (
    GPU,
    MILLI,
    MOST_ASKED,
    PODS,
    Amounts,
    bounded,
    to_resources,
)
from tenure.client.kubernetes.observe.gpus import ANNOTATIONS, gpu_request, shared_devices
from tenure.client.kubernetes.observe.requests import is_guaranteed, pod_requests
from tenure.v1 import snapshot_pb2 as pb

ID_LENGTH: Final = 16
"""Hex digits of an id: 64 bits, so that a million shapes collide with a chance of 3 in 10^8."""
_ENCODE: Final = msgspec.msgpack.Encoder(order="deterministic").encode


class Shaped(NamedTuple):
    """What there is to know about the request of a pod."""

    row: pb.TaskShape
    room: Amounts
    """What the pod takes of a node, its slot included."""
    sharing: int
    """GPUs it shares; 0: none."""
    blocked_by: str
    """Why no pod of the shape can be placed; empty when it can."""
    doubts: tuple[str, ...]


def shape_of(pod: Pod) -> Shaped:
    """The shape of a pod. Its id depends on what it says alone, so it is the same everywhere and always."""
    doubts: list[str] = []
    spec, namespace = pod.spec, pod.metadata.namespace
    requests = pod_requests(spec, doubts)
    blocked_by = f"its requests cannot be read: {doubts[0]}" if doubts else _too_much(requests)
    requests = bounded(requests, MOST_ASKED)
    gpu = gpu_request(requests, pod.metadata.annotations, doubts)
    row = pb.TaskShape(
        requests=to_resources({name: n for name, n in requests.items() if name != GPU}, with_pods=False),
        gpu=gpu,
        node_selector=spec.node_selector,
        tolerations=tolerations(spec.tolerations),
        guaranteed=is_guaranteed(spec),
    )
    try:
        row.node_affinity.extend(node_affinity(spec))
        row.pod_affinity.extend(pod_terms(spec.affinity.pod_affinity.required, namespace))
        row.pod_anti_affinity.extend(pod_terms(spec.affinity.pod_anti_affinity.required, namespace))
    except CannotSay as problem:
        blocked_by = str(problem)
    row.id = _id(row)
    room = dict(requests) | {PODS: 1}
    if sharing := shared_devices(gpu):
        room[GPU] = sharing * MILLI
    elif gpu is not None:
        room[GPU] = gpu.devices * MILLI
    return Shaped(row, room, sharing, blocked_by, tuple(doubts))


def told(shaped: Shaped, offered: frozenset[str]) -> Shaped:
    """The shape without the resources that no node offers; no pod that asks for one can be placed."""
    missing = sorted(name for name in shaped.row.requests.extended if name not in offered)
    if not missing:
        return shaped
    row = pb.TaskShape()
    row.CopyFrom(shaped.row)
    row.ClearField("id")
    for name in missing:
        del row.requests.extended[name]
    row.id = _id(row)
    more = ", ..." if len(missing) > 1 else ""
    return shaped._replace(row=row, blocked_by=shaped.blocked_by or f"no node offers {missing[0]}{more}")


class Shapes:
    """The shapes of pods, worked out once for each distinct request."""

    def __init__(self) -> None:
        self._by_request: dict[bytes, Shaped] = {}
        self._uses: Counter[bytes] = Counter()

    def take(self, pod: Pod) -> tuple[bytes, Shaped]:
        """The shape of a pod, and a key to give back when the pod has it no more."""
        key = _request_key(pod)
        shaped = self._by_request.get(key)
        if shaped is None:
            shaped = self._by_request[key] = shape_of(pod)
        self._uses[key] += 1
        return key, shaped

    def give_back(self, key: bytes) -> None:
        """One pod less has the shape."""
        self._uses[key] -= 1
        if not self._uses[key]:
            del self._uses[key], self._by_request[key]


def _id(row: pb.TaskShape) -> str:
    return sha256(row.SerializeToString(deterministic=True)).hexdigest()[:ID_LENGTH]


def _too_much(requests: Amounts) -> str:
    """Why nothing of this size can be placed; empty when it may be."""
    names = sorted(name for name, amount in requests.items() if amount >= MOST_ASKED)
    return f"it asks for more {names[0]} than any node has" if names else ""


def _request_key(pod: Pod) -> bytes:
    """All of a pod that its shape depends on."""
    spec, annotations = pod.spec, pod.metadata.annotations
    return _ENCODE(
        (
            [(one.resources, one.restart_policy) for one in spec.init_containers],
            [one.resources for one in spec.containers],
            (spec.resources, spec.overhead, spec.node_selector, spec.tolerations, spec.affinity),
            [annotations.get(name) for name in ANNOTATIONS],
            pod.metadata.namespace if _has_pod_terms(spec) else "",
        )
    )


def _has_pod_terms(spec: PodSpec) -> bool:
    return bool(spec.affinity.pod_affinity.required or spec.affinity.pod_anti_affinity.required)
