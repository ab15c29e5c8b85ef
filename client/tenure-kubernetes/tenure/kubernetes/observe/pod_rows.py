"""Rows of pods and shapes."""

from collections import Counter

from tenure.kubernetes.constraints.other_pods import Interest
from tenure.kubernetes.devices.pod_claims import PodClaims
from tenure.kubernetes.objects import names
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.observe.disruption_budgets import DisruptionBudgetRows
from tenure.kubernetes.observe.members import Member, sub_group_of
from tenure.kubernetes.observe.nodes import OfferedResources
from tenure.kubernetes.rows.gpus import UNKNOWN_DEVICE
from tenure.kubernetes.rows.pods import ENDED, BuiltPod, is_running, pod_row, pod_status
from tenure.kubernetes.rows.row_table import RowTable
from tenure.kubernetes.rows.shapes import drop_unoffered_resources, without_constraints
from tenure.kubernetes.volumes.pod_volumes import PodVolumes
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.row_limits import SenderLimits


class PodRows:
    """Rows of pods by uid, and of their shapes."""

    def __init__(
        self,
        offered: OfferedResources,
        volumes: PodVolumes,
        claims: PodClaims,
        budgets: DisruptionBudgetRows,
        limits: SenderLimits,
    ) -> None:
        self._offered, self._limits = offered, limits
        self._volumes, self._claims, self._budgets = volumes, claims, budgets
        self.pods: RowTable[pb.Pod] = RowTable()
        self.shapes: RowTable[pb.PodShape] = RowTable()
        self._shape_uses: Counter[str] = Counter()
        self._devices: dict[str, tuple[str, ...]] = {}
        """Shared devices of pods on nodes as first observed, by uid."""
        self._keys: frozenset[str] = frozenset()
        """Labels that pod affinities refer to; rows omit the others."""
        self._fitting: set[str] = set()
        """Ids of shapes that a server accepts."""
        self.interest = Interest()
        """What shapes ask about pods without rows, as of the last `relabel`."""
        self._has_new_shapes = False

    def use_limits(self, limits: SenderLimits) -> None:
        """Use other limits for pods that are built from now on."""
        self._limits = limits
        self._fitting.clear()

    def build(
        self,
        member: Member,
        group: pb.PodGroup | None,
        refusal: str,
        now_seconds: float,
        warnings: list[str],
    ) -> BuiltPod | None:
        """The rows of a pod; None: it has none, because it or its pod group is not managed.

        `refusal` is why the pod cannot be placed if it is pending; "": it can. What a tenant adds to a pod on
        a node does not take it out of the snapshot, where other queues reclaim what it has.
        """
        pod = member.pod
        if missing := missing_pod_group(member, group):
            warnings.append(missing)
        elif member.problem and not member.pod_group and not _is_leaving(pod):
            warnings.append(f"{member.problem}: the pod is omitted")
        if member.ignored:
            warnings.append(f"{member.ignored}, which is ignored")
        status = pod_status(pod, now_seconds) if group is not None else None
        if group is None or status is None:
            return None
        shaped = self._volumes.constrain(pod.metadata.uid, member.interned_shape)
        shaped = self._claims.constrain(pod.metadata.uid, shaped)
        shaped = drop_unoffered_resources(shaped, self._offered.names)
        warnings.extend(shaped.warnings)
        sub_group = sub_group_of(member, bool(group.sub_groups))
        row = pod_row(pod, member.pod_group, sub_group, status, shaped, warnings)
        row.resource_claims.extend(self._claims.ids(pod.metadata.uid))
        row.disruption_budgets.extend(self._budgets.names(pod))
        if not row.node and (blocked := refusal or member.problem or _waits_for_role(member, group)):
            row.blocked_reason = blocked
        self._fix_devices(row, warnings)
        self._label(row, member)
        problem = self._limits.problem(row) or self._shape_problem(shaped.row)
        if problem and row.node:
            shaped = without_constraints(shaped)
            row.shape = shaped.row.id
            row.ClearField("labels")
            warnings.append(f"it runs on without its constraints and labels: {problem}")
            problem = self._limits.problem(row) or self._shape_problem(shaped.row)
        return BuiltPod(row, shaped.row, problem)

    def put(self, uid: str, built: BuiltPod | None) -> None:
        """Set or remove the row of a pod."""
        if built is None:
            self._set(uid, None, None)
        else:
            self._set(uid, built.row, built.shape)

    def forget(self, uid: str) -> None:
        """Remove the row of a pod that is gone."""
        self.put(uid, None)
        self._devices.pop(uid, None)

    def relabel(self, members: dict[str, Member], foreign_keys: frozenset[str]) -> list[str]:
        """Include the labels that these pods, and those without rows, refer to, and no others.

        Returns the uids of pods with other labels than before.
        """
        if self._has_new_shapes:
            self._has_new_shapes, self.interest = False, Interest(self.shapes.rows.values())
        keys = self.interest.keys | foreign_keys
        changed, self._keys = keys ^ self._keys, keys
        relabeled: list[str] = []
        if not changed:
            return relabeled
        for uid, row in list(self.pods.rows.items()):
            if not changed.isdisjoint(members[uid].pod.metadata.labels):
                fresh = pb.Pod()
                fresh.CopyFrom(row)
                self._label(fresh, members[uid])
                self.pods.put(uid, fresh)
                relabeled.append(uid)
        return relabeled

    def _shape_problem(self, shape: pb.PodShape) -> str:
        if shape.id in self._fitting:
            return ""
        problem = self._limits.problem(shape)
        if not problem:
            self._fitting.add(shape.id)
        return problem and f"its requests and constraints: {problem}"

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
                self._has_new_shapes = True
        if before is not None:
            self._shape_uses[before.shape] -= 1
            if not self._shape_uses[before.shape]:
                del self._shape_uses[before.shape]
                self._fitting.discard(before.shape)
                self.shapes.put(before.shape, None)
                self._has_new_shapes = True


def missing_pod_group(member: Member, group: pb.PodGroup | None) -> str:
    """What becomes of a pod on a node that names a pod group which is not known; "": it names none such."""
    if not (member.problem and is_running(member.pod)):
        return ""
    if not member.pod_group or group is None:
        return member.problem
    return (
        f"{member.problem}: while it runs, it counts in queue {group.queue!r} and keeps what the quota "
        "of that queue covers: create the pod group again"
    )


def _is_leaving(pod: Pod) -> bool:
    """A pod group may be deleted before its last pod."""
    return pod.metadata.deletion_timestamp is not None or pod.status.phase in ENDED


def _waits_for_role(member: Member, group: pb.PodGroup) -> str:
    """Why a pod waits for others of its role, which is placed as a whole; "": it does not."""
    if member.origin is None or not group.sub_groups:
        return ""
    if any(one.name == member.sub_group for one in group.sub_groups):
        return ""
    return f"not all pods of role {member.sub_group!r} exist yet"
