"""Storage of a story: classes, claims and volumes, and an external provisioner that plays a CSI driver."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import msgspec
from tenure.kubernetes.api.api_errors import Conflict, NotFound
from tenure.kubernetes.api.transport import MERGE_PATCH, Transport

from tests.e2e.cluster.story import Story

_CLASSES: Final = "/apis/storage.k8s.io/v1/storageclasses"
_VOLUMES: Final = "/api/v1/persistentvolumes"
_SELECTED: Final = "volume.kubernetes.io/selected-node"
_LOOK_SECONDS: Final = 0.1


class StoryStorage:
    """Storage classes and volumes carry the name of the story."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self._api = story.transport

    def storage_class(self, name: str, provisioner: str, *, waits: bool = True, **more: Any) -> None:
        """Create a storage class whose claims wait for a pod, or do not."""
        mode = "WaitForFirstConsumer" if waits else "Immediate"
        meta = {"name": self._story.full(name)}
        body = {"metadata": meta, "provisioner": provisioner, "volumeBindingMode": mode, **more}
        self._story.make(_CLASSES, body)

    def driver(self, name: str, *, tracks_capacity: bool = False) -> None:
        """Create a CSI driver."""
        spec = {"attachRequired": False, "storageCapacity": tracks_capacity}
        self._story.make("/apis/storage.k8s.io/v1/csidrivers", {"metadata": {"name": name}, "spec": spec})

    def capacity(self, name: str, storage_class: str, node: str, size: str) -> None:
        """Publish how much of a storage class a node has left."""
        path = f"/apis/storage.k8s.io/v1/namespaces/{self._story.namespace}/csistoragecapacities"
        labels = {"kubernetes.io/hostname": self._story.full(node)}
        body = {
            "metadata": {"name": name},
            "storageClassName": self._story.full(storage_class),
            "nodeTopology": {"matchLabels": labels},
            "capacity": size,
        }
        self._api.post(path, body)

    def attach_limit(self, node: str, driver: str, count: int) -> None:
        """Publish how many volumes of a driver a node attaches."""
        full = self._story.full(node)
        of_driver = {"name": driver, "nodeID": full, "topologyKeys": [], "allocatable": {"count": count}}
        body = {"metadata": {"name": full}, "spec": {"drivers": [of_driver]}}
        self._story.make("/apis/storage.k8s.io/v1/csinodes", body)

    def claim(self, name: str, storage_class: str, *, size: str = "1Gi", mode: str = "ReadWriteOnce") -> None:
        """Create a volume claim."""
        spec = {
            "storageClassName": self._story.full(storage_class),
            "accessModes": [mode],
            "resources": {"requests": {"storage": size}},
        }
        self._api.post(self._claims, {"metadata": {"name": name}, "spec": spec})

    def volume(self, name: str, storage_class: str, node: str, *, size: str = "1Gi", **more: Any) -> None:
        """Create a volume on a disk of a node."""
        volume = {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": self._story.full(storage_class),
            "local": {"path": "/disk"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [on_node(self._story.full(node))]}},
            **more,
        }
        self._story.make(_VOLUMES, {"metadata": {"name": self._story.full(name)}, "spec": volume})

    def read_claim(self, name: str) -> dict[str, Any]:
        """Read a claim."""
        found: dict[str, Any] = msgspec.json.decode(self._api.get(f"{self._claims}/{name}"))
        return found

    def phase(self, name: str) -> str:
        """The phase of a claim; empty if it does not exist."""
        try:
            return str(self.read_claim(name)["status"]["phase"])
        except NotFound:
            return ""

    def selected_node(self, name: str) -> str:
        """The node that is selected for a claim, without the name of the story."""
        annotations = self.read_claim(name)["metadata"].get("annotations", {})
        return str(annotations.get(_SELECTED, "")).removeprefix(self._story.full(""))

    @property
    def _claims(self) -> str:
        return f"/api/v1/namespaces/{self._story.namespace}/persistentvolumeclaims"


def on_node(name: str) -> dict[str, Any]:
    """Build a term that one node matches."""
    return {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [name]}]}


def mount(*claims: str) -> dict[str, Any]:
    """Build the volumes of a pod template."""
    return {"volumes": [{"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims]}


class Provisioner:
    """Makes a volume on the selected node of each claim of its classes, or removes the annotation.

    It plays an external provisioner: only the annotation of a claim starts it.
    """

    def __init__(self, transport: Transport, name: str) -> None:
        self.name = name
        self._api = transport
        self.refused_nodes: frozenset[str] = frozenset()
        """Full names of nodes without space."""
        self.is_paused = False
        self.refusals = 0
        """Number of removed annotations."""
        self._stopped = threading.Event()

    def run(self) -> None:
        """Watch claims until stopped."""
        while not self._stopped.wait(_LOOK_SECONDS):
            if not self.is_paused:
                self._provision_all()

    def stop(self) -> None:
        """Return from `run`."""
        self._stopped.set()

    def _provision_all(self) -> None:
        classes = {one["metadata"]["name"] for one in self._list(_CLASSES) if one["provisioner"] == self.name}
        for claim in self._list("/api/v1/persistentvolumeclaims"):
            node = claim["metadata"].get("annotations", {}).get(_SELECTED, "")
            is_ours = claim["spec"].get("storageClassName") in classes
            if is_ours and node and claim["status"]["phase"] == "Pending":
                self._provision(claim, node)

    def _provision(self, claim: Mapping[str, Any], node: str) -> None:
        meta, spec = claim["metadata"], claim["spec"]
        if node in self.refused_nodes:
            path = f"/api/v1/namespaces/{meta['namespace']}/persistentvolumeclaims/{meta['name']}"
            self._api.patch(path, {"metadata": {"annotations": {_SELECTED: None}}}, MERGE_PATCH)
            self.refusals += 1
            return
        name = f"pvc-{meta['uid']}"
        reference = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "resourceVersion": meta["resourceVersion"],
        }
        volume = {
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "accessModes": spec["accessModes"],
            "storageClassName": spec["storageClassName"],
            "claimRef": {**reference, **{key: meta[key] for key in ("namespace", "name", "uid")}},
            "csi": {"driver": self.name, "volumeHandle": name},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [on_node(node)]}},
        }
        annotations = {"pv.kubernetes.io/provisioned-by": self.name}
        try:
            self._api.post(_VOLUMES, {"metadata": {"name": name, "annotations": annotations}, "spec": volume})
        except Conflict:  # made in an earlier pass
            return

    def _list(self, path: str) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = msgspec.json.decode(self._api.get(path))["items"]
        return items


@contextmanager
def run_provisioner(story: Story, name: str) -> Iterator[Provisioner]:
    """Run a provisioner of this name until the end of the context."""
    provisioner = Provisioner(story.transport, name)
    thread = threading.Thread(target=provisioner.run)
    thread.start()
    try:
        yield provisioner
    finally:
        provisioner.stop()
        thread.join()
