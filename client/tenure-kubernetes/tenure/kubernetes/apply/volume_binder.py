"""Binds volumes before pods: the protocol of Kubernetes for claims that wait for a pod.

    for each claim of the pods of a group
        bound                    its volume must be usable on the node
        a free volume matches    the volume names the claim; the volume controller binds them
        else                     the annotation `selected-node` of the claim; its provisioner makes a volume,
                                 or removes the annotation if it cannot
    all claims of the group are bound: its pods are bound

Nothing is written for a group one of whose claims can have no volume. Annotations stay if the group is given
up, as with kube-scheduler: a provisioner may be making the volume, so the next decision uses the same node.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from tenure.integration.applier import CallPool
from tenure.integration.ports import ApplyResult, failed, precondition_failed
from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.api.transport import MERGE_PATCH, LeaderTransport
from tenure.kubernetes.apply.pod_writes import MANAGER, send_once
from tenure.kubernetes.limits.volume_waits import LIMIT_SECONDS
from tenure.kubernetes.objects.meta import ObjectMeta
from tenure.kubernetes.objects.node import Node
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.objects.storage import PersistentVolume, VolumeClaim
from tenure.kubernetes.rows.row_table import readable
from tenure.kubernetes.volumes.matching import SELECTED_NODE, is_bound, nodes_of, storage_amount
from tenure.kubernetes.volumes.node_terms import matches
from tenure.kubernetes.volumes.pod_volumes import ClaimUse, PodVolumes
from tenure.v1.decision_pb2 import Bind, Decision

_BOUND_BY: Final = "pv.kubernetes.io/bound-by-controller"


class _Request(NamedTuple):
    """A patch that requests a volume for a claim."""

    path: str
    patch: Mapping[str, Any]
    target: ObjectMeta
    """The claim or the volume that is changed."""
    claim: str
    """Uid of the claim."""
    node: str


class _Sent(NamedTuple):
    """A request that was sent, until the object cache shows its effect."""

    target: str
    """Uid of the changed claim or volume."""
    node: str
    version: str
    """Version of the changed object before."""


class _NoVolume(Exception):
    """A claim cannot have its volume on the node of its pod."""

    def __init__(self, result: ApplyResult, *, avoids_node: bool = False) -> None:
        super().__init__(result.detail)
        self.result, self.avoids_node = result, avoids_node


class VolumeBinder:
    """Implements BindingPreparer. `now` returns seconds since 1970."""

    def __init__(
        self,
        transport: LeaderTransport,
        caches: ObjectCaches,
        volumes: PodVolumes,
        now: Callable[[], float],
    ) -> None:
        self._transport, self._caches, self._volumes, self._now = transport, caches, volumes, now
        self._catalog, self._waits = volumes.catalog, caches.volume_waits
        self._sent: dict[str, _Sent] = {}
        """By uid of the claim."""
        self._given: dict[str, str] = {}
        """Version of each free volume that was given to a claim, before that; by uid."""
        self._pool = CallPool("tenure-volumes")

    def close(self) -> None:
        """Wait for running calls; later ones do not start."""
        self._pool.close()

    def prepare(self, groups: Sequence[Sequence[Decision]]) -> Mapping[str, ApplyResult | None]:
        """Request the volumes of pods. Raises LeaseLost."""
        if not any(self._volumes.uses(decision.bind.pod) for group in groups for decision in group):
            self._waits.keep_waits(())
            return {}
        self._forget_done()
        nodes = {node.metadata.name: node for node in self._caches.nodes.all()}
        held: dict[str, ApplyResult | None] = {}
        requests: list[tuple[Decision, _Request]] = []
        for group in groups:
            results, of_group = self._plan(group, nodes)
            held.update(results)
            requests.extend(of_group)
        answers = self._pool.all(lambda one: self._send(one[1]), requests)
        for (decision, _), answer in zip(requests, answers, strict=True):
            if answer is not None:
                held[decision.id] = answer
                if not answer.is_retryable:
                    self._caches.binding_backoff.refuse(decision.bind.pod, readable(answer.detail))
        waiting = (one.bind.pod for group in groups for one in group if held.get(one.id, one) is None)
        self._waits.keep_waits(frozenset(waiting))
        return held

    def _plan(
        self, group: Sequence[Decision], nodes: Mapping[str, Node]
    ) -> tuple[dict[str, ApplyResult | None], list[tuple[Decision, _Request]]]:
        """Results of decisions that must wait, or None, and what to request for them."""
        held: dict[str, ApplyResult | None] = {}
        requests: list[tuple[Decision, _Request]] = []
        taken: set[str] = set()
        of_group = frozenset(decision.bind.node for decision in group)
        for decision in group:
            try:
                reasons = list(self._requests(decision.bind, of_group, nodes, taken))
                wait = next((reason for reason, _ in reasons if reason), "")
                if wait and self._waits.wait(decision.bind.pod, decision.bind.node, wait, self._now()):
                    late = f"{wait}, for more than {LIMIT_SECONDS:.0f} seconds"
                    raise _NoVolume(failed(late), avoids_node=True)
            except _NoVolume as problem:
                held[decision.id] = problem.result
                if problem.avoids_node:
                    self._waits.avoid(decision.bind.pod, decision.bind.node)
                continue
            if wait:
                held[decision.id] = None
                requests.extend((decision, request) for _, request in reasons if request is not None)
        return held, [] if any(result is not None for result in held.values()) else requests

    def _requests(
        self, bind: Bind, of_group: Collection[str], nodes: Mapping[str, Node], taken: set[str]
    ) -> Iterator[tuple[str, _Request | None]]:
        """For each claim of a pod why it waits, "" if it does not, and the request to send.

        `taken` are uids of claims and volumes of the group that have a request. Raises _NoVolume.
        """
        pod, node = self._caches.pods.find(bind.pod), nodes.get(bind.node)
        if pod is None or pod.spec.node_name or node is None:
            return
        found: list[tuple[int, ClaimUse, VolumeClaim]] = []
        for use in self._volumes.uses(bind.pod):
            claim = self._catalog.claim(use.name)
            problem = self._volumes.claim_problem(pod, use)
            if problem or claim is None:
                raise _NoVolume(precondition_failed(problem))
            found.append((storage_amount(claim.spec.resources.requests), use, claim))
        for _, _, claim in sorted(found, key=lambda one: one[:2]):
            yield self._request(pod, claim, node, of_group, nodes, taken)

    def _request(
        self,
        pod: Pod,
        claim: VolumeClaim,
        node: Node,
        of_group: Collection[str],
        nodes: Mapping[str, Node],
        taken: set[str],
    ) -> tuple[str, _Request | None]:
        """Why a claim waits, "" if it does not, and the request to send. Raises _NoVolume."""
        about, name = f"volume claim {claim.metadata.name!r}", node.metadata.name
        bound = self._catalog.volume(claim.spec.volume_name) if is_bound(claim) else None
        volume = bound or self._catalog.volume_for(claim)
        if volume is not None:
            if not _is_usable(volume, node):
                used = f"volume {volume.metadata.name!r} of {about} cannot be used on node {name}"
                raise _NoVolume(precondition_failed(used))
            return ("" if bound else f"{about} is not bound to volume {volume.metadata.name!r} yet"), None
        selected = claim.metadata.annotations.get(SELECTED_NODE, "")
        if selected in nodes:
            if selected != name and selected not in of_group:
                other = f"a volume of {about} is being created for node {selected}"
                raise _NoVolume(precondition_failed(other))
            return f"{about} has no volume on node {selected} yet", None
        waits = f"{about} has no volume on node {name} yet"
        if self._is_sent(claim, waits) or claim.metadata.uid in taken:
            return waits, None
        taken.add(claim.metadata.uid)
        for free in self._catalog.free_volumes(claim):
            if free.metadata.uid not in taken and not self._is_taken(free) and _is_usable(free, node):
                taken.add(free.metadata.uid)
                return waits, _name_claim(free, claim, name)
        if matches(self._catalog.provisioning_nodes(claim), name, node.metadata.labels):
            return waits, _select_node(claim, name)
        none = f"{about} can have no volume on node {name}"
        raise _NoVolume(failed(none), avoids_node=True)

    def _is_sent(self, claim: VolumeClaim, waits: str) -> bool:
        """Whether a request for a claim is not visible yet. Raises _NoVolume if it was refused.

        The request changed the cached version of the claim or volume. A later version without the request is
        a refusal: the provisioner removed the annotation, or the volume controller the claim.
        """
        uid = claim.metadata.uid
        sent = self._sent.get(uid)
        if sent is None:
            return False
        cached = claim if sent.target == uid else self._caches.volumes.find(sent.target)
        if cached is not None and cached.metadata.resource_version == sent.version:
            return True
        self._forget(uid)
        refused = f"{waits}: the request for node {sent.node} was refused"
        raise _NoVolume(failed(refused), avoids_node=True)

    def _forget_done(self) -> None:
        """Forget requests whose claims are bound or gone."""
        for uid in list(self._sent):
            claim = self._caches.volume_claims.find(uid)
            if claim is None or is_bound(claim):
                self._forget(uid)

    def _forget(self, claim: str) -> None:
        self._given.pop(self._sent.pop(claim).target, None)

    def _is_taken(self, volume: PersistentVolume) -> bool:
        """Whether a free volume was given to a claim just now."""
        return self._given.get(volume.metadata.uid) == volume.metadata.resource_version

    def _send(self, request: _Request) -> ApplyResult | None:
        """Send a request once; None: it was sent."""
        target, query = request.target, {"fieldManager": MANAGER}
        result = send_once(lambda: self._transport.patch(request.path, request.patch, MERGE_PATCH, query))
        if result is None:
            self._sent[request.claim] = _Sent(target.uid, request.node, target.resource_version)
            if target.uid != request.claim:
                self._given[target.uid] = target.resource_version
        return result


def _is_usable(volume: PersistentVolume, node: Node) -> bool:
    return matches(nodes_of(volume), node.metadata.name, node.metadata.labels)


def _select_node(claim: VolumeClaim, node: str) -> _Request:
    """Request a new volume from the provisioner of the claim."""
    meta = claim.metadata
    namespace, name = quote(meta.namespace, safe=""), quote(meta.name, safe="")
    path = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}"
    patch = {"metadata": {**_version(meta), "annotations": {SELECTED_NODE: node}}}
    return _Request(path, patch, meta, meta.uid, node)


def _name_claim(volume: PersistentVolume, claim: VolumeClaim, node: str) -> _Request:
    """Give a free volume to a claim."""
    meta, of_claim = volume.metadata, claim.metadata
    reference = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": of_claim.namespace,
        "name": of_claim.name,
        "uid": of_claim.uid,
    }
    patch = {
        "metadata": {**_version(meta), "annotations": {_BOUND_BY: "yes"}},
        "spec": {"claimRef": reference},
    }
    return _Request(f"/api/v1/persistentvolumes/{quote(meta.name, safe='')}", patch, meta, of_claim.uid, node)


def _version(meta: ObjectMeta) -> dict[str, str]:
    """The object that was read, unchanged since."""
    return {"uid": meta.uid, "resourceVersion": meta.resource_version}
