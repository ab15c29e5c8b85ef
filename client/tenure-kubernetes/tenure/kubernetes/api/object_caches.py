"""The observed collections: their caches, their reflectors, and discovery of new ones."""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import msgspec
from tenure.kubernetes.api.api_errors import ApiError, NotFound
from tenure.kubernetes.api.object_cache import ObjectCache, Unreadable
from tenure.kubernetes.api.reflector import Reflector
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.choices import WorkloadApi
from tenure.kubernetes.limits.binding_backoff import BindingBackoff
from tenure.kubernetes.limits.volume_waits import VolumeWaits
from tenure.kubernetes.objects import kai, native, storage, volcano
from tenure.kubernetes.objects.budgets import DisruptionBudget
from tenure.kubernetes.objects.device_claims import ResourceClaim
from tenure.kubernetes.objects.devices import DeviceClass, DeviceTaintRule, ResourceSlice
from tenure.kubernetes.objects.node import Namespace, Node, PriorityClass
from tenure.kubernetes.objects.pod import Pod


class Collection(NamedTuple):
    """A kind of objects of an API server."""

    name: str
    """Attribute of ObjectCaches. Of several versions of one name, the first that is served is followed."""
    version: str
    """Path of the API group and version."""
    resource: str
    kind: type[Any]

    @property
    def path(self) -> str:
        """Path of the collection."""
        return f"{self.version}/{self.resource}"


_STORAGE: Final = "/apis/storage.k8s.io/v1"
_DEVICES: Final = "/apis/resource.k8s.io/v1"
COLLECTIONS: Final = (
    Collection("nodes", "/api/v1", "nodes", Node),
    Collection("pods", "/api/v1", "pods", Pod),
    Collection("priority_classes", "/apis/scheduling.k8s.io/v1", "priorityclasses", PriorityClass),
    Collection("kai_queues", "/apis/scheduling.run.ai/v2", "queues", kai.Queue),
    Collection("kai_pod_groups", "/apis/scheduling.run.ai/v2alpha2", "podgroups", kai.PodGroup),
    Collection("topologies", "/apis/kai.scheduler/v1alpha1", "topologies", kai.Topology),
    Collection("volcano_queues", "/apis/scheduling.volcano.sh/v1beta1", "queues", volcano.Queue),
    Collection("volcano_pod_groups", "/apis/scheduling.volcano.sh/v1beta1", "podgroups", volcano.PodGroup),
    *(
        Collection("native_pod_groups", f"/apis/{version}", "podgroups", native.PodGroup)
        for version in native.VERSIONS
    ),
    Collection("namespaces", "/api/v1", "namespaces", Namespace),
    Collection("volume_claims", "/api/v1", "persistentvolumeclaims", storage.VolumeClaim),
    Collection("volumes", "/api/v1", "persistentvolumes", storage.PersistentVolume),
    Collection("storage_classes", _STORAGE, "storageclasses", storage.StorageClass),
    Collection("csi_drivers", _STORAGE, "csidrivers", storage.CsiDriver),
    Collection("csi_nodes", _STORAGE, "csinodes", storage.CsiNode),
    Collection("storage_capacities", _STORAGE, "csistoragecapacities", storage.StorageCapacity),
    Collection("volume_attachments", _STORAGE, "volumeattachments", storage.VolumeAttachment),
    Collection("disruption_budgets", "/apis/policy/v1", "poddisruptionbudgets", DisruptionBudget),
    Collection("resource_claims", _DEVICES, "resourceclaims", ResourceClaim),
    Collection("resource_slices", _DEVICES, "resourceslices", ResourceSlice),
    Collection("device_classes", _DEVICES, "deviceclasses", DeviceClass),
    *(
        Collection(
            "device_taint_rules", f"/apis/resource.k8s.io/{version}", "devicetaintrules", DeviceTaintRule
        )
        for version in ("v1", "v1beta2", "v1alpha3")
    ),
)
"""All observed collections. Those that the API server does not serve are skipped."""
WORKLOAD_APIS: Final = {
    "kai": frozenset(("kai_queues", "kai_pod_groups", "topologies")),
    "volcano": frozenset(("volcano_queues", "volcano_pod_groups")),
}
"""Collections of each workload API."""
OPTIONAL: Final = frozenset(("namespaces", "resource_slices", "device_taint_rules"))
"""Collections that are followed only if a setting requires them."""


def unfollowed_collections(api: WorkloadApi) -> frozenset[str]:
    """Optional collections, and those of the other workload APIs."""
    others = (names for name, names in WORKLOAD_APIS.items() if name != api.value)
    return OPTIONAL if api is WorkloadApi.AUTO else OPTIONAL.union(*others)


class _Served(msgspec.Struct):
    name: str = ""


class _Resources(msgspec.Struct):
    resources: list[_Served] = []


_RESOURCES: Final = msgspec.json.Decoder(_Resources)


@dataclass(slots=True)
class ObjectCaches:
    """One cache per collection. Caches of collections that are not followed are empty and have no problem."""

    nodes: ObjectCache[Node]
    pods: ObjectCache[Pod]
    priority_classes: ObjectCache[PriorityClass]
    kai_queues: ObjectCache[kai.Queue]
    kai_pod_groups: ObjectCache[kai.PodGroup]
    topologies: ObjectCache[kai.Topology]
    volcano_queues: ObjectCache[volcano.Queue]
    volcano_pod_groups: ObjectCache[volcano.PodGroup]
    native_pod_groups: ObjectCache[native.PodGroup]
    namespaces: ObjectCache[Namespace]
    volume_claims: ObjectCache[storage.VolumeClaim]
    volumes: ObjectCache[storage.PersistentVolume]
    storage_classes: ObjectCache[storage.StorageClass]
    csi_drivers: ObjectCache[storage.CsiDriver]
    csi_nodes: ObjectCache[storage.CsiNode]
    storage_capacities: ObjectCache[storage.StorageCapacity]
    volume_attachments: ObjectCache[storage.VolumeAttachment]
    disruption_budgets: ObjectCache[DisruptionBudget]
    resource_claims: ObjectCache[ResourceClaim]
    resource_slices: ObjectCache[ResourceSlice]
    device_classes: ObjectCache[DeviceClass]
    device_taint_rules: ObjectCache[DeviceTaintRule]
    followed_collections: dict[str, str] = field(default_factory=dict)
    """Paths of the collections that are followed, by name."""
    bound_to: dict[str, str] = field(default_factory=dict)
    """Nodes of pods, by uid, that the API server bound for this adapter; the cache of pods follows later."""
    binding_backoff: BindingBackoff = field(default_factory=BindingBackoff)
    """Pods whose binding the API server refused."""
    has_volumes: bool = True
    """Whether volumes are observed. False: claims of pods are ignored."""
    volume_waits: VolumeWaits = field(default_factory=VolumeWaits)
    """Pods whose volumes are being bound."""
    device_waits: VolumeWaits = field(default_factory=VolumeWaits)
    """Nodes on which no devices were found for a pod."""

    @classmethod
    def create(cls, wake: Callable[[], None]) -> "ObjectCaches":
        """Create empty caches that call `wake` after each change; it must return at once."""
        return cls(**{collection.name: ObjectCache(wake) for collection in COLLECTIONS})  # type: ignore[arg-type]

    def pod_group(self, uid: str) -> kai.PodGroup | volcano.PodGroup | native.PodGroup | None:
        """The object of a pod group; None: it is derived, or gone."""
        found = self.kai_pod_groups.find(uid) or self.volcano_pod_groups.find(uid)
        return found or self.native_pod_groups.find(uid)

    def unreadable_pod_group(self, uid: str) -> Unreadable | None:
        """The object of a pod group, if no version of it was readable, else None."""
        caches = (self.kai_pod_groups, self.volcano_pod_groups, self.native_pod_groups)
        return next(filter(None, (cache.unreadable(uid) for cache in caches)), None)

    @property
    def native_version(self) -> str:
        """Version of the followed pod groups of `scheduling.k8s.io`; "": the API server serves none."""
        path = self.followed_collections.get("native_pod_groups", "")
        return path.removeprefix("/apis/").removesuffix("/podgroups")

    @property
    def problem(self) -> str:
        """Why a cache may be out of date; "": none is."""
        for collection in COLLECTIONS:
            cache: ObjectCache[Any] = getattr(self, collection.name)
            if collection.name in self.followed_collections and cache.problem:
                return f"{collection.resource}: {cache.problem}"
        return ""

    def follow(self, transport: Transport, excluded: frozenset[str] = frozenset()) -> list[Reflector[Any]]:
        """Create a reflector for each collection that the API server serves and that is not excluded.

        Run each in a thread of its own. Raises ApiError.
        """
        reflectors: list[Reflector[Any]] = []
        for collection in list_served(transport, excluded):
            if collection.name in self.followed_collections:
                continue
            self.followed_collections[collection.name] = collection.path
            cache: ObjectCache[Any] = getattr(self, collection.name)
            reflectors.append(Reflector(transport, collection.path, collection.kind, cache))
        return reflectors


def list_served(transport: Transport, excluded: frozenset[str]) -> list[Collection]:
    """Collections that an API server serves and that are not excluded. Raises ApiError."""
    wanted = [collection for collection in COLLECTIONS if collection.name not in excluded]
    versions = dict.fromkeys(collection.version for collection in wanted)
    served = {version: _resources(transport, version) for version in versions}
    return [collection for collection in wanted if collection.resource in served[collection.version]]


def _resources(transport: Transport, version: str) -> frozenset[str]:
    """Names of the resources of a version. Raises ApiError."""
    try:
        known = _RESOURCES.decode(transport.get_patiently(version)).resources
    except NotFound:
        return frozenset()
    return frozenset(one.name for one in known)


POLL_SECONDS: Final = 60.0
_LOOKS: Final = 3
"""Polls in a row without a kind until it counts as removed: a starting API server may lack kinds."""
_MAY_GO: Final = frozenset(("native_pod_groups", "device_taint_rules")).union(*WORKLOAD_APIS.values())
_LOG: Final = logging.getLogger(__name__)


class ApiDiscovery:
    """Polls for collections that the API server starts or stops serving, such as those of installed CRDs.

    `followed` has the paths of the followed collections by name: an upgraded API server may serve another
    version. Calls `found` once, after the first difference.
    """

    def __init__(
        self,
        transport: Transport,
        excluded: frozenset[str],
        followed: Mapping[str, str],
        found: Callable[[], None],
    ) -> None:
        self._transport = transport
        self._excluded, self._followed = excluded, dict(followed)
        self._missed: dict[str, int] = {}
        """Consecutive polls without a kind, by path."""
        self._found = found
        self._stopped = threading.Event()

    def run(self) -> None:
        """Poll every minute, until a difference is found or until stopped."""
        while not self._stopped.wait(POLL_SECONDS):
            if self.poll_once():
                return

    def stop(self) -> None:
        """Return from `run`."""
        self._stopped.set()

    def poll_once(self) -> bool:
        """Compare once. Returns whether there is a difference; without a response there is none."""
        try:
            there = list_served(self._transport, self._excluded)
        except ApiError:
            return False
        new = [one.path for one in there if one.name not in self._followed]
        gone = self._gone(frozenset(one.path for one in there))
        if not new and not gone:
            return False
        if new:
            _LOG.info("The API server now serves %s. Relisting all collections.", ", ".join(new))
        if gone:
            _LOG.warning("The API server no longer serves %s. Relisting all collections.", ", ".join(gone))
        self._found()
        return True

    def _gone(self, there: frozenset[str]) -> list[str]:
        missed = sorted(
            path for name, path in self._followed.items() if name in _MAY_GO and path not in there
        )
        self._missed = {path: self._missed.get(path, 0) + 1 for path in missed}
        return [path for path, looks in self._missed.items() if looks >= _LOOKS]
