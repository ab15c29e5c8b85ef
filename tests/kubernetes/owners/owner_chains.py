"""Pods with chains of owners on a fake API server, as their controllers write them."""

import json
from collections.abc import Mapping
from typing import Any, Final

from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.observe.snapshot_builder import SnapshotBuilder
from tenure.kubernetes.observe.snapshot_scope import SnapshotScope
from tenure.kubernetes.owners.kinds import OwnerKinds
from tenure.kubernetes.owners.lookup import ApiOwnerLookup
from tenure.v1 import snapshot_pb2 as pb

from tests.kubernetes.environment.resource_definitions import CustomKind, define_kinds
from tests.kubernetes.observe.cached_cluster import CONFIG, CachedCluster, pod, running

BUILT_IN: Final = frozenset(
    ("Pod", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController", "Job", "CronJob")
)
"""Kinds that the API server has without a definition."""
NAMESPACE: Final = "team"


class OwnedPods:
    """A cluster whose pods have owners. An owner is named KIND/NAME; its owner is made before."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.world = CachedCluster()
        self._made: dict[str, dict[str, Any]] = {}
        self._defined: set[str] = set()

    def owner(self, version: str, name: str, by: str = "", **more: Any) -> None:
        """Create an owner KIND/NAME, owned by another one. `more` has its spec, labels and annotations."""
        kind, _, own = name.partition("/")
        self._define(version, kind)
        meta = {"name": own, **{key: more.pop(key) for key in ("labels", "annotations") if key in more}}
        if by:
            meta["ownerReferences"] = [self._made[by]]
        base = f"/apis/{version}" if "/" in version else f"/api/{version}"
        path = f"{base}/namespaces/{NAMESPACE}/{kind.lower()}s"
        body = {"apiVersion": version, "kind": kind, "metadata": meta, **more}
        uid = json.loads(self.transport.post(path, body))["metadata"]["uid"]
        self._made[name] = {"apiVersion": version, "kind": kind, "name": own, "uid": uid, "controller": True}

    def pod(self, name: str, by: str = "", phase: str = "Pending", **more: Any) -> None:
        """Create or change a pod. `more` has its requests, labels and annotations."""
        requests = {"requests": more.pop("requests")} if "requests" in more else {}
        owned = {"ownerReferences": [self._made[by]]} if by else {}
        make = pod if phase == "Pending" else running
        on = {"on": more.pop("on")} if "on" in more else {}
        made = make(name, meta={**more, **owned}, **requests, **on)
        made["status"]["phase"] = phase
        uid = self.world.put("pods", made)
        named = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid}
        self._made[f"Pod/{name}"] = {**named, "controller": True}

    def builder(
        self, kinds: OwnerKinds | None = None, config: SnapshotScope = CONFIG, **more: Any
    ) -> SnapshotBuilder:
        """A builder that reads the owners."""
        find_pod = self.world.mirrors.pods.find
        owners = ApiOwnerLookup(self.transport, kinds=kinds, find_pod=find_pod, **more)
        return self.world.builder(config, owners)

    def _define(self, version: str, kind: str) -> None:
        if kind in BUILT_IN or kind in self._defined:
            return
        self._defined.add(kind)
        group, _, number = version.partition("/")
        define_kinds(self.transport, [CustomKind(group, number, kind, f"{kind.lower()}s", True, True)])


def terms(row: pb.PodGroup) -> str:
    """What a pod group requires, such as `3` or `1 of leader 1 + worker 3`."""
    if not row.sub_groups:
        return str(row.min_member)
    parts = " + ".join(f"{one.name} {one.min_member}" for one in row.sub_groups)
    return f"{row.min_sub_group} of {parts}" if row.HasField("min_sub_group") else parts


def groups_of(snapshot: pb.ClusterSnapshot) -> Mapping[str, str]:
    """Terms of pod groups by the names of their pods, joined by a space."""
    pods: dict[str, list[str]] = {}
    for row in snapshot.pods:
        pods.setdefault(row.pod_group, []).append(row.name)
    return {" ".join(sorted(pods[row.uid])): terms(row) for row in snapshot.pod_groups}
