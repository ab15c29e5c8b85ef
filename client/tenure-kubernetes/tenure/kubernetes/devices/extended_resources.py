"""Extended resources that devices serve, and the claim of a pod that requests some, as of kube-scheduler.

A class of devices offers its `extendedResourceName`, and always the resource IMPLICIT + its name. A node that
has the resource in its allocatable serves it with a device plugin. Others serve it with devices of the class,
which the pod gets through a claim of its own.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Final, NamedTuple

from tenure.kubernetes.constraints.pod_terms import ALWAYS
from tenure.kubernetes.objects import names
from tenure.kubernetes.objects.device_claims import (
    ClaimSpec,
    DeviceClaim,
    DeviceRequest,
    ExactRequest,
    ResourceClaim,
)
from tenure.kubernetes.objects.devices import DeviceClass
from tenure.kubernetes.objects.meta import ObjectMeta, OwnerReference
from tenure.kubernetes.objects.pod import Container, Pod, RequestMapping
from tenure.kubernetes.objects.resource_amounts import InvalidQuantity, is_gpu, quantity

IMPLICIT: Final = "deviceclass.resource.kubernetes.io/"
ANNOTATION: Final = "resource.kubernetes.io/extended-resource-claim"
"""Annotation of claims that serve extended resources; its value is "true"."""
_OF_KUBERNETES: Final = "kubernetes.io/"
_QUOTA: Final = "requests."
_SLASH: Final = "/"
_MIDDLE: Final = "-extended-resources-"
_DIGITS: Final = 8
_LONGEST_NAME: Final = 253


class ExtendedClaim(NamedTuple):
    """The claim of a pod to devices that serve extended resources."""

    claim: ResourceClaim
    """As it is to be created; until then it has no version."""
    mappings: tuple[RequestMapping, ...]
    classes: Mapping[str, str]
    """Names of device classes by resource."""
    gpus: int
    """Devices that its pod requests as GPUs already."""


def is_extended_claim(claim: ResourceClaim) -> bool:
    """Whether a claim serves extended resources of its pod."""
    return claim.metadata.annotations.get(ANNOTATION) == "true"


def classes_by_resource(classes: Iterable[DeviceClass]) -> dict[str, str]:
    """Names of classes by their explicit resource: of several the newest, then the first by name."""
    ranked = sorted(classes, key=lambda one: one.metadata.name)
    ranked.sort(key=_age, reverse=True)
    found: dict[str, str] = {}
    for one in ranked:
        if one.spec.extended_resource_name:
            found.setdefault(one.spec.extended_resource_name, one.metadata.name)
    return found


def qualified_resources(pod: Pod) -> list[str]:
    """Resources of a pod whose names have a domain: only those can be extended ones."""
    return [
        name
        for container in (*pod.spec.init_containers, *pod.spec.containers)
        for name in container.resources.requests
        if _SLASH in name
    ]


def classes_of(pod: Pod, resources: Iterable[str], explicit: Mapping[str, str]) -> dict[str, str]:
    """Classes of devices that serve resources of a pod, by resource, whether they exist or not.

    Shares of GPUs have none: a device is given as a whole.
    """
    found = {name: one for name in resources if (one := _class_of(name, explicit))}
    if found and any(key in pod.metadata.annotations for key in (names.GPU_FRACTION, names.GPU_MEMORY)):
        found = {name: one for name, one in found.items() if not is_gpu(name)}
    return found


def _class_of(resource: str, explicit: Mapping[str, str]) -> str:
    """The class of devices that serves a resource; "": there is none, or it is no extended resource."""
    if resource.startswith(IMPLICIT):
        return resource.removeprefix(IMPLICIT)
    if _OF_KUBERNETES in resource or resource.startswith(_QUOTA):
        return ""
    return explicit.get(resource, "")


def extended_claim(pod: Pod, classes: Mapping[str, str]) -> ExtendedClaim | None:
    """The claim for those resources of a pod that have a class; None: it requests none of them."""
    requests: list[DeviceRequest] = []
    mappings: list[RequestMapping] = []
    served: dict[str, str] = {}
    gpus = 0
    for resource, device_class in sorted(classes.items()):
        found = _Requests(pod, resource, device_class)
        if found.requests:
            served[resource] = device_class
        requests.extend(found.requests)
        mappings.extend(found.mappings)
        gpus += found.count if is_gpu(resource) else 0
    if not requests:
        return None
    meta = pod.metadata
    owner = OwnerReference("v1", "Pod", meta.name, meta.uid, controller=True)
    own = ObjectMeta(
        name=claim_name(meta),
        namespace=meta.namespace,
        uid=f"extended resources of {meta.uid}",
        annotations={ANNOTATION: "true"},
        owner_references=[owner],
    )
    spec = ClaimSpec(DeviceClaim(requests=sorted(requests, key=lambda one: one.name)))
    return ExtendedClaim(ResourceClaim(metadata=own, spec=spec), tuple(mappings), served, gpus)


def claim_name(pod: ObjectMeta) -> str:
    """Name of the claim of a pod. It depends on the pod alone, so that no pod has two."""
    end = f"{_MIDDLE}{sha256(pod.uid.encode()).hexdigest()[:_DIGITS]}"
    return pod.name[: _LONGEST_NAME - len(end)].rstrip("-.") + end


class _Requests:
    """Requests of the containers of a pod for one resource, and what they are for.

    Init containers run one after the other and before the containers, so they use the devices of later
    containers, and share the one further request of the largest of them.
    """

    def __init__(self, pod: Pod, resource: str, device_class: str) -> None:
        self._resource, self._class = resource, device_class
        self._containers = (*pod.spec.init_containers, *pod.spec.containers)
        self._lasting: dict[int, DeviceRequest] = {}
        self._largest: DeviceRequest | None = None
        starting = [at for at, one in enumerate(pod.spec.init_containers) if one.restart_policy != ALWAYS]
        self.mappings: list[RequestMapping] = []
        for at, container in enumerate(self._containers):
            if at not in starting and (amount := _amount(container, resource)):
                self._lasting[at] = self._request(at, amount)
                self._map(container, self._lasting[at])
        further = list(self._start(starting))
        if self._largest is not None:
            for container in further:
                self._map(container, self._largest)

    @property
    def requests(self) -> Sequence[DeviceRequest]:
        """Requests of the claim."""
        return [*self._lasting.values(), *filter(None, [self._largest])]

    @property
    def count(self) -> int:
        """Number of devices."""
        return sum(one.exactly.count for one in self.requests if one.exactly is not None)

    def _start(self, starting: Iterable[int]) -> Iterator[Container]:
        """Map init containers to the devices of later containers; yields those that need further ones."""
        for at in starting:
            container = self._containers[at]
            left = _amount(container, self._resource)
            for later, request in self._lasting.items():
                if later > at and left > 0 and request.exactly is not None:
                    left -= request.exactly.count
                    self._map(container, request)
            if left > 0:
                if self._largest is None or left > _count(self._largest):
                    self._largest = self._request(at, left)
                yield container

    def _request(self, at: int, count: int) -> DeviceRequest:
        place = sorted(self._containers[at].resources.requests).index(self._resource)
        exactly = ExactRequest(device_class_name=self._class, count=count)
        return DeviceRequest(name=f"container-{at}-request-{place}", exactly=exactly)

    def _map(self, container: Container, request: DeviceRequest) -> None:
        self.mappings.append(RequestMapping(container.name, self._resource, request.name))


def _count(request: DeviceRequest) -> int:
    return request.exactly.count if request.exactly is not None else 0


def _amount(container: Container, resource: str) -> int:
    try:
        return max(quantity(container.resources.requests.get(resource, "0")), 0)
    except InvalidQuantity:
        return 0  # its pod waits for that


def _age(one: DeviceClass) -> float:
    created = one.metadata.creation_timestamp
    return created.timestamp() if created is not None else 0.0
