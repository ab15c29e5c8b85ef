"""What the resource claims of pods require, updated pod by pod and claim by claim.

The adapter allocates no devices: a pod is placed when all its claims are allocated, on a node that can use
their devices.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final, NamedTuple

from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.objects.device_claims import ResourceClaim
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.observe.members import drop
from tenure.kubernetes.observe.shapes import InternedShape
from tenure.kubernetes.volumes.matching import ClaimName, name_of
from tenure.kubernetes.volumes.node_terms import AnyOf, terms_of
from tenure.kubernetes.volumes.pod_volumes import with_nodes

MAX_CONSUMERS: Final = 256
"""Maximum number of pods per claim."""


class ClaimUse(NamedTuple):
    """A claim of a pod."""

    entry: str
    """Name in the pod."""
    name: ClaimName
    """Without a name, the claim of a template is not created yet."""
    is_own: bool
    """Whether it is created for the pod alone, and must be owned by it."""


class PodClaims:
    """Claims by pod and pods by claim. For one thread; `claim` is for all threads."""

    def __init__(self, caches: ObjectCaches) -> None:
        self._caches, self._claims = caches, caches.resource_claims
        self._pods: dict[str, Pod] = {}
        """Pods with claims, by uid."""
        self._uses: dict[str, tuple[ClaimUse, ...]] = {}
        self._users: defaultdict[ClaimName, set[str]] = defaultdict(set)
        self._uids: dict[ClaimName, str] = {}
        self._names: dict[str, ClaimName] = {}

    def put(self, uid: str, pod: Pod | None) -> None:
        """Update a pod; None: it is gone."""
        for use in self._uses.pop(uid, ()):
            drop(self._users, use.name, uid)
        self._pods.pop(uid, None)
        uses = tuple(dict.fromkeys(_claims_of(pod))) if pod is not None else ()
        if pod is not None and uses:
            self._pods[uid], self._uses[uid] = pod, uses
            for use in uses:
                self._users[use.name].add(uid)

    def take_changes(self) -> set[str]:
        """Uids of the pods whose claims changed since the last call."""
        changed: set[ClaimName] = set()
        for uid in self._claims.take_changes():
            claim, before = self._claims.find(uid), self._names.pop(uid, None)
            if before is not None and self._uids.get(before) == uid:
                del self._uids[before]
                changed.add(before)
            if claim is not None:
                name = self._names[uid] = name_of(claim.metadata)
                self._uids[name] = uid
                changed.add(name)
        return {uid for name in changed for uid in self._users.get(name, ())}

    def claim(self, name: ClaimName) -> ResourceClaim | None:
        """The claim of this name."""
        return self._claims.find(self._uids.get(name, ""))

    def uses(self, uid: str) -> tuple[ClaimUse, ...]:
        """The claims of a pod."""
        return self._uses.get(uid, ())

    def constrain(self, uid: str, shaped: InternedShape) -> InternedShape:
        """The shape of a pod on nodes that can use its devices."""
        if uid not in self._pods:
            return shaped
        problems, nodes = list[str](), list[AnyOf]()
        for use in self._uses[uid]:
            problems.append(self.problem(uid, use))
            claim = self.claim(use.name)
            if claim is not None and claim.status.allocation is not None:
                nodes.append(terms_of(claim.status.allocation.node_selector))
        return with_nodes(shaped, next(filter(None, problems), ""), nodes, {})

    def problem(self, uid: str, use: ClaimUse) -> str:
        """Why a pod cannot use one of its claims now; "": it can."""
        followed = self._caches.followed_collections
        if followed and "resource_claims" not in followed:
            return f"resourceClaims[{use.entry!r}] is not supported: the API server has no resource.k8s.io/v1"
        if not use.name.name:
            return f"resource claim for {use.entry!r} is not created yet"
        claim, about = self.claim(use.name), f"resource claim {use.name.name!r}"
        if claim is None:
            return f"{about} does not exist"
        if use.is_own and all(owner.uid != uid for owner in claim.metadata.owner_references):
            return f"{about} was not created for this pod"
        if claim.metadata.deletion_timestamp is not None:
            return f"{about} is terminating"
        allocation = claim.status.allocation
        if allocation is None:
            return f"{about} has no status.allocation, and the adapter allocates no devices"
        if any(device.binding_conditions for device in allocation.devices.results):
            return f"{about} has status.allocation.devices.results.bindingConditions, which is not supported"
        consumers = claim.status.reserved_for
        if len(consumers) >= MAX_CONSUMERS and all(one.uid != uid for one in consumers):
            return f"{about} is reserved for {MAX_CONSUMERS} pods, the maximum"
        return ""


def _claims_of(pod: Pod) -> Iterator[ClaimUse]:
    """Claims of a pod. A template for which no claim is needed has a status without a name."""
    namespace = pod.metadata.namespace
    created = {one.name: one.resource_claim_name for one in pod.status.resource_claim_statuses}
    for one in pod.spec.resource_claims:
        if one.resource_claim_name:
            yield ClaimUse(one.name, ClaimName(namespace, one.resource_claim_name), False)
        elif created.get(one.name, "") or one.name not in created:
            yield ClaimUse(one.name, ClaimName(namespace, created.get(one.name, "")), True)
