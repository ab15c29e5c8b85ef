"""Requests of a pod by the rule of Kubernetes:

    max( sum of containers and sidecars,
         each init container with the sidecars that start before it )  + overhead

A sidecar is an init container with restart policy Always. CPU, memory and huge pages of the whole pod replace
the sum. While a container is resized in place, it counts with the most of what it asks for, what its node has
allocated, and what it has; what a node refused for good does not count.
"""

from collections.abc import Mapping
from typing import Final

from tenure.kubernetes.constraints.pod_terms import ALWAYS
from tenure.kubernetes.objects.pod import Container, ContainerStatus, Pod
from tenure.kubernetes.objects.resource_amounts import PODS, Amounts, add, maximum, read_amounts

_OF_POD: Final = ("cpu", "memory")
_HUGE_PAGES: Final = "hugepages-"


def pod_requests(pod: Pod, warnings: list[str]) -> Amounts:
    """Requests without the pod slot, which every pod uses."""
    spec, running, beside, starting = pod.spec, Amounts(), Amounts(), Amounts()
    resize = _Resize(pod, warnings)
    for container in spec.init_containers:
        if container.restart_policy == ALWAYS:
            add(beside, resize.amounts(container))
        else:
            amounts = read_amounts(container.resources.requests, warnings)
            add(amounts, beside)
            starting = maximum(starting, amounts)
    for container in spec.containers:
        add(running, resize.amounts(container))
    add(running, beside)
    total = maximum(running, starting)
    total.update(resize.amounts_of_pod())
    add(total, read_amounts(spec.overhead, warnings))
    total.pop(PODS, None)
    return total


def resize_key(pod: Pod) -> object:
    """What of the status of a pod its requests depend on; None: nothing, as for most pods."""
    status = pod.status
    if not pod.spec.node_name:
        return None
    of_containers = [
        (one.name, one.resources.requests, one.allocated_resources)
        for one in (*status.container_statuses, *status.init_container_statuses)
        if one.resources is not None
    ]
    if not of_containers and status.resources is None:
        return None
    return of_containers, status.resources, status.allocated_resources, _is_refused(pod)


class _Resize:
    """Requests of containers during a resize."""

    def __init__(self, pod: Pod, warnings: list[str]) -> None:
        self._pod, self._warnings = pod, warnings
        self._is_refused = _is_refused(pod)
        self._statuses: Mapping[str, ContainerStatus] = {}
        if pod.spec.node_name:
            status = pod.status
            self._statuses = {
                one.name: one for one in (*status.container_statuses, *status.init_container_statuses)
            }

    def amounts(self, container: Container) -> Amounts:
        """Requests of a container or sidecar."""
        status = self._statuses.get(container.name)
        wanted = container.resources.requests
        if status is None or status.resources is None:
            return read_amounts(wanted, self._warnings)
        return self._most(wanted, status.resources.requests, status.allocated_resources)

    def amounts_of_pod(self) -> Amounts:
        """Requests of the whole pod; empty: it has none."""
        spec, status = self._pod.spec, self._pod.status
        wanted = _of_pod(spec.resources.requests)
        if not wanted or status.resources is None or not spec.node_name:
            return read_amounts(wanted, self._warnings)
        amounts = self._most(wanted, status.resources.requests, status.allocated_resources)
        return {name: amounts.get(name, 0) for name in wanted}

    def _most(
        self, wanted: Mapping[str, str], has: Mapping[str, str], allocated: Mapping[str, str]
    ) -> Amounts:
        amounts = maximum(read_amounts(has, self._warnings), read_amounts(allocated, self._warnings))
        return amounts if self._is_refused else maximum(amounts, read_amounts(wanted, self._warnings))


def _of_pod(requests: Mapping[str, str]) -> dict[str, str]:
    """Requests that Kubernetes reads for the whole pod."""
    return {name: text for name, text in requests.items() if name in _OF_POD or name.startswith(_HUGE_PAGES)}


def _is_refused(pod: Pod) -> bool:
    """Whether the node refused the resize for good."""
    pending = next((one for one in pod.status.conditions if one.type == "PodResizePending"), None)
    return pending is not None and pending.reason == "Infeasible"
