"""How pods name the objects of pod groups, and which object each name means.

A deleted object keeps its name while pods on nodes are in it: any user may delete one. A running pod joins
only an object that can be read and is of this node pool.
"""

from typing import Any, Final, NamedTuple

from tenure.kubernetes.api.object_cache import ObjectCache
from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.objects import names
from tenure.kubernetes.objects.meta import POD_GROUP, ObjectReference
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.observe.snapshot_scope import SnapshotScope

KAI: Final = "kai"
VOLCANO: Final = "volcano"
NATIVE: Final = "native"
_VERSIONS: Final = {KAI: "scheduling.run.ai/v2alpha2", VOLCANO: "scheduling.volcano.sh/v1beta1"}


class Reference(NamedTuple):
    """Reference of a pod to its pod group."""

    api: str
    namespace: str
    name: str


def reference_of(pod: Pod) -> Reference | None:
    """The pod group that a pod names, or None."""
    meta = pod.metadata
    if name := meta.annotations.get(names.KAI_POD_GROUP):
        return Reference(KAI, meta.namespace, name)
    for key in names.VOLCANO_POD_GROUPS:
        if name := meta.annotations.get(key):
            return Reference(VOLCANO, meta.namespace, name)
    group = pod.spec.scheduling_group
    return Reference(NATIVE, meta.namespace, group.pod_group_name) if group is not None else None


class PodGroupNames:
    """Names and uids of the objects, of those that were deleted, too."""

    def __init__(self, caches: ObjectCaches, config: SnapshotScope) -> None:
        self._caches, self._config = caches, config
        self._references: dict[str, Reference] = {}
        """Objects, by uid."""
        self._uids: dict[Reference, str] = {}
        self._gone: dict[str, Reference] = {}
        """Deleted objects, by uid, while pods on nodes are in them."""
        self._gone_uids: dict[Reference, str] = {}
        self._watched: set[Reference] = set()
        """Objects that running pods name and may not join as they are now."""

    def take_changes(self) -> tuple[set[str], set[Reference]]:
        """Uids of created, changed and deleted objects, and names that refer to other objects than before."""
        uids: set[str] = set()
        moved: set[Reference] = set()
        caches: tuple[tuple[str, ObjectCache[Any]], ...] = (
            (KAI, self._caches.kai_pod_groups),
            (VOLCANO, self._caches.volcano_pod_groups),
            (NATIVE, self._caches.native_pod_groups),
        )
        for api, cache in caches:
            changed = cache.take_changes()
            found = {uid: cache.find(uid) or cache.unreadable(uid) for uid in changed}
            for uid, item in sorted(found.items(), key=lambda one: one[1] is not None):
                meta = item.metadata if item else None
                if meta is not None:
                    self.forget_gone(uid)
                elif (name := self._references.get(uid)) is not None:
                    self._gone[uid], self._gone_uids[name] = name, uid
                moved |= self._name(uid, Reference(api, meta.namespace, meta.name) if meta else None)
            uids |= changed
        moved |= self._watched & {self._references[uid] for uid in uids if uid in self._references}
        self._watched -= moved
        return uids, moved

    def uid_of(self, reference: Reference) -> str | None:
        """Uid of the named pod group, or None."""
        return self._uids.get(reference)

    def uid_of_gone(self, reference: Reference | None) -> str:
        """Uid of the last one of this name, if it was deleted while pods on nodes are in it; else ""."""
        return self._gone_uids.get(reference, "") if reference is not None else ""

    def follows(self, api: str) -> bool:
        """Whether all pod groups of an API are observed.

        There are none where the cluster does not have its queues either, or where the adapter is not to use
        the API.
        """
        followed = self._caches.followed_collections
        return f"{api}_pod_groups" in followed or f"{api}_queues" not in followed

    def takes(self, reference: Reference) -> bool:
        """Whether a running pod may join a named pod group: it can be read, and is of this node pool.

        If not, its name is among those that moved once the object changes.
        """
        uid = self._uids.get(reference)
        if uid is None:
            return False
        item = self._caches.pod_group(uid)
        if item is not None and (reference.api == NATIVE or self._config.has(item.metadata.labels)):
            return True
        self._watched.add(reference)
        return False

    def reference(self, uid: str) -> Reference | None:
        """How pods name a pod group; None: it is derived."""
        return self._references.get(uid)

    def title(self, uid: str) -> str:
        """A pod group as messages name it."""
        name = self._references.get(uid) or self._gone.get(uid)
        return f"derived pod group {uid}" if name is None else f"PodGroup {name.namespace}/{name.name}"

    def subject(self, uid: str) -> ObjectReference | None:
        """The object of a pod group; None: it is derived, or gone."""
        reference = self._references.get(uid)
        if reference is None:
            return None
        version = _VERSIONS.get(reference.api) or self._caches.native_version
        return ObjectReference(version, POD_GROUP, reference.namespace, reference.name, uid)

    @property
    def reads_native(self) -> bool:
        """Whether pod groups of `scheduling.k8s.io` are observed."""
        return bool(self._caches.native_version)

    def objects(self) -> list[str]:
        """Uids of all pod group objects."""
        return list(self._references)

    def name_of_gone(self, uid: str) -> Reference | None:
        """How pods name a deleted pod group; None: it exists, or is derived."""
        return self._gone.get(uid)

    def forget_gone(self, uid: str) -> None:
        """Drop the name of a deleted pod group: its last pod has ended, or the object is there again."""
        name = self._gone.pop(uid, None)
        if name is not None and self._gone_uids.get(name) == uid:
            del self._gone_uids[name]

    def _name(self, uid: str, now: Reference | None) -> set[Reference]:
        """Update the name of an object; None: it is gone. Returns names that changed their meaning."""
        before = self._references.get(uid)
        if before == now:
            return set()
        moved = set()
        if before is not None:
            del self._references[uid]
            if self._uids.get(before) == uid:
                del self._uids[before]
                moved.add(before)
        if now is not None:
            self._references[uid], self._uids[now] = now, uid
            moved.add(now)
        return moved
