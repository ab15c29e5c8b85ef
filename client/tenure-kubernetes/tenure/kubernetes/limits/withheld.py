"""Pod groups that have a row which is not sent.

A pod group goes as a whole: with some of its pods alone, a running gang would look incomplete and be evicted.
Its pods that are on nodes use their resources like pods of other schedulers.
"""

from collections import defaultdict

from tenure.kubernetes.limits.namespace_shares import left_out, most_cost
from tenure.kubernetes.limits.workload_costs import WorkloadCosts
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.row_limits import SenderLimits

_OVER_SHARE = "the server's limits are exceeded, and its namespace has more than its share of them"


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
