"""Pods and their pod groups, updated pod by pod."""

from collections import defaultdict
from collections.abc import Iterable, Set
from typing import Final, NamedTuple

import msgspec
from tenure.kubernetes.limits.missing_pod_groups import SECONDS, MissingPodGroups
from tenure.kubernetes.objects import names
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.observe.derived_pod_groups import Origin, names_queue, origin_of
from tenure.kubernetes.observe.native_pod_groups import missing
from tenure.kubernetes.observe.pod_group_names import (
    KAI,
    NATIVE,
    VOLCANO,
    PodGroupNames,
    Reference,
    reference_of,
)
from tenure.kubernetes.observe.pod_group_rows import task_of
from tenure.kubernetes.observe.refused_inputs import refused_input
from tenure.kubernetes.observe.snapshot_scope import SnapshotScope
from tenure.kubernetes.observe.wishes import skips_grouping
from tenure.kubernetes.owners.chains import OwnerLookup
from tenure.kubernetes.rows.gpus import ANNOTATIONS
from tenure.kubernetes.rows.indexes import drop
from tenure.kubernetes.rows.pods import is_running, uses_resources
from tenure.kubernetes.rows.shapes import InternedShape, ShapeInterner

_SKIPPED: Final = (
    f"no pod group is derived for it, because it or an owner has {names.SKIP_POD_GROUPER}: name one in its "
    f"annotation {names.KAI_POD_GROUP}"
)


class Member(NamedTuple):
    """A pod with its pod group."""

    pod: Pod
    pod_group: str
    """Uid of its pod group; "": none, or unknown."""
    origin: Origin | None
    """Origin of a derived pod group."""
    sub_group: str
    reference: Reference | None
    """The pod group that it names."""
    shape_key: bytes
    interned_shape: InternedShape
    problem: str
    """Why a pod of this scheduler is not in the pod group that it names, or in none; "": it is.

    With a derived pod group, it waits for the one that it names.
    """
    ignored: str = ""
    """What was changed on it while it runs, and does not count; "": nothing."""
    is_reported: bool = False
    """Whether a condition of the pod says the problem while it waits: only its owner can end it."""
    names_now: Reference | None = None
    """What it names while it stays in the pod group that it named before; None: the same."""

    @property
    def names(self) -> set[Reference]:
        """The pod groups whose creation or end may change its pod group."""
        return {name for name in (self.reference, self.names_now) if name is not None}


class Members:
    """All pods of the cluster, by uid, by pod group, and by the pod group that they name."""

    def __init__(self, names: PodGroupNames, config: SnapshotScope, owners: OwnerLookup) -> None:
        self._by_name, self._config, self._owners = names, config, owners
        self._shapes = ShapeInterner()
        self.by_uid: dict[str, Member] = {}
        self._of_group: defaultdict[str, set[str]] = defaultdict(set)
        self._naming: defaultdict[Reference, set[str]] = defaultdict(set)
        self.pending: set[str] = set()
        """Pods whose owners could not be looked up yet."""
        self.missing = MissingPodGroups()
        """Pods on nodes that name unknown pod groups."""
        self.undetermined: set[str] = set()
        """Pods with incompletely known owners."""

    def put(self, uid: str, pod: Pod | None) -> set[str]:
        """Update a pod; None: it is gone. Returns the uids of the affected pod groups."""
        before = self.by_uid.pop(uid, None)
        concerned = self._remove(uid, before) if before else set()
        self.pending.discard(uid)
        self.undetermined.discard(uid)
        if pod is not None:
            counted = pod if before is None else _with_share_of(pod, before.pod)
            member = self._member(counted, before)
            if counted is not pod:
                member = member._replace(ignored="its share of a GPU was changed while it runs")
            self.by_uid[uid] = member
            for name in member.names:
                self._naming[name].add(uid)
            if member.pod_group:
                self._of_group[member.pod_group].add(uid)
                concerned.add(member.pod_group)
        if pod is None or not self.by_uid[uid].problem:
            self.missing.forget(uid)
        return concerned

    def naming(self, references: Iterable[Reference]) -> set[str]:
        """Uids of the pods that name one of these pod groups."""
        return {uid for reference in references for uid in self._naming.get(reference, ())}

    def is_foreign(self, reference: Reference | None) -> bool:
        """Whether pods name a pod group, and all of them belong to other schedulers."""
        naming = self._naming.get(reference, ()) if reference is not None else ()
        own = self._config.scheduler_name
        return bool(naming) and all(self.by_uid[uid].pod.spec.scheduler_name != own for uid in naming)

    def of_group(self, pod_group: str) -> list[str]:
        """Uids of the pods of a pod group, in order."""
        return sorted(self._of_group.get(pod_group, ()))

    def with_extended_requests(self) -> set[str]:
        """Uids of the pods that request extended resources."""
        return {uid for uid, member in self.by_uid.items() if member.interned_shape.row.requests.extended}

    def with_gpus(self) -> set[str]:
        """Uids of the pods that request GPUs without a claim."""
        return {uid for uid, member in self.by_uid.items() if member.interned_shape.row.HasField("gpu")}

    def groups_of(self, uids: Iterable[str]) -> set[str]:
        """Uids of the pod groups of pods."""
        members = (self.by_uid.get(uid) for uid in uids)
        return {member.pod_group for member in members if member is not None and member.pod_group}

    def with_owners(self, uids: Set[str]) -> set[str]:
        """Uids of the pods whose pod groups are derived from one of these owners."""
        return {
            uid
            for uid, member in self.by_uid.items()
            if member.origin is not None and any(one.metadata.uid in uids for one in member.origin.chain)
        }

    def pod_groups(self) -> list[str]:
        """Uids of the pod groups that have pods."""
        return list(self._of_group)

    def _remove(self, uid: str, member: Member) -> set[str]:
        self._shapes.release(member.shape_key)
        for name in member.names:
            drop(self._naming, name, uid)
        if not member.pod_group:
            return set()
        drop(self._of_group, member.pod_group, uid)
        return {member.pod_group}

    def _member(self, pod: Pod, before: Member | None) -> Member:
        key, shaped = self._shapes.acquire(pod)
        reference = reference_of(pod)
        if before is not None and self._stays(pod, reference, before):
            staying = self._staying(pod, reference, before)
            return staying._replace(shape_key=key, interned_shape=shaped)
        found = _Grouped("")
        if pod.spec.scheduler_name == self._config.scheduler_name:
            found = self._group_of(pod, reference)
            if found.pod_group and not found.problem and not uses_resources(pod):
                found = found._replace(problem=refused_input(pod.metadata, found.origin))
        pod_group, origin, problem, is_reported = found
        sub_group = pod.metadata.labels.get(names.SUB_GROUP, "")
        if origin is not None:
            sub_group = origin.role(pod)
        elif reference is not None and reference.api != KAI:
            sub_group = ""
        return Member(
            pod, pod_group, origin, sub_group, reference, key, shaped, problem, is_reported=is_reported
        )

    def _staying(self, pod: Pod, reference: Reference | None, before: Member) -> Member:
        """A pod that stays in its object, or in the pod group of its owners, which it follows."""
        pod_group, origin, sub_group = before.pod_group, before.origin, before.sub_group
        if origin is not None:
            origin = origin_of(pod, self._owners) or origin
            pod_group, sub_group = origin.uid, origin.role(pod)
            if origin.is_retried:
                self.undetermined.add(pod.metadata.uid)
        ignored = "" if reference == before.reference else "it names another pod group now"
        if origin is not None and not (ignored or self._config.has(pod.metadata.labels)):
            ignored = "it names another node pool now"
        return before._replace(
            pod=pod,
            pod_group=pod_group,
            origin=origin,
            sub_group=sub_group,
            ignored=ignored,
            names_now=reference,
        )

    def _stays(self, pod: Pod, reference: Reference | None, before: Member) -> bool:
        """Whether a pod on a node stays in the pod group that it was in, as it names none that takes it.

        Any user may delete a pod group, or name another one on a pod, or none. One that terminates stays
        until it has ended, so that what it holds is known to be released.
        """
        was_there = bool(before.pod_group) and uses_resources(pod)
        if not was_there or pod.spec.scheduler_name != self._config.scheduler_name:
            return False
        if reference is None:
            return before.origin is None or not self._config.has(pod.metadata.labels)
        return self._by_name.uid_of(reference) != before.pod_group and not self._by_name.takes(reference)

    def _out_of_reach(self, pod: Pod, reference: Reference) -> str:
        """How long a pod on a node is out of reach, as nothing is known of its pod group; "": it is not."""
        if not self._by_name.follows(reference.api):
            return "nothing evicts this pod, as pod groups of its kind are not observed"
        if self.missing.is_out_of_reach(pod.metadata.uid):
            return f"nothing evicts this pod for {SECONDS / 60:g} minutes: create the pod group again"
        return ""

    def _group_of(self, pod: Pod, reference: Reference | None) -> "_Grouped":
        """The pod group of a pod.

        While nothing is known of a pod group, pods on nodes that name it are out of reach for a while, then
        in derived ones, so they count in a queue. Others wait, those for a pod group of Kubernetes itself in
        derived ones, too.
        """
        uid, problem = self._by_name.uid_of(reference) if reference is not None else None, ""
        if uid is None and uses_resources(pod):
            uid = self._by_name.uid_of_gone(reference) or None
        if uid is not None:
            return _Grouped(uid)
        workload = pod.spec.workload_ref
        if reference is not None and reference.api != NATIVE:
            problem = f"pod group {reference.name!r} does not exist"
            if not uses_resources(pod) or pod.metadata.deletion_timestamp is not None:
                return _Grouped("", None, problem)
        elif reference is not None:
            problem = missing(reference.name, is_served=self._by_name.reads_native)
        elif workload is not None:
            problem = missing(workload.name, is_served=False)
        elif not self._config.derive:
            return _Grouped("", None, "it has no pod group")
        if not self._config.has(pod.metadata.labels):
            return _Grouped("")
        if reference is not None and is_running(pod) and (until := self._out_of_reach(pod, reference)):
            return _Grouped("", None, f"{problem}: {until}")
        origin = origin_of(pod, self._owners)
        if origin is None:
            return self._without_owner(pod)
        if origin.is_retried:
            self.undetermined.add(pod.metadata.uid)
        if not problem and not uses_resources(pod) and (wait := self._wait(pod, origin)):
            return _Grouped("", origin, wait, is_reported=True)
        return _Grouped(origin.uid, origin, problem)

    def _without_owner(self, pod: Pod) -> "_Grouped":
        """A pod whose owner is not available for now."""
        self.pending.add(pod.metadata.uid)
        owner = pod.metadata.owner()
        unread = self._owners.unread(pod.metadata.namespace, owner) if owner is not None else ""
        return _Grouped("", None, unread or "its owner cannot be looked up", is_reported=bool(unread))

    def _wait(self, pod: Pod, origin: Origin) -> str:
        """Why a pod that is not on a node gets no derived pod group; "": it gets one.

        One on a node has one whatever is written later: it counts in a queue.
        """
        if any(map(skips_grouping, (pod.metadata, *(owner.metadata for owner in origin.chain)))):
            return _SKIPPED
        if origin.unread and not names_queue(origin, pod, self._config.node_pool):
            return f"its queue is unknown, as {origin.unread}; or name the queue on the pod"
        return ""


class _Grouped(NamedTuple):
    """The pod group of a pod: its uid, its origin if it is derived, and the problem."""

    pod_group: str
    origin: Origin | None = None
    problem: str = ""
    is_reported: bool = False


def _with_share_of(pod: Pod, before: Pod) -> Pod:
    """The pod with the share of a GPU that it was placed with, whatever is written later."""
    if not (uses_resources(before) and uses_resources(pod)):
        return pod
    annotations, had = pod.metadata.annotations, before.metadata.annotations
    if all(annotations.get(key) == had.get(key) for key in ANNOTATIONS):
        return pod
    others = {key: text for key, text in annotations.items() if key not in ANNOTATIONS}
    share = {key: had[key] for key in ANNOTATIONS if key in had}
    metadata = msgspec.structs.replace(pod.metadata, annotations={**others, **share})
    return msgspec.structs.replace(pod, metadata=metadata)


def sub_group_of(member: Member, has_sub_groups: bool) -> str:
    """Subgroup of a pod. Tasks of Volcano, and roles of owners, are subgroups if they have minimums."""
    if member.reference is not None and member.reference.api == VOLCANO:
        return task_of(member.pod).lower() if has_sub_groups else ""
    if member.origin is not None and not has_sub_groups:
        return ""
    return member.sub_group
