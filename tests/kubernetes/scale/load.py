"""A stream of new pods, for this scheduler and for kube-scheduler, and the eviction of gangs.

Both are measured at the API server: when it showed the binding of a pod, and when all pods of a gang had
their deletion timestamps.
"""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from statistics import quantiles
from typing import Final, NamedTuple

import httpx2
import msgspec
from tenure.kubernetes.api.api_errors import Conflict
from tenure.kubernetes.api.transport import Transport

from tests.kubernetes.scale.large_cluster import (
    AT_ONCE,
    NAMESPACE,
    PODS,
    post_group,
    post_node,
    post_pod,
    scheduled_pod,
)
from tests.kubernetes.scale.measurement import Measurement, wait_for

_BUDGETS: Final = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets"
WIDE: Final = 64
"""Pods of the gang that is evicted, and GPUs of its node."""
_BOUND_SECONDS: Final = 120.0
_QUIET_SECONDS: Final = 60.0


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    resource_version: str = ""
    deletion_timestamp: str = ""


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _Pod(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    spec: _Spec = msgspec.field(default_factory=_Spec)


class _Event(msgspec.Struct):
    type: str
    object: _Pod


class _List(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    items: list[_Pod] = []


class Stream(NamedTuple):
    """New pods with one GPU each."""

    pods: int
    rate: int
    """Pods per second."""


def measure_stream(transport: Transport, stream: Stream, scheduler: str = "") -> list[Measurement]:
    """Create pods at a rate and measure from creation to binding. `scheduler` "": this one, with groups.

    The pods are deleted in the end.
    """
    names = [f"stream-{number}" for number in range(stream.pods)]
    made: dict[str, float] = {}

    def create(number: int) -> None:
        time.sleep(max(0.0, begin + number / stream.rate - time.monotonic()))
        name = names[number]
        pod = scheduled_pod(name, "" if scheduler else name, 1, None)
        pod["metadata"]["labels"]["app"] = "stream"
        if scheduler:
            pod["spec"]["schedulerName"] = scheduler
        made[name] = time.monotonic()
        transport.post(PODS, pod)

    with (
        ThreadPoolExecutor(AT_ONCE) as pool,
        _seen(transport, "stream", lambda pod: bool(pod.spec.node_name)) as bound,
    ):
        if not scheduler:
            list(pool.map(lambda name: post_group(transport, name, {"queue": "q0", "minMember": 1}), names))
            time.sleep(1.0)
        begin = time.monotonic()
        list(pool.map(create, range(stream.pods)))
        last = max(made.values()) - begin
        wait_for(lambda: len(bound) == stream.pods, _BOUND_SECONDS)
        list(pool.map(lambda name: transport.delete(f"{PODS}/{name}", {"gracePeriodSeconds": 0}), names))
    taken = sorted((bound[name] - made[name]) * 1e3 for name in names)
    who = scheduler or "this scheduler"
    cuts = quantiles(taken, n=100, method="inclusive")
    return [
        Measurement(f"{who}, pods created", (stream.pods - 1) / last, "/s"),
        Measurement(f"{who}, creation to binding, p50", cuts[49], "ms"),
        Measurement(f"{who}, creation to binding, p99", cuts[98], "ms"),
    ]


def measure_eviction(transport: Transport, gang: str, *, has_budget: bool = False) -> list[Measurement]:
    """Let a pod of higher priority take the node of a gang. Without a kubelet, its pods only terminate.

    With a budget, one disruption budget permits the eviction of all pods. A disruption controller must run.
    """
    with suppress(Conflict):
        body = {"metadata": {"name": "urgent"}, "value": 1_000}
        transport.post("/apis/scheduling.k8s.io/v1/priorityclasses", body)
    post_node(transport, gang, gpus=WIDE)
    post_group(transport, gang, {"queue": "q0", "minMember": WIDE})
    for number in range(WIDE):
        post_pod(transport, scheduled_pod(f"{gang}-{number}", gang, 1, gang))
    if has_budget:
        _permit_evictions(transport, gang)
    needy = f"needs-{gang}"
    post_group(transport, needy, {"queue": "q0", "minMember": 1, "priorityClassName": "urgent"})
    with _seen(transport, gang, lambda pod: bool(pod.metadata.deletion_timestamp)) as evicted:
        begin = time.monotonic()
        post_pod(transport, scheduled_pod(f"{needy}-0", needy, WIDE, None))
        wait_for(lambda: len(evicted) == WIDE, _QUIET_SECONDS)
    first, end = min(evicted.values()), max(evicted.values())
    what = f"a gang of {WIDE} with a budget" if has_budget else f"a gang of {WIDE}"
    return [
        Measurement(f"{what}, from its first to its last eviction", end - first, "s"),
        Measurement(f"{what}, from the creation of the pod that needs it", end - begin, "s"),
    ]


def _permit_evictions(transport: Transport, gang: str) -> None:
    """Create a disruption budget for all pods of a gang, and wait until its controller has counted them."""
    spec = {"minAvailable": 0, "selector": {"matchLabels": {"app": gang}}}
    transport.post(_BUDGETS, {"metadata": {"name": gang}, "spec": spec})
    permitted = f'"disruptionsAllowed":{WIDE}'.encode()
    wait_for(lambda: permitted in transport.get(f"{_BUDGETS}/{gang}"), _QUIET_SECONDS)


@contextmanager
def _seen(transport: Transport, app: str, has_happened: Callable[[_Pod], bool]) -> Iterator[dict[str, float]]:
    """Times at which something was first seen of the pods of an app, by name of the pod."""
    seen: dict[str, float] = {}
    now = msgspec.json.decode(transport.get(PODS, {"limit": "1"}), type=_List).metadata.resource_version
    query = {"watch": "1", "resourceVersion": now, "labelSelector": f"app={app}"}
    with transport.lines(PODS, query, _BOUND_SECONDS) as lines:

        def follow() -> None:
            with suppress(httpx2.HTTPError):  # the end of the stream
                for line in lines:
                    pod = msgspec.json.decode(line, type=_Event).object
                    if has_happened(pod):
                        seen.setdefault(pod.metadata.name, time.monotonic())

        reader = threading.Thread(target=follow)
        reader.start()
        try:
            yield seen
        finally:
            lines.close()
            reader.join()
