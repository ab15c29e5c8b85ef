"""A cluster of Kubernetes objects in object caches, without an API server, written as JSON."""

from itertools import count
from typing import Any

import msgspec
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.kubernetes.api.object_caches import COLLECTIONS, ObjectCaches
from tenure.kubernetes.limits.missing_pod_groups import SECONDS
from tenure.kubernetes.observe.snapshot_builder import SnapshotBuilder
from tenure.kubernetes.observe.snapshot_scope import SnapshotScope
from tenure.kubernetes.observe.stored_annotations import StoredAnnotations
from tenure.kubernetes.owners.chains import OwnerLookup
from tenure.v1.snapshot_pb2 import ClusterSnapshot

NOW = Timestamp(seconds=1_800_000_000)
LATER = Timestamp(seconds=NOW.seconds + int(SECONDS))
"""When pods of unknown pod groups come into reach that are out of it at `NOW`."""
CREATED = "2027-01-01T00:00:00Z"
CONFIG = SnapshotScope(cluster_id="test", node_pool_label="")
IMPOSSIBLE_NAME = {
    "matchLabels": {"kubernetes.io/metadata.name": "a"},
    "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["b"]}],
}
"""A selector that selects no namespace."""
_KINDS = {collection.name: collection.kind for collection in COLLECTIONS}


class CachedCluster:
    """Objects by collection; object caches see changes immediately."""

    def __init__(self) -> None:
        self.mirrors = ObjectCaches.create(lambda: None)
        self._versions = count(1)
        self._unreadable: dict[tuple[str, str], bytes] = {}
        """Objects by collection and uid."""

    def put(self, collection: str, item: dict[str, Any]) -> str:
        """Create or change an object; return its uid."""
        meta = {"uid": uid_of(collection, item), "creationTimestamp": CREATED, **item["metadata"]}
        meta["resourceVersion"] = str(next(self._versions))
        decoded = msgspec.json.decode(
            msgspec.json.encode({**item, "metadata": meta}), type=_KINDS[collection]
        )
        getattr(self.mirrors, collection).on_change(decoded)
        return str(meta["uid"])

    def put_unreadable(self, collection: str, item: dict[str, Any], *, is_listed: bool = False) -> None:
        """Change an object into one that does not match its kind. `is_listed`: the collection is relisted."""
        uid, mirror = uid_of(collection, item), getattr(self.mirrors, collection)
        text = msgspec.json.encode({**item, "metadata": {"uid": uid, **item["metadata"]}})
        self._unreadable[collection, uid] = text
        mirror.on_unreadable(text, "odd")
        if is_listed:
            mirror.on_replace([one for one in mirror.all() if one.metadata.uid != uid], {uid})

    def remove(self, collection: str, uid: str) -> None:
        """Delete an object, if it exists."""
        mirror = getattr(self.mirrors, collection)
        if (item := mirror.find(uid)) is not None:
            mirror.on_remove(item)

    def builder(
        self,
        config: SnapshotScope = CONFIG,
        owners: OwnerLookup | None = None,
        stored: StoredAnnotations | None = None,
    ) -> SnapshotBuilder:
        """Return a new snapshot builder, which has no earlier changes."""
        for collection in COLLECTIONS:
            mirror, name = getattr(self.mirrors, collection.name), collection.name
            odd = {uid: text for (of, uid), text in self._unreadable.items() if of == name}
            objects = [item for item in mirror.all() if item.metadata.uid not in odd]
            mirror.on_replace([])
            for text in odd.values():
                mirror.on_unreadable(text, "odd")
            mirror.on_replace(objects, odd.keys())
        return SnapshotBuilder(self.mirrors, config, owners, stored)

    def snapshot(self, config: SnapshotScope = CONFIG, owners: OwnerLookup | None = None) -> ClusterSnapshot:
        """Return the snapshot of a new snapshot builder."""
        return self.builder(config, owners).snapshot(NOW)


def uid_of(collection: str, item: dict[str, Any]) -> str:
    """Return the uid of an object; the default is derived from its name."""
    name = item["metadata"]["name"]
    default = f"uid-{name}" if collection in ("pods", "kai_pod_groups") else f"{collection}-{name}"
    return str(item["metadata"].get("uid", default))


def node(name: str = "n1", **more: Any) -> dict[str, Any]:
    """Build a node with 8 GPUs, 64 cores and 512 GiB; `more` replaces fields."""
    return {
        "metadata": {"name": name, "labels": more.get("labels", {})},
        "spec": more.get("spec", {}),
        "status": {
            "allocatable": more.get(
                "allocatable", {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "8", "pods": "110"}
            ),
            "conditions": more.get("conditions", [{"type": "Ready", "status": "True"}]),
        },
    }


def pod(name: str = "p1", **more: Any) -> dict[str, Any]:
    """Build a pending pod of KAI-Scheduler with one core; `meta`, `spec` and `status` add fields."""
    meta = {"name": name, "namespace": "team", **more.get("meta", {})}
    spec = {
        "schedulerName": "kai-scheduler",
        "containers": [{"name": "main", "resources": {"requests": more.get("requests", {"cpu": "1"})}}],
        **more.get("spec", {}),
    }
    return {"metadata": meta, "spec": spec, "status": {"phase": "Pending", **more.get("status", {})}}


def running(name: str, on: str = "n1", **more: Any) -> dict[str, Any]:
    """Build a pod that runs on a node."""
    item = pod(name, **more)
    item["spec"]["nodeName"] = on
    item["status"]["phase"] = "Running"
    item["status"].setdefault("startTime", "2027-01-02T00:00:00Z")
    return item


def member(group: str) -> dict[str, Any]:
    """Build the metadata of a pod of a KAI pod group."""
    return {"annotations": {"pod-group-name": group}}


def pod_group(name: str, **spec: Any) -> dict[str, Any]:
    """Build a pod group of KAI or Volcano; `annotations` and `labels` are added to its metadata."""
    meta = {key: spec.pop(key) for key in ("annotations", "labels") if key in spec}
    return {"metadata": {"name": name, "namespace": "team", **meta}, "spec": {"queue": "q", **spec}}


def queue(name: str, **spec: Any) -> dict[str, Any]:
    """Build a queue of KAI or Volcano."""
    return {"metadata": {"name": name}, "spec": spec}
