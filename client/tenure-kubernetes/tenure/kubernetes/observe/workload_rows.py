"""Rows of pod groups and pods, and the usage of pods without a row.

A pod group or pod that a server would refuse is set aside, and so is a pod group that may not use its queue.
Pods on nodes keep their rows, without their constraints, under a row that requests the most and is limited by
what their pod group was given, else by quotas: what its owner writes does not take what they borrowed out of
the reach of other queues. Where even that is refused, their usage reduces the capacity of the node, and the
pod group goes as a whole, so that nothing of it is evicted.
"""

from collections.abc import Sequence
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.kubernetes.constraints.other_pods import ForeignPod, ForeignPods
from tenure.kubernetes.devices.pod_claims import PodClaims
from tenure.kubernetes.limits.binding_backoff import BindingBackoff
from tenure.kubernetes.limits.server_refusals import POD_GROUPS, PODS, ServerRefusals
from tenure.kubernetes.limits.set_aside import (
    QUEUE_FORBIDDEN,
    SetAsideReason,
    SetAsideTable,
    unexpected,
)
from tenure.kubernetes.limits.withheld import WithheldPodGroups
from tenure.kubernetes.objects import names
from tenure.kubernetes.objects.meta import pod_reference
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.objects.resource_amounts import Amounts
from tenure.kubernetes.observe.derived_pod_groups import Origin
from tenure.kubernetes.observe.disruption_budgets import DisruptionBudgetRows
from tenure.kubernetes.observe.members import Member, Members
from tenure.kubernetes.observe.nodes import OfferedResources
from tenure.kubernetes.observe.pod_group_rows import UnusablePodGroup
from tenure.kubernetes.observe.pod_group_table import PodGroupTable, RowContext
from tenure.kubernetes.observe.pod_rows import PodRows, missing_pod_group
from tenure.kubernetes.observe.snapshot_scope import Priorities
from tenure.kubernetes.rows.pods import ENDED, ON_NODE, BuiltPod, next_status_time, uses_resources
from tenure.kubernetes.rows.row_table import RowTable, WarningCollector
from tenure.kubernetes.volumes.pod_volumes import PodVolumes
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.row_limits import SenderLimits

_SECOND: Final = 10**9
_SCHEDULED: Final = SetAsideReason("")
"""The reason of what is not set aside."""


class WorkloadRows:
    """Rows of pod groups, pods and shapes, updated together."""

    def __init__(
        self,
        groups: PodGroupTable,
        members: Members,
        offered: OfferedResources,
        warnings: WarningCollector,
        set_aside: SetAsideTable,
        limits: SenderLimits,
        bound_to: dict[str, str],
        backoff: BindingBackoff,
        volumes: PodVolumes,
        claims: PodClaims,
        budgets: DisruptionBudgetRows,
    ) -> None:
        """`bound_to`: nodes of bound pods that the cache may not show yet."""
        self._volumes, self._claims = volumes, claims
        self._groups, self._members, self._by_name = groups, members, groups.by_name
        self._bound_to, self._backoff = bound_to, backoff
        self._warnings, self._set_aside, self._limits = warnings, set_aside, limits
        self.context = RowContext(Priorities(), {}, {}, frozenset())
        """After a change, all pod groups are to be read again."""
        self.pod_groups: RowTable[pb.PodGroup] = RowTable()
        self.pods = PodRows(offered, volumes, claims, budgets, limits)
        self.foreign_pods = ForeignPods()
        self._withheld = WithheldPodGroups()
        self._refusals = ServerRefusals()
        self._reasons: dict[str, SetAsideReason] = {}
        """Why pod groups are set aside, by uid."""
        self._blocked: dict[str, str] = {}
        """Why pending pods of other pod groups wait, by uid."""
        self._changes_at: dict[str, float] = {}
        """When the status of terminating pods changes through time, in seconds since 1970."""

    def use_limits(self, limits: SenderLimits) -> None:
        """Use other limits for what is read from now on."""
        self._limits = limits
        self.pods.use_limits(limits)

    def refuse(self, name: str, uid: str, reason: str) -> bool:
        """Stop sending a pod or pod group until its row changes. Returns whether it has a row."""
        row = self.pod_groups.rows.get(uid) if name == POD_GROUPS else self.pods.pods.rows.get(uid)
        if row is not None:
            self._refusals.put(name, uid, row, reason)
        return row is not None

    def take_due(self, now: Timestamp) -> set[str]:
        """Uids of pods that change through time, or whose bindings were refused since the last call."""
        due = {uid for uid, moment in self._changes_at.items() if _seconds(now) >= moment}
        return due | self._backoff.take_changes(_seconds(now))

    def read(self, groups: set[str], pods: set[str], now: Timestamp) -> None:
        """Update these pod groups and pods, and those that are withheld or not because of them."""
        self._read(groups, pods, now)
        self._withheld.balance(self._limits)
        self._read(self._withheld.take_changes() | self._groups.users.take_changes(), set(), now)

    def _read(self, groups: set[str], pods: set[str], now: Timestamp) -> None:
        while groups or pods:
            for uid in groups:
                if self._read_group(uid, now):
                    pods.update(self._members.of_group(uid))
            for uid in pods:
                self._read_pod(uid, _seconds(now))
            relabeled = self.pods.relabel(self._members.by_uid, self.foreign_pods.keys)
            rows = self.pods.pods.rows
            groups = self._withheld.take_changes()
            pods = {uid for uid in relabeled if self._limits.problem(rows[uid])}
        self.foreign_pods.use_interest(self.pods.interest)

    def _read_group(self, uid: str, now: Timestamp) -> bool:
        """Update the row of a pod group. Returns whether to update its pods, too."""
        members = [self._members.by_uid[one] for one in self._members.of_group(uid)]
        origin = next((member.origin for member in members if member.origin), None)
        warnings: list[str] = []
        row, reason = self._group_row(uid, origin, [member.pod for member in members], now, warnings)
        self._withheld.costs.put_group(uid, row)
        self._withheld.rows.pop(uid, None)
        if row is not None and (withheld := self._withheld.reason(uid)):
            self._withheld.rows[uid], row = row, None
            reason = reason if reason.text else SetAsideReason(withheld)
        blocked_before = self._blocked.pop(uid, "")
        if row is not None and (blocked := self._groups.blocked(uid, self.context.levels)):
            self._blocked[uid] = blocked
        before, reason_before = self.pod_groups.rows.get(uid), self._reasons.pop(uid, _SCHEDULED)
        if reason.text:
            self._reasons[uid] = reason
            warnings.append(f"{reason.text}: {_effect(row)}")
        subject, key = self._by_name.subject(uid), pod_group_key(uid)
        if subject is not None:
            self._set_aside.put(key, subject, reason, tuple(member.pod.metadata.uid for member in members))
        else:
            self._set_aside.discard(key)
        if subject is None and not members:
            self._groups.forget(uid)
            self._refusals.forget(POD_GROUPS, uid)
        self._warnings.replace(f"pod group {uid}", self._by_name.title(uid), warnings)
        self.pod_groups.put(uid, row)
        is_same = reason == reason_before and blocked_before == self._blocked.get(uid, "")
        return not is_same or _kind(before) != _kind(row)

    def _group_row(
        self, uid: str, origin: Origin | None, pods: Sequence[Pod], now: Timestamp, warnings: list[str]
    ) -> tuple[pb.PodGroup | None, SetAsideReason]:
        """The row of a pod group, and why it is set aside; with a row, only its pending pods are."""
        row, reason = self._row_of_its_own(uid, origin, pods, now, warnings)
        if row is not None or not reason.text or not any(map(uses_resources, pods)):
            return row, reason
        try:
            stand_in, _ = self._groups.stand_in(uid, origin, pods, self.context, now)
        except Exception as error:  # nothing of it is evicted, as nothing is known of it
            return None, SetAsideReason(f"{reason.text}; {unexpected(error)}")
        if stand_in is None or self._problem(uid, stand_in):
            return None, reason
        return stand_in, reason

    def _row_of_its_own(
        self, uid: str, origin: Origin | None, pods: Sequence[Pod], now: Timestamp, warnings: list[str]
    ) -> tuple[pb.PodGroup | None, SetAsideReason]:
        try:
            row, refusal = self._groups.row(uid, origin, pods, self.context, now, warnings)
        except UnusablePodGroup as unusable:
            return None, SetAsideReason(str(unusable))
        except Exception as error:  # an object with invalid values must not stop the others
            return None, SetAsideReason(unexpected(error))
        if row is not None and not all(self._claims.is_exact(pod.metadata.uid) for pod in pods):
            row.never_evicts = True
        if row is not None and (problem := self._problem(uid, row)):
            return None, SetAsideReason(problem)
        return row, SetAsideReason(refusal, QUEUE_FORBIDDEN) if refusal else _SCHEDULED

    def _problem(self, uid: str, row: pb.PodGroup) -> str:
        """Why a server would refuse the row of a pod group, or did; "": neither."""
        return self._limits.problem(row) or self._refusals.reason(POD_GROUPS, uid, row)

    def _read_pod(self, uid: str, now_seconds: float) -> None:
        """Update the row of a pod, or its usage without a row."""
        self._changes_at.pop(uid, None)
        member = self._members.by_uid.get(uid)
        if member is None:
            self._put(uid, None, None)
            self.pods.forget(uid)
            self._refusals.forget(PODS, uid)
            self._withheld.put_pod(uid, "", "")
            self.foreign_pods.put(uid, "", None)
            self._warnings.replace(uid, "", [])
            self._set_aside.discard(uid)
            self._bound_to.pop(uid, None)
            self._backoff.forget(uid)
            self._volumes.place(uid, "")
            return
        pod, group, warnings = member.pod, member.pod_group, list[str]()
        sent = self.pod_groups.rows.get(group)
        reason = self._reasons.get(group, _SCHEDULED)
        refusal = self._backoff.reason(uid) or self._blocked.get(group, "")
        if reason.text and sent is not None:
            refusal = reason.text
        row_of_group = sent or self._withheld.rows.get(group)
        built, problem = self._build_pod(member, row_of_group, refusal, now_seconds, warnings)
        node = self._node_of(pod, has_row=built is not None and sent is not None)
        is_on_node = bool(node) and pod.status.phase not in ENDED
        text = f"its pod {pod.metadata.name} is on a node and set aside: {problem}"
        self._withheld.put_pod(uid, group, text if problem and is_on_node else "")
        row = self._put(uid, built, sent)
        status = row.status if row is not None else pb.POD_STATUS_UNSPECIFIED
        if row is not None and (moment := next_status_time(pod, now_seconds)) is not None:
            self._changes_at[uid] = moment
        is_other = is_on_node and pod.metadata.namespace != names.RESERVATION_NAMESPACE
        taken = {**member.interned_shape.usage, **self._volumes.place(uid, node if is_on_node else "")}
        is_foreign = is_other and status not in ON_NODE
        self.foreign_pods.put(uid, node, _foreign(member, taken) if is_foreign else None)
        if problem:
            warnings.append(f"set aside: {problem}")
            reason = SetAsideReason(problem)
        elif self._by_name.subject(group) is not None or (pod.spec.node_name and (sent or not is_on_node)):
            reason = _SCHEDULED  # its pod group is named, or it is not pending
        if member.is_reported and not is_on_node and pod.status.phase not in ENDED:
            reason, warnings = SetAsideReason(member.problem), []  # an event says so
        if not problem and (missing := missing_pod_group(member, row_of_group)):
            reason = SetAsideReason(missing)  # an event says so
        self._warnings.replace(uid, f"Pod {pod.metadata.namespace}/{pod.metadata.name}", warnings)
        self._set_aside.put(uid, pod_reference(pod.metadata), reason, (uid,))

    def _node_of(self, pod: Pod, *, has_row: bool) -> str:
        """Node of a pod; "": none. Pods with a row are in flight until the cache shows their node."""
        uid, node = pod.metadata.uid, pod.spec.node_name
        if node:
            self._bound_to.pop(uid, None)
            self._backoff.forget(uid)
        return node or ("" if has_row else self._bound_to.get(uid, ""))

    def _build_pod(
        self,
        member: Member,
        group: pb.PodGroup | None,
        refusal: str,
        now_seconds: float,
        warnings: list[str],
    ) -> tuple[BuiltPod | None, str]:
        """The rows of a pod, or why it is set aside."""
        try:
            built = self.pods.build(member, group, refusal, now_seconds, warnings)
        except Exception as error:  # an object with invalid values must not stop the others
            return None, unexpected(error)
        if built is None:
            return None, ""
        problem = built.problem or self._refusals.reason(PODS, built.row.uid, built.row)
        return (None, problem) if problem else (built, "")

    def _put(self, uid: str, built: BuiltPod | None, sent: pb.PodGroup | None) -> pb.Pod | None:
        """Set the row of a pod, if its pod group is sent, and return it."""
        self._withheld.costs.put_pod(uid, built)
        row = built if sent is not None else None
        self.pods.put(uid, row)
        return row.row if row is not None else None


def _foreign(member: Member, taken: Amounts) -> ForeignPod:
    meta, shaped = member.pod.metadata, member.interned_shape
    is_terminating = meta.deletion_timestamp is not None
    return ForeignPod(taken, meta.namespace, meta.labels, is_terminating, shaped.row)


def pod_group_key(uid: str) -> str:
    """Key of a pod group among the objects that are set aside."""
    return f"pod group {uid}"


def _effect(row: pb.PodGroup | None) -> str:
    """What becomes of the pods of a pod group that is set aside, with its row."""
    if row is None:
        return "its pods are omitted, and nothing evicts those on nodes"
    return (
        f"its pending pods are omitted, those on nodes count in queue {row.queue!r} and keep what they were "
        "given, else what its quota covers"
    )


def _seconds(now: Timestamp) -> float:
    return now.ToNanoseconds() / _SECOND


def _kind(row: pb.PodGroup | None) -> frozenset[str] | None:
    """What rows of pods depend on: the subgroups of their pod group; None: there is no pod group."""
    return None if row is None else frozenset(group.name for group in row.sub_groups)
