"""Rows of pods and shapes."""

from collections import Counter

from tenure.kubernetes.observe import names
from tenure.kubernetes.observe.gpus import UNKNOWN_DEVICE
from tenure.kubernetes.observe.members import Member, sub_group_of
from tenure.kubernetes.observe.nodes import OfferedResources
from tenure.kubernetes.observe.pods import ENDED, pod_row, pod_status
from tenure.kubernetes.observe.row_table import RowTable
from tenure.kubernetes.observe.shapes import drop_unoffered_resources
from tenure.v1 import snapshot_pb2 as pb


class PodRows:
    """Rows of pods by uid, and of their shapes."""

    def __init__(self, offered: OfferedResources) -> None:
        self._offered = offered
        self.pods: RowTable[pb.Pod] = RowTable()
        self.shapes: RowTable[pb.PodShape] = RowTable()
        self._shape_uses: Counter[str] = Counter()
        self._devices: dict[str, tuple[str, ...]] = {}
        """Shared devices of pods on nodes as first observed, by uid."""
        self._keys: frozenset[str] = frozenset()
        """Labels that pod affinities refer to; rows omit the others."""

    def put(
        self,
        member: Member,
        group: pb.PodGroup | None,
        refusal: str,
        now_seconds: float,
        warnings: list[str],
    ) -> pb.Pod | None:
        """Update the row of a pod; None: it has none, because it or its pod group is not managed.

        `refusal` is why pending pods of the pod group cannot be placed; "": they can.
        """
        pod = member.pod
        is_leaving = pod.metadata.deletion_timestamp is not None or pod.status.phase in ENDED
        if member.problem and not is_leaving:  # a pod group may be deleted before its last pod
            warnings.append(f"{member.problem}: the pod is omitted")
        status = pod_status(pod, now_seconds)
        if group is None or status is None:
            self.remove(pod.metadata.uid)
            return None
        shaped = drop_unoffered_resources(member.interned_shape, self._offered.names)
        warnings.extend(shaped.warnings)
        sub_group = sub_group_of(member, bool(group.sub_groups))
        row = pod_row(pod, member.pod_group, sub_group, status, shaped, warnings)
        if refusal and not row.node:
            row.blocked_reason = refusal
        self._fix_devices(row, warnings)
        self._label(row, member)
        self._set(pod.metadata.uid, row, shaped.row)
        return row

    def remove(self, uid: str) -> None:
        """Remove the row of a pod."""
        self._set(uid, None, None)

    def forget(self, uid: str) -> None:
        """Remove the row of a pod that is gone."""
        self.remove(uid)
        self._devices.pop(uid, None)

    def _fix_devices(self, row: pb.Pod, warnings: list[str]) -> None:
        """Keep the shared devices of a pod that is on a node: only its labels can change, not its devices."""
        if not row.gpu_groups:
            return
        if any(group.startswith(UNKNOWN_DEVICE) for group in row.gpu_groups) and row.uid not in self._devices:
            return
        known = self._devices.setdefault(row.uid, tuple(row.gpu_groups))
        if known != tuple(row.gpu_groups):
            warnings.append(f"its labels {names.GPU_GROUP} changed while it runs, which is ignored")
            row.ClearField("gpu_groups")
            row.gpu_groups.extend(known)

    def relabel(self, members: dict[str, Member]) -> None:
        """Include the labels that affinities of these pods refer to, and no others."""
        rows = self.shapes.rows.values()
        keys = frozenset(
            key
            for row in rows
            for term in (*row.pod_affinity, *row.pod_anti_affinity)
            for key in term.match_labels
        )
        changed, self._keys = keys ^ self._keys, keys
        if not changed:
            return
        for uid, row in list(self.pods.rows.items()):
            if not changed.isdisjoint(members[uid].pod.metadata.labels):
                fresh = pb.Pod()
                fresh.CopyFrom(row)
                self._label(fresh, members[uid])
                self.pods.put(uid, fresh)

    def _label(self, row: pb.Pod, member: Member) -> None:
        row.ClearField("labels")
        labels = member.pod.metadata.labels
        row.labels.update({key: labels[key] for key in self._keys if key in labels})

    def _set(self, uid: str, row: pb.Pod | None, shape: pb.PodShape | None) -> None:
        before = self.pods.rows.get(uid)
        self.pods.put(uid, row)
        if shape is not None:
            self._shape_uses[shape.id] += 1
            if self._shape_uses[shape.id] == 1:
                self.shapes.put(shape.id, shape)
        if before is not None:
            self._shape_uses[before.shape] -= 1
            if not self._shape_uses[before.shape]:
                del self._shape_uses[before.shape]
                self.shapes.put(before.shape, None)
