"""Rows of pods and of their shapes."""

from collections import Counter

from tenure.client.kubernetes.observe.members import Member, sub_group_of
from tenure.client.kubernetes.observe.offered import Offered
from tenure.client.kubernetes.observe.pods import ENDED, pod_row, pod_status
from tenure.client.kubernetes.observe.shapes import told
from tenure.client.kubernetes.observe.table import Table
from tenure.v1 import snapshot_pb2 as pb


class PodRows:
    """The rows of pods by uid, and of the shapes that these have."""

    def __init__(self, offered: Offered) -> None:
        self._offered = offered
        self.pods: Table[pb.Pod] = Table()
        self.shapes: Table[pb.TaskShape] = Table()
        self._uses: Counter[str] = Counter()
        self._keys: frozenset[str] = frozenset()
        """Labels that pod affinities refer to; others are left out of rows."""

    def put(
        self, member: Member, group: pb.PodGroup | None, now_seconds: float, doubts: list[str]
    ) -> pb.Pod | None:
        """The row of a pod from now on; None: it has none, as it or its pod group is of no account."""
        pod = member.pod
        is_leaving = pod.metadata.deletion_timestamp is not None or pod.status.phase in ENDED
        if member.problem and not is_leaving:  # a pod group may go before its last pod
            doubts.append(f"{member.problem}: it is left out")
        status = pod_status(pod, now_seconds)
        if group is None or status is None:
            self.remove(pod.metadata.uid)
            return None
        shaped = told(member.shaped, self._offered.names)
        doubts.extend(shaped.doubts)
        sub_group = sub_group_of(member, bool(group.sub_groups))
        row = pod_row(pod, member.pod_group, sub_group, status, shaped, doubts)
        self._label(row, member)
        self._set(pod.metadata.uid, row, shaped.row)
        return row

    def remove(self, uid: str) -> None:
        """The pod has no row."""
        self._set(uid, None, None)

    def relabel(self, members: dict[str, Member]) -> None:
        """Show the labels that affinities of the pods that there are now refer to, and no others."""
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

    def _set(self, uid: str, row: pb.Pod | None, shape: pb.TaskShape | None) -> None:
        before = self.pods.rows.get(uid)
        self.pods.put(uid, row)
        if shape is not None:
            self._uses[shape.id] += 1
            if self._uses[shape.id] == 1:
                self.shapes.put(shape.id, shape)
        if before is not None:
            self._uses[before.shape] -= 1
            if not self._uses[before.shape]:
                del self._uses[before.shape]
                self.shapes.put(before.shape, None)
