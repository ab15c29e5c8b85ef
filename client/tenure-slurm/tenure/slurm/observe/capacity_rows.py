"""Rows of what jobs share: nodes, and queues."""

from collections.abc import Sequence, Set
from typing import Final

from tenure.slurm.observe.accounts import RESOURCES, UNLIMITED
from tenure.slurm.observe.cluster import Scope
from tenure.slurm.observe.rows import NodeRow
from tenure.slurm.observe.tres import MIB, node_gpus
from tenure.v1.snapshot_pb2 import TAINT_EFFECT_NO_SCHEDULE, Node, Queue

NODE_LABEL: Final = "slurm.tenure.scheduler/node"
GPU_TYPE_LABEL: Final = "slurm.tenure.scheduler/gpu-type"
FEATURE_PREFIX: Final = "feature.slurm.tenure.scheduler/"
TYPE_PREFIX: Final = "gpu-type.slurm.tenure.scheduler/"
"""Counts GPUs of one type on nodes that have several types."""
RESERVATION_PREFIX: Final = "reservation.slurm.tenure.scheduler/"
RESERVATION_TAINT: Final = "slurm.tenure.scheduler/reservation"
PARTITION_PREFIX: Final = "partition.slurm.tenure.scheduler/"
DIRECT: Final = "/direct"
"""Ends the name of the leaf queue for jobs of an account that has other accounts below it."""
_GPU: Final = 1_000
_PODS: Final = 1_000
"""Jobs per node; Slurm has no such limit."""
_USABLE: Final = frozenset({"IDLE", "MIXED", "ALLOCATED"})
_UNREADY: Final = frozenset({"NOT_RESPONDING", "POWERING_DOWN", "REBOOT_ISSUED"})
_ASLEEP: Final = frozenset({"POWERED_DOWN", "POWERING_UP"})
"""States of nodes that Slurm resumes when a job starts on them."""
_CLOSED: Final = frozenset({"DRAIN", "MAINTENANCE", "PLANNED_DOWN"})
_NOT_REPORTED: Final = "NOT_REPORTED"
"""Condition of a node until its slurmd reports to a restarted slurmctld."""


def node_row(
    node: NodeRow, reservations: Sequence[str], lost_gpus: int, mixed_types: Set[str] = frozenset()
) -> Node:
    """The row of a node. Reservations show in no field of a node, so the caller passes the active ones.

    `mixed_types` are types of GPUs that are counted because some nodes have several types.
    """
    gpus = node_gpus(node.gres or "")
    row = Node(name=node.name)
    row.allocatable.cpu_milli = 1_000 * node.cpus
    row.allocatable.memory_bytes = node.real_memory * MIB
    row.allocatable.gpu_milli = 1_000 * max(gpus.devices - lost_gpus, 0)
    row.allocatable.pods = _PODS
    row.labels[NODE_LABEL] = node.name
    if gpus.type:
        row.labels[GPU_TYPE_LABEL] = row.node_class = gpus.type
    for name, count in gpus.types:
        if name in mixed_types:
            row.allocatable.extended[f"{TYPE_PREFIX}{name}"] = count
    for feature in node.features:
        row.labels[f"{FEATURE_PREFIX}{feature}"] = "true"
    for partition in node.partitions:
        row.labels[f"{PARTITION_PREFIX}{partition}"] = "true"
    states = node.all_states
    for name in reservations:
        row.labels[f"{RESERVATION_PREFIX}{name}"] = "true"
        row.taints.add(key=RESERVATION_TAINT, value=name, effect=TAINT_EFFECT_NO_SCHEDULE)
    row.unschedulable = not states.isdisjoint(_CLOSED)
    row.unready_conditions.extend(sorted(states & _UNREADY if not states.isdisjoint(_USABLE) else states))
    if not node.has_reported and states.isdisjoint(_ASLEEP):
        row.unready_conditions.append(_NOT_REPORTED)
    return row


class QueueTree:
    """Queues by name: `known` are accounts or QOS of Slurm, `configured` are rows of the file.

    Of a queue that both have, the file decides all but a limit, which Slurm enforces as well, and the
    parent, if it names none. An account that is not in the file has the quota of its children: Slurm knows no
    guarantees.
    """

    def __init__(
        self, configured: Sequence[Queue], known: Sequence[Queue], scope: Scope, gpu_milli: int = 0
    ) -> None:
        self._scope, self._gpu_milli = scope, gpu_milli
        self.rows: dict[str, Queue] = {}
        for queue in known:
            self.rows[queue.name] = row = _copy(queue)
            row.parent = queue.parent or scope.parent_queue
        self._accounts = frozenset(self.rows)
        for queue in configured:
            before = self.rows.get(queue.name)
            self.rows[queue.name] = queue if before is None else _merged(before, queue)
        self._parents = {queue.parent for queue in self.rows.values()}
        self._configured = frozenset(queue.name for queue in configured)
        self.sum_quotas()

    def find(self, name: str) -> str:
        """The queue of a job that names one. A new name becomes a queue, unless the list is closed."""
        if name in self._parents and name in self._accounts:
            parent, name = name, f"{name}{DIRECT}"
        else:
            parent = self._scope.parent_queue
            if name in self._parents or (self._scope.is_closed and name not in self.rows):
                name = self._scope.default_queue
        if name not in self.rows:
            self.rows[name] = row = _unlimited(name, parent)
            if name.endswith(DIRECT) and parent in self._accounts:
                row.gpu_milli.quota = self._direct_quota(parent)
        return name

    def _direct_quota(self, account: str) -> int:
        """Quota of GPUs for the jobs of an account that has others below it: interactive ones need it.

        It is what the accounts below leave of the quota of the account; if it has none, it is its part of the
        cluster by the shares of Slurm, in which its own jobs count like an account with one share.
        """
        children = [row for row in self.rows.values() if row.parent == account]
        quota = self.rows[account].gpu_milli.quota
        if account in self._configured and quota > 0:
            return max(quota - sum(max(row.gpu_milli.quota, 0) for row in children), 0)
        weight = 1 + sum(row.gpu_milli.over_quota_weight for row in children)
        return int(self._gpu_milli * self._share(account) / weight) // _GPU * _GPU

    def _share(self, account: str) -> float:
        """Part of the cluster that an account has by the shares of Slurm."""
        row = self.rows.get(account)
        if row is None:
            return 1.0
        siblings = [other for other in self.rows.values() if other.parent == row.parent]
        total = sum(other.gpu_milli.over_quota_weight for other in siblings)
        part = row.gpu_milli.over_quota_weight / total if total else 0.0
        return part * (self._share(row.parent) if row.parent != account else 1.0)

    def sum_quotas(self) -> None:
        """Give accounts that are not in the file the quota of GPUs of their children, from the leaves up.

        Call it again when the queues of all jobs were found.
        """
        accounts = self._accounts - self._configured
        children: dict[str, list[Queue]] = {}
        for row in self.rows.values():
            children.setdefault(row.parent, []).append(row)
        ordered = [row for row in self.rows.values() if row.name in accounts and row.parent not in accounts]
        for row in ordered:
            ordered += (child for child in children.get(row.name, ()) if child.name in accounts)
        for row in reversed(ordered):
            quotas = [child.gpu_milli.quota for child in children.get(row.name, ())]
            row.gpu_milli.quota = UNLIMITED if UNLIMITED in quotas else sum(quotas)


def _copy(row: Queue) -> Queue:
    copied = Queue()
    copied.CopyFrom(row)
    return copied


def _merged(known: Queue, configured: Queue) -> Queue:
    row = _copy(configured)
    row.parent = configured.parent or known.parent
    for resource in RESOURCES:
        slurm, amounts = getattr(known, resource), getattr(row, resource)
        if not configured.HasField(resource):
            amounts.CopyFrom(slurm)
            continue
        if not amounts.HasField("over_quota_weight"):
            amounts.over_quota_weight = slurm.over_quota_weight
        limits = [one.limit for one in (amounts, slurm) if one.HasField("limit") and one.limit != UNLIMITED]
        amounts.limit = min(limits, default=UNLIMITED)
    of_class = {each.node_class: each for each in row.class_limits}
    for limit in known.class_limits:
        own = of_class.get(limit.node_class)
        if own is None:
            row.class_limits.append(limit)
        elif not own.HasField("limit_gpu_milli") or own.limit_gpu_milli == UNLIMITED:
            own.limit_gpu_milli = limit.limit_gpu_milli
        else:
            own.limit_gpu_milli = min(own.limit_gpu_milli, limit.limit_gpu_milli)
    if known.HasField("max_running"):
        most = configured.max_running if configured.HasField("max_running") else known.max_running
        row.max_running = min(most, known.max_running)
    return row


def _unlimited(name: str, parent: str) -> Queue:
    row = Queue(name=name, parent=parent)
    for resource in RESOURCES:
        amounts = getattr(row, resource)
        amounts.limit, amounts.over_quota_weight = UNLIMITED, 1.0
    row.cpu_milli.quota = row.memory_bytes.quota = UNLIMITED
    return row
