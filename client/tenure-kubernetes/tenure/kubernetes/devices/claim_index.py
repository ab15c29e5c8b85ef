"""Claims by pod, pods by claim, and claims by name, updated pod by pod and claim by claim."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tenure.kubernetes.api.object_cache import ObjectCache
from tenure.kubernetes.devices.extended_resources import (
    ExtendedClaim,
    classes_by_resource,
    classes_of,
    extended_claim,
    qualified_resources,
)
from tenure.kubernetes.devices.holders import DeviceHolders
from tenure.kubernetes.devices.requests import ClaimNeeds, UnsupportedClaim, read_needs
from tenure.kubernetes.objects.device_claims import ResourceClaim
from tenure.kubernetes.objects.devices import DeviceClass
from tenure.kubernetes.objects.meta import ObjectMeta
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.rows.indexes import drop
from tenure.kubernetes.rows.pods import ENDED
from tenure.kubernetes.volumes.matching import ClaimName, name_of


class ClaimUse(NamedTuple):
    """A claim of a pod."""

    entry: str
    """Name in the pod; "": it serves extended resources of the pod, and may have to be created."""
    name: ClaimName
    """Without a name, the claim of a template is not created yet."""
    is_own: bool
    """Whether it is created for the pod alone, and must be owned by it."""


class ClaimIndex:
    """For one thread; `claim` is for all threads."""

    def __init__(self, cache: ObjectCache[ResourceClaim], scheduler_name: str) -> None:
        self._cache, self._scheduler_name = cache, scheduler_name
        self.holders = DeviceHolders()
        self.pods: dict[str, Pod] = {}
        """Pods with claims, by uid."""
        self._uses: dict[str, tuple[ClaimUse, ...]] = {}
        self._users: defaultdict[ClaimName, set[str]] = defaultdict(set)
        self._uids: dict[ClaimName, str] = {}
        self._names: dict[str, ClaimName] = {}
        self._needs: dict[str, ClaimNeeds | str] = {}
        """What claims request, or why that is not supported, by uid: the spec of a claim never changes."""
        self._touched: set[ClaimName] = set()
        """Claims whose pods changed."""
        self._explicit: Mapping[str, str] = {}
        """Classes by the resources that they name."""
        self._extended: dict[ClaimName, ExtendedClaim] = {}
        """Claims for extended resources, as they are to be created."""
        self._candidates: dict[str, Pod] = {}
        """Pods of this scheduler with resources that a class may have, by uid."""
        self.resources: Counter[tuple[str, str]] = Counter()
        """Number of pods of this scheduler with each extended resource that has a class, and its class."""

    def put(self, uid: str, pod: Pod | None) -> None:
        """Update a pod; None: it is gone."""
        for use in self._uses.pop(uid, ()):
            drop(self._users, use.name, uid)
            self._touched.add(use.name)
            if not use.entry:
                self._forget_extended(use.name)
        self.pods.pop(uid, None)
        self._candidates.pop(uid, None)
        if pod is None:
            return
        is_active = pod.spec.scheduler_name == self._scheduler_name and pod.status.phase not in ENDED
        resources = qualified_resources(pod) if is_active else ()
        if resources:
            self._candidates[uid] = pod
        uses = (*dict.fromkeys(_claims_of(pod)), *self._use_of_extended(pod, resources))
        if uses:
            self.pods[uid], self._uses[uid] = pod, uses
            for use in uses:
                self._users[use.name].add(uid)
                self._touched.add(use.name)

    def use_classes(self, classes: Iterable[DeviceClass]) -> set[str]:
        """Serve extended resources with these classes from now on; returns the uids of affected pods."""
        explicit = classes_by_resource(classes)
        if explicit == self._explicit:
            return set()
        self._explicit, candidates = explicit, dict(self._candidates)
        for uid, pod in candidates.items():
            self.put(uid, pod)
        return set(candidates)

    def named_like(self, meta: ObjectMeta) -> ResourceClaim | None:
        """The claim with the name of a claim for extended resources; None: it does not exist."""
        return self._cache.find(self._uids.get(name_of(meta), ""))

    def extended(self, name: ClaimName) -> ExtendedClaim | None:
        """The claim of this name for extended resources, as it is to be; None: it is none."""
        return self._extended.get(name)

    def extended_of(self, uid: str) -> ExtendedClaim | None:
        """The claim for extended resources of a pod, as it is to be; None: it needs none."""
        uses = self._uses.get(uid, ())
        return self._extended.get(uses[-1].name) if uses else None

    def take_changes(self) -> set[ClaimName]:
        """Names of the claims that changed since the last call, or whose pods did."""
        changed, self._touched = self._touched, set()
        for uid in self._cache.take_changes():
            claim, before = self._cache.find(uid), self._names.pop(uid, None)
            self.holders.put(uid, claim)
            if before is not None and self._uids.get(before) == uid:
                del self._uids[before]
                changed.add(before)
            if claim is None:
                self._needs.pop(uid, None)
                continue
            name = self._names[uid] = name_of(claim.metadata)
            self._uids[name] = uid
            changed.add(name)
            if uid not in self._needs:
                self._needs[uid] = _needs_of(claim)
        return changed

    def names(self) -> Iterable[ClaimName]:
        """Names of all claims, also of those that are to be created."""
        return [*self._names.values(), *self._extended]

    def claim(self, name: ClaimName) -> ResourceClaim | None:
        """The claim of this name; one for extended resources that is not created yet has no version."""
        found, wanted = self._cache.find(self._uids.get(name, "")), self._extended.get(name)
        return wanted.claim if found is None and wanted is not None else found

    def find(self, uid: str) -> ResourceClaim | None:
        """A claim by uid."""
        return self._cache.find(uid)

    def uses(self, uid: str) -> tuple[ClaimUse, ...]:
        """The claims of a pod."""
        return self._uses.get(uid, ())

    def claims(self, uid: str) -> list[ResourceClaim]:
        """The claims of a pod that exist, or are to be created for extended resources."""
        found = (self.claim(use.name) for use in self._uses.get(uid, ()))
        return [claim for claim in found if claim is not None]

    def users(self, name: ClaimName) -> frozenset[str]:
        """Uids of the pods that name a claim."""
        return frozenset(self._users.get(name, ()))

    def needs(self, claim: ResourceClaim) -> ClaimNeeds | None:
        """What a claim requests; None: it is not supported."""
        needs = self._needs.get(claim.metadata.uid)
        return needs if isinstance(needs, ClaimNeeds) else None

    def refusal(self, claim: ResourceClaim) -> str:
        """The field of a claim that is not supported; "": there is none."""
        needs = self._needs.get(claim.metadata.uid, "")
        return needs if isinstance(needs, str) else ""

    def _use_of_extended(self, pod: Pod, resources: Sequence[str]) -> Iterator[ClaimUse]:
        """The claim of a pod for extended resources that have a class."""
        classes = classes_of(pod, resources, self._explicit) if resources else {}
        wanted = extended_claim(pod, classes) if classes else None
        if wanted is not None:
            name = name_of(wanted.claim.metadata)
            self._extended[name] = wanted
            self._needs[wanted.claim.metadata.uid] = _needs_of(wanted.claim)
            self.resources.update(wanted.classes.items())
            yield ClaimUse("", name, True)

    def _forget_extended(self, name: ClaimName) -> None:
        wanted = self._extended.pop(name, None)
        if wanted is not None:
            self._needs.pop(wanted.claim.metadata.uid, None)
            self.resources -= Counter(dict(wanted.classes).items())

    def is_ours(self, uid: str) -> bool:
        """Whether a pod with claims is one of this scheduler."""
        pod = self.pods.get(uid)
        return pod is not None and pod.spec.scheduler_name == self._scheduler_name

    def is_unbound(self, uid: str) -> bool:
        """Whether a pod with claims is one of this scheduler, and on no node."""
        return self.is_ours(uid) and not self.pods[uid].spec.node_name

    def foreign_waiting(self) -> list[Pod]:
        """Pods of other schedulers with claims that are not allocated, in order."""
        found = [
            pod
            for uid, pod in self.pods.items()
            if not self.is_ours(uid) and not pod.spec.node_name and pod.status.phase not in ENDED
            if any(claim.status.allocation is None for claim in self.claims(uid))
        ]
        return sorted(found, key=lambda pod: (pod.metadata.namespace, pod.metadata.name))


def _needs_of(claim: ResourceClaim) -> ClaimNeeds | str:
    """What a claim requests, or the field that is not supported."""
    try:
        return read_needs(claim)
    except UnsupportedClaim as problem:
        return str(problem)


def _claims_of(pod: Pod) -> Iterator[ClaimUse]:
    """Claims of a pod. A template for which no claim is needed has a status without a name."""
    namespace = pod.metadata.namespace
    created = {one.name: one.resource_claim_name for one in pod.status.resource_claim_statuses}
    for one in pod.spec.resource_claims:
        if one.resource_claim_name:
            yield ClaimUse(one.name, ClaimName(namespace, one.resource_claim_name), False)
        elif created.get(one.name, "") or one.name not in created:
            yield ClaimUse(one.name, ClaimName(namespace, created.get(one.name, "")), True)
