"""What a pod asks for as a whole: Kubernetes' rule over its containers.

    max( sum of containers and sidecars,
         each init container with the sidecars that start before it )  + overhead

A sidecar is an init container that is restarted always. What the pod as a whole asks for, where it says so,
replaces the sum.
"""

from typing import Final

from tenure.client.kubernetes.objects.pod import Container, PodSpec
from tenure.client.kubernetes.observe.amounts import PODS, Amounts, add, highest, read_amounts

_ALWAYS: Final = "Always"
_GUARANTEED: Final = frozenset(("cpu", "memory"))


def pod_requests(spec: PodSpec, doubts: list[str]) -> Amounts:
    """Amounts without the pod slot, which every pod takes."""
    running: Amounts = {}
    beside: Amounts = {}
    starting: Amounts = {}
    for container in spec.init_containers:
        amounts = read_amounts(container.resources.requests, doubts)
        if container.restart_policy == _ALWAYS:
            add(beside, amounts)
        else:
            add(amounts, beside)
            starting = highest(starting, amounts)
    for container in spec.containers:
        add(running, read_amounts(container.resources.requests, doubts))
    add(running, beside)
    total = highest(running, starting)
    total.update(read_amounts(spec.resources.requests, doubts))
    add(total, read_amounts(spec.overhead, doubts))
    total.pop(PODS, None)
    return total


def is_guaranteed(spec: PodSpec) -> bool:
    """Whether the pod is of the QoS class Guaranteed: every container's requests are its limits."""
    return all(map(_is_bounded, (*spec.containers, *spec.init_containers)))


def _is_bounded(container: Container) -> bool:
    requests, limits = container.resources.requests, container.resources.limits
    return all(limits.get(name) and requests.get(name, limits[name]) == limits[name] for name in _GUARANTEED)
