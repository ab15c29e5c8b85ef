"""All pod groups, whatever they are made from: which there are, and the row of each."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from tenure.client.kubernetes.objects.pod import Pod
from tenure.client.kubernetes.observe import names
from tenure.client.kubernetes.observe.config import PictureConfig
from tenure.client.kubernetes.observe.derived import Origin, all_ended, derived_row
from tenure.client.kubernetes.observe.kept import note_start
from tenure.client.kubernetes.observe.mirrors import Mirrors
from tenure.client.kubernetes.observe.podgroups import (
    Levels,
    Unusable,
    kai_pod_group_row,
    volcano_pod_group_row,
)
from tenure.client.kubernetes.observe.pods import ENDED
from tenure.client.kubernetes.observe.priorities import Priorities
from tenure.v1 import snapshot_pb2 as pb

KAI: Final = "kai"
VOLCANO: Final = "volcano"
_VERSIONS: Final = {KAI: "scheduling.run.ai/v2alpha2", VOLCANO: "scheduling.volcano.sh/v1beta1"}


class Reference(NamedTuple):
    """How a pod refers to its pod group."""

    api: str
    namespace: str
    name: str


class Subject(NamedTuple):
    """The object that carries the annotations and conditions of a pod group."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


class Surroundings(NamedTuple):
    """What the rows of all pod groups depend on."""

    priorities: Priorities
    levels: Levels


def reference_of(pod: Pod) -> Reference | None:
    """The pod group that a pod names; None: none."""
    meta = pod.metadata
    if name := meta.annotations.get(names.KAI_POD_GROUP):
        return Reference(KAI, meta.namespace, name)
    for key in names.VOLCANO_POD_GROUPS:
        if name := meta.annotations.get(key):
            return Reference(VOLCANO, meta.namespace, name)
    return None


class Groups:
    """Pod groups by uid. Those that are objects are read from the mirrors, the others from their pods."""

    def __init__(self, mirrors: Mirrors, config: PictureConfig) -> None:
        self._mirrors, self._config = mirrors, config
        self._references: dict[str, Reference] = {}
        """Of pod groups that are objects, by uid."""
        self._uids: dict[Reference, str] = {}

    def take_changes(self) -> tuple[set[str], set[Reference]]:
        """Uids of objects that are new, changed or gone, and names that mean others than before."""
        uids: set[str] = set()
        moved: set[Reference] = set()
        for api, mirror in ((KAI, self._mirrors.kai_pod_groups), (VOLCANO, self._mirrors.volcano_pod_groups)):
            changed = mirror.take_changes()
            for uid in sorted(changed, key=lambda uid: mirror.find(uid) is not None):
                item = mirror.find(uid)
                meta = item.metadata if item else None
                moved |= self._name(uid, Reference(api, meta.namespace, meta.name) if meta else None)
            uids |= changed
        return uids, moved

    def uid_of(self, reference: Reference) -> str | None:
        """Which pod group is meant; None: there is none of this name."""
        return self._uids.get(reference)

    def subject(self, uid: str) -> Subject | None:
        """The object behind a pod group; None: it is derived."""
        reference = self._references.get(uid)
        if reference is None:
            return None
        return Subject(_VERSIONS[reference.api], "PodGroup", reference.namespace, reference.name, uid)

    def objects(self) -> list[str]:
        """Uids of all pod groups that are objects."""
        return list(self._references)

    def row(
        self, uid: str, origin: Origin | None, pods: Sequence[Pod], around: Surroundings, doubts: list[str]
    ) -> pb.PodGroup | None:
        """The row of a pod group with these pods, by uid; None: it has none, and `doubts` may say why."""
        try:
            row = self._row(uid, origin, pods, around, doubts)
        except Unusable as problem:
            doubts.append(f"{problem}: its pods are left out")
            return None
        if row is not None:
            note_start(row, pods)
        return row

    def _row(
        self, uid: str, origin: Origin | None, pods: Sequence[Pod], around: Surroundings, doubts: list[str]
    ) -> pb.PodGroup | None:
        kai_group = self._mirrors.kai_pod_groups.find(uid)
        if kai_group is not None:
            if not self._config.has(kai_group.metadata.labels):
                return None
            return kai_pod_group_row(kai_group, around.priorities, around.levels, doubts)
        volcano_group = self._mirrors.volcano_pod_groups.find(uid)
        if volcano_group is not None:
            if not self._config.has(volcano_group.metadata.labels):
                return None
            return volcano_pod_group_row(volcano_group, pods, around.priorities, doubts)
        if origin is None or not pods or all_ended(pods, ENDED):
            return None
        return derived_row(origin, pods, around.priorities, self._config, doubts)

    def _name(self, uid: str, now: Reference | None) -> set[Reference]:
        """Note what an object is called, None: it is gone; which names mean others than before."""
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
