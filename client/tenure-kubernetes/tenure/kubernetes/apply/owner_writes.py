"""Deletes and suspends owners of evicted pods (semantics R14.34).

The owner is the one that the pod group stands for: the highest of a chain below owners that create workloads
of their own, such as CronJobs. An owner whose pods are pod groups of their own, such as a Deployment, is
never touched: its other pods were not evicted.
"""

import threading
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec
from tenure.integration.ports import ApplyResult, failed
from tenure.kubernetes.api.api_errors import NotFound
from tenure.kubernetes.api.transport import MERGE_PATCH, Transport, require_leadership
from tenure.kubernetes.apply.pod_writes import MANAGER, send_once
from tenure.kubernetes.objects.meta import Object, OwnerReference
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.owners.kinds import Grouping, OwnerKind, OwnerKinds
from tenure.kubernetes.owners.lookup import MAX_LEVELS, read_resources, version_path
from tenure.v1 import snapshot_pb2 as pb

_OBJECTS: Final = msgspec.json.Decoder(Object)
_ALONE: Final = (Grouping.POD, Grouping.BELOW)


class _Found(NamedTuple):
    """An owner at the API server."""

    reference: OwnerReference
    kind: OwnerKind | None
    path: str

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self.reference.kind} {self.reference.name}"


class OwnerWriter:
    """For several threads. Checks `may_act` before each write."""

    def __init__(self, transport: Transport, kinds: OwnerKinds, may_act: Callable[[], bool]) -> None:
        self._transport, self._kinds, self._is_leader = transport, kinds, may_act
        self._plurals: dict[str, dict[str, str]] = {}
        """Names of collections by path of their version and by kind."""
        self._changing = threading.Lock()

    def end(self, pod: Pod, fate: pb.Fate) -> ApplyResult | None:
        """Delete or suspend the owner of an evicted pod; None: done, or a pod without owner is to be deleted.

        Other results say why not, for the owner of the workload. Raises ApiError and LeaseLost.
        """
        reference = pod.metadata.owner()
        if reference is None:
            return None if fate == pb.FATE_DELETE else _refused("it has no owner that can be suspended")
        owner = self._top(pod.metadata.namespace, reference)
        if owner is None:
            return None
        if owner.kind is None or owner.kind.pod_group in _ALONE:
            return _refused(f"{owner.name} is of a kind whose pods are not one workload")
        if fate == pb.FATE_DELETE:
            return self._send(lambda: self._delete(owner))
        if not owner.kind.suspend:
            return _refused(f"{owner.name} cannot be suspended: the table of kinds names no field for it")
        return self._send(lambda: self._suspend(owner, owner.kind.suspend if owner.kind else ""))

    def _send(self, call: Callable[[], object]) -> ApplyResult | None:
        with require_leadership(self._is_leader):
            return send_once(call)

    def _delete(self, owner: _Found) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Background",
            "preconditions": {"uid": owner.reference.uid},
        }
        try:
            self._transport.delete(owner.path, body)
        except NotFound:
            return

    def _suspend(self, owner: _Found, field: str) -> None:
        value: Any = True
        for key in reversed(field.split(".")):
            value = {key: value}
        body = {"metadata": {"uid": owner.reference.uid}, **value}
        self._transport.patch(owner.path, body, MERGE_PATCH, {"fieldManager": MANAGER})

    def _top(self, namespace: str, reference: OwnerReference) -> _Found | None:
        """The owner that the pod group stands for; None: it is gone. Raises ApiError."""
        found: _Found | None = None
        for _ in range(MAX_LEVELS):
            kind = self._kinds.of(reference.api_version, reference.kind)
            if found is not None and kind is not None and kind.pod_group is Grouping.BELOW:
                break
            path = self._path(namespace, reference)
            if path is None:
                break
            try:
                there = _OBJECTS.decode(self._transport.get(path)).metadata
            except NotFound:
                break
            if there.uid != reference.uid:
                break
            if found is None or kind is not None:
                found = _Found(reference, kind, path)
            above = there.owner()
            if above is None:
                break
            reference = above
        return found

    def _path(self, namespace: str, reference: OwnerReference) -> str | None:
        """Path of an owner; None: it has no name that an API server serves."""
        base = version_path(reference)
        if not base:
            return None
        with self._changing:
            if reference.kind not in self._plurals.get(base, {}):
                served = read_resources(self._transport, base).values()
                self._plurals[base] = {one.kind: one.name for one in served if one.namespaced}
            plural = self._plurals[base].get(reference.kind)
        return plural and f"{base}/namespaces/{namespace}/{plural}/{reference.name}"


def _refused(detail: str) -> ApplyResult:
    return failed(detail)
