"""Pod groups that have a row which is not sent.

A pod group goes as a whole: with some of its pods alone, a running gang would look incomplete and be evicted.
Its pods that are on nodes use their resources like pods of other schedulers. What the rows of all pod groups
use of the limits of a server is updated row by row.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from tenure.kubernetes.limits.namespace_shares import Claimant, Cost, left_out, most_cost
from tenure.kubernetes.rows.pods import ON_NODE, BuiltPod
from tenure.kubernetes.rows.shapes import largest_request
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.row_limits import SenderLimits

_OVER_SHARE = "the server's limits are exceeded, and its namespace has more than its share of them"


class _PodCost(NamedTuple):
    bytes: int
    shape: str
    shape_bytes: int
    amount: int
    is_on_node: bool


class WorkloadCosts:
    """Costs of all pod groups that could be sent, whether they are or not."""

    def __init__(self) -> None:
        self._groups: dict[str, pb.PodGroup] = {}
        self._pods: defaultdict[str, dict[str, _PodCost]] = defaultdict(dict)
        """Costs of pods, by pod group and uid."""
        self._group_of: dict[str, str] = {}
        self._shapes: Counter[str] = Counter()
        self._bytes = 0
        self._amount = 0

    @property
    def total(self) -> Cost:
        """Costs of all rows together; pods of several pod groups share shapes."""
        return Cost(len(self._groups), len(self._group_of), len(self._shapes), self._bytes, self._amount)

    def put_group(self, uid: str, row: pb.PodGroup | None) -> None:
        """Set the row of a pod group; None: it cannot be sent."""
        before = self._groups.pop(uid, None)
        self._bytes -= 0 if before is None else before.ByteSize()
        if row is not None:
            self._groups[uid] = row
            self._bytes += row.ByteSize()

    def put_pod(self, uid: str, built: BuiltPod | None) -> None:
        """Set the rows of a pod; None: it cannot be sent."""
        group = self._group_of.pop(uid, "")
        if group:
            self._add(self._pods[group].pop(uid), -1)
            if not self._pods[group]:
                del self._pods[group]
        if built is not None:
            row, shape = built.row, built.shape
            is_on_node = row.status in ON_NODE
            cost = _PodCost(row.ByteSize(), shape.id, shape.ByteSize(), largest_request(shape), is_on_node)
            self._group_of[uid] = row.pod_group
            self._pods[row.pod_group][uid] = cost
            self._add(cost, 1)

    def claimants(self) -> Iterator[Claimant]:
        """All pod groups with their own costs."""
        for uid, row in self._groups.items():
            pods = self._pods.get(uid, {}).values()
            shapes = {pod.shape: pod.shape_bytes for pod in pods}
            size = row.ByteSize() + sum(shapes.values()) + sum(pod.bytes for pod in pods)
            cost = Cost(1, len(pods), len(shapes), size, sum(pod.amount for pod in pods))
            is_waiting = not any(pod.is_on_node for pod in pods)
            yield Claimant(row.namespace, is_waiting, row.creation_time.ToNanoseconds(), uid, cost)

    def _add(self, cost: _PodCost, sign: int) -> None:
        self._bytes += sign * cost.bytes
        self._amount += sign * cost.amount
        self._shapes[cost.shape] += sign
        if self._shapes[cost.shape] == (1 if sign > 0 else 0):
            self._bytes += sign * cost.shape_bytes
        if not self._shapes[cost.shape]:
            del self._shapes[cost.shape]


class WithheldPodGroups:
    """Which pod groups are withheld, and why."""

    def __init__(self) -> None:
        self.rows: dict[str, pb.PodGroup] = {}
        """Rows that are not sent, by uid."""
        self.costs = WorkloadCosts()
        self._unfit: defaultdict[str, dict[str, str]] = defaultdict(dict)
        """Reasons by pod group and uid of a pod."""
        self._group_of: dict[str, str] = {}
        self._left_out: frozenset[str] = frozenset()
        self._changed: set[str] = set()

    def reason(self, uid: str) -> str:
        """Why a pod group is withheld; "": it is not."""
        if pods := self._unfit.get(uid):
            return pods[min(pods)]
        return _OVER_SHARE if uid in self._left_out else ""

    def put_pod(self, uid: str, pod_group: str, problem: str) -> None:
        """Set why a pod on a node makes its pod group withheld; "": it does not, or is gone."""
        before, now = self._group_of.pop(uid, ""), pod_group if problem else ""
        if before and before != now:
            del self._unfit[before][uid]
            if not self._unfit[before]:
                del self._unfit[before]
                self._changed.add(before)
        if now:
            if now not in self._unfit:
                self._changed.add(now)
            self._group_of[uid], self._unfit[now][uid] = now, problem

    def balance(self, limits: SenderLimits) -> None:
        """Withhold pod groups so that the others are within the limits."""
        before, most = self._left_out, most_cost(limits)
        if self.costs.total.fits(most):
            self._left_out = frozenset()
        else:
            self._left_out = left_out(self.costs.claimants(), most)
        self._changed.update(before ^ self._left_out)

    def take_changes(self) -> set[str]:
        """Uids of pod groups to update since the last call."""
        changes, self._changed = self._changed, set()
        return changes
